//! Files: protected ones stay unchanged, hidden ones stay unread, and a build still works.

use crate::fixture::Fixture;
use candor_sandbox::{RunError, WritableError};
use std::fs;

#[test]
fn the_log_cannot_be_touched() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let before = fixture.snapshot();
    assert_eq!(
        fixture.attack("log", |_| {}),
        "truncate: EACCES
create: EACCES
append: EACCES
remove: EACCES
move away: EACCES
restore over it: EACCES
hard link: EXDEV
through a link: EACCES
rotated name: EACCES
read: done
"
    );
    assert_eq!(before, fixture.snapshot());
    assert!(!fixture.path("work/audit-log.jsonl.1").exists());
}

#[test]
fn hooks_plans_and_secrets_are_out_of_reach() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let before = fixture.snapshot();
    let attempts = fixture.attack("workspace", |_| {});
    let refused = attempts
        .lines()
        .filter(|line| line.ends_with(": EACCES") || line.ends_with(": EXDEV"));
    assert_eq!(refused.count(), 17, "{attempts}");
    assert_eq!(before, fixture.snapshot());
    assert!(!fixture.path("work/new").exists());
}

#[test]
fn hidden_directories_are_out_of_reach_in_a_readable_parent() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let before = fixture.snapshot();
    let attempts = fixture.attack("own", |_| {});
    let refused = attempts
        .lines()
        .filter(|line| line.ends_with(": EACCES") || line.ends_with(": EXDEV"));
    assert_eq!(refused.count(), 14, "{attempts}");
    assert_eq!(before, fixture.snapshot());
}

#[test]
fn the_file_operations_of_a_build_work() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let before = fixture.snapshot();
    let attempts = fixture.attack("allowed", |_| {});
    assert_eq!(attempts.lines().count(), 22, "{attempts}");
    assert!(
        attempts.lines().all(|line| line.ends_with(": done")),
        "{attempts}"
    );
    assert_eq!(before, fixture.snapshot());
}

#[test]
fn a_writable_directory_is_created_and_a_protected_one_refused() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let mut spec = fixture.spec(&["sh", "-c", "echo x > build/deep/file"]);
    spec.write = vec!["build/deep".into()];
    assert!(fixture.run(&spec).is_success());
    assert_eq!(
        fs::read(fixture.path("work/build/deep/file")).unwrap(),
        b"x\n"
    );

    for path in ["docs", ".git/hooks", ".candor", "audit-log.jsonl"] {
        spec.write = vec!["target".into(), path.into()];
        let refused = fixture.try_run(&spec).unwrap_err();
        assert!(
            matches!(&refused, RunError::Writable { path: refused, error: WritableError::Protected } if refused.as_os_str() == path),
            "{refused:?}"
        );
    }
}

#[test]
fn a_root_that_overlaps_with_a_hidden_directory_is_refused() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let mut spec = fixture.spec(&["true"]);
    for hidden in ["work/inside", "", "work"] {
        spec.hide = vec![fixture.path(hidden)];
        assert!(matches!(
            fixture.try_run(&spec),
            Err(RunError::RootOverlapsHidden { .. })
        ));
    }
}

#[test]
fn a_file_cannot_exceed_its_limit() {
    let Some(fixture) = Fixture::with_sandbox() else {
        return;
    };
    let mut spec = fixture.spec(&["sh", "-c", "exec head -c 100000 /dev/zero > target/big"]);
    spec.limits.file = 4096;
    let outcome = fixture.run(&spec);
    assert_eq!(
        (outcome.exit_code, outcome.signal),
        (None, Some(25)),
        "SIGXFSZ"
    );
    assert_eq!(
        fs::metadata(fixture.path("work/target/big")).unwrap().len(),
        4096
    );
}
