//! Files: protected ones stay unchanged, hidden ones stay unread, and a build still works.

use crate::fixture::{PROGRAM, at_both_levels, at_full_level};
use candor_sandbox::StartError;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

#[test]
fn the_log_cannot_be_touched() {
    at_both_levels(|fixture| {
        let before = fixture.snapshot();
        assert_eq!(fixture.refused_attack("log"), 9);
        assert_eq!(before, fixture.snapshot());
        assert!(!fixture.path("work/audit-log.jsonl.1").exists());
    });
}

#[test]
fn hooks_plans_and_secrets_are_out_of_reach() {
    at_both_levels(|fixture| {
        let before = fixture.snapshot();
        assert_eq!(fixture.refused_attack("workspace"), 17);
        assert_eq!(before, fixture.snapshot());
        assert!(!fixture.path("work/new").exists());
    });
}

#[test]
fn hidden_directories_are_out_of_reach_in_a_readable_parent() {
    at_both_levels(|fixture| {
        let before = fixture.snapshot();
        assert_eq!(fixture.refused_attack("own"), 13);
        assert_eq!(before, fixture.snapshot());
    });
}

#[test]
fn the_file_operations_of_a_build_work() {
    at_both_levels(|fixture| {
        let before = fixture.snapshot();
        let attempts = fixture.attack("allowed", |_| {});
        assert_eq!(attempts.lines().count(), 22, "{attempts}");
        assert!(
            attempts.lines().all(|line| line.ends_with(": done")),
            "{attempts}"
        );
        assert_eq!(before, fixture.snapshot());
    });
}

#[test]
fn modes_and_times_of_readable_files_stay() {
    at_full_level(|fixture| {
        let before = fixture.snapshot();
        let times = |path: &str| {
            let found = fs::metadata(fixture.path(path)).unwrap();
            (found.mtime_nsec(), found.ctime_nsec())
        };
        let source = times("work/src/lib.rs");
        let ran = fixture.run_shell(
            "for f in src/lib.rs audit-log.jsonl .git/HEAD . src ../tool/data /usr /dev/null /proc; do \
             chmod 666 $f && echo chmod $f; touch $f && echo touch $f; done 2> /dev/null; \
             touch target/old && chmod 600 target/old && echo fine",
        );
        assert_eq!(ran.output, "fine\n");
        assert_eq!(before, fixture.snapshot());
        assert_eq!(source, times("work/src/lib.rs"));
    });
}

#[test]
fn a_writable_path_must_exist() {
    at_both_levels(|fixture| {
        let mut spec = fixture.spec(&["true"]);
        spec.write.push(fixture.path("work/missing"));
        let refused = fixture.try_run(&spec).map(|_| ()).unwrap_err();
        assert!(
            matches!(refused, StartError::Unwritable { .. }),
            "{refused:?}"
        );
    });
}

#[test]
fn a_single_file_can_be_writable() {
    at_both_levels(|fixture| {
        let mut spec =
            fixture.spec(&["sh", "-c", "echo x >> config/app.toml; echo x > config/new"]);
        spec.write.push(fixture.path("work/config/app.toml"));
        fixture.run(&spec);
        assert_eq!(
            fs::read(fixture.path("work/config/app.toml")).unwrap(),
            b"appx\n"
        );
        assert!(!fixture.path("work/config/new").exists());
    });
}

#[test]
fn a_hidden_file_is_covered_even_in_a_writable_directory() {
    at_both_levels(|fixture| {
        let mut spec = fixture.spec(&[
            "sh",
            "-c",
            "cat target/.env; echo x > target/.env; rm -f target/.env",
        ]);
        fs::write(fixture.path("work/target/.env"), "secret").unwrap();
        spec.hide.push(fixture.path("work/target/.env"));
        let ran = fixture.run(&spec);
        assert!(!ran.output.contains("secret"), "{}", ran.output);
        assert_eq!(
            fs::read(fixture.path("work/target/.env")).unwrap(),
            b"secret"
        );
    });
}

/// A setuid bit that a filter does not see is worth nothing on a mount without setuid programs.
#[test]
fn setuid_bits_are_refused() {
    at_both_levels(|fixture| {
        let ran = fixture.run_shell(
            "chmod 4755 target/old || echo refused; chmod g+s target || echo refused; install -m 2755 /dev/null target/i || echo refused",
        );
        assert_eq!(ran.output.matches("refused").count(), 3, "{}", ran.output);
        let mode = fs::metadata(fixture.path("work/target/old"))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o6000, 0);
    });
}

#[test]
fn nothing_is_left_of_the_tree() {
    at_full_level(|fixture| {
        fs::set_permissions(fixture.path("work/src"), Permissions::from_mode(0o700)).unwrap();
        let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
        let before = mounts();
        let ran = fixture.run_shell("ls -A /; grep -c . /proc/self/mountinfo");
        assert!(ran.is_success(), "{}", ran.output);
        assert_eq!(mounts(), before);
        // The directories of the test program and of the workspace are there, wherever they lie.
        let known = [PROGRAM.into(), fixture.path("")];
        let is_known = |name: &&str| {
            let above = Path::new("/").join(name);
            known.iter().any(|path| path.starts_with(&above))
        };
        let others = ["home", "root", "var", "old", "new", "boot"].into_iter();
        for absent in others.filter(|name| !is_known(name)) {
            assert!(
                !ran.output.lines().any(|line| line == absent),
                "{}",
                ran.output
            );
        }
    });
}

#[test]
fn a_file_cannot_exceed_its_limit() {
    at_both_levels(|fixture| {
        let mut spec = fixture.spec(&["sh", "-c", "exec head -c 100000 /dev/zero > target/big"]);
        spec.limits.file = 4096;
        let ran = fixture.run(&spec);
        assert_eq!(
            (ran.end.exit_code, ran.end.signal),
            (None, Some(25)),
            "SIGXFSZ"
        );
        assert_eq!(
            fs::metadata(fixture.path("work/target/big")).unwrap().len(),
            4096
        );
    });
}
