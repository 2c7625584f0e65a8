//! The escape drill: one C program makes every attempt that we know of, as root and as an ordinary user, at both
//! levels. Its lines are committed; whatever is allowed there was judged, and a new `ALLOWED` fails the test.

use crate::fixture::{EPERM, Fixture, PROGRAM, Snapshot, helper};
use candor_sandbox::{Level, probe};
use candor_testkit::with_refused_call;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An ordinary user.
const USER: u32 = 1500;

/// Compiles the drill into the fixture. Returns `None` and reports the test as skipped without a compiler.
fn compile(fixture: &Fixture) -> Option<PathBuf> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/drill/escape.c");
    let program = fixture.path("tool/escape");
    let compiled = Command::new("cc")
        .arg("-o")
        .arg(&program)
        .arg(source)
        .output();
    match compiled {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => {
            candor_testkit::skip(format!("cc cannot be run: {error}"));
            return None;
        }
    }
    Some(program)
}

fn give_away(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            give_away(&entry.unwrap().path(), user);
        }
    }
}

/// Runs the drill as a user and returns its lines.
fn run(fixture: &Fixture, user: Option<u32>) -> Option<String> {
    let escape = compile(fixture)?;
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = service.local_addr().unwrap().port().to_string();
    let _socket = UnixListener::bind(fixture.path("work/socket")).unwrap();
    let program = fixture.path("tool/program");
    fs::copy(PROGRAM, &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let key = std::process::id().to_string();
    if let Some(user) = user {
        give_away(&fixture.path(""), user);
    }
    let start = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).env("KEY", &key);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    start(&escape, &["segment"]);
    let before: Snapshot = fixture.snapshot();
    let base = fixture.path("");
    let level = fixture.level.name();
    let lines = start(
        &program,
        &["drill", base.to_str().unwrap(), &port, &key, level],
    );
    start(&escape, &["remove"]);
    if fixture.level == Level::Full {
        assert_eq!(before, fixture.snapshot());
    }
    Some(lines)
}

/// Runs the drill as root and as an ordinary user, and compares the lines of both with the committed ones. An
/// ordinary user who runs the tests must not be allowed more than these.
fn check(level: Level, name: &str) {
    let Some(own) = run(&Fixture::new(level), None) else {
        return;
    };
    if !candor_testkit::user::is_root() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sandbox/snapshots");
        let committed =
            fs::read_to_string(format!("{folder}/sandbox__drill__{name}.snap")).unwrap();
        for line in own.lines().filter(|line| line.ends_with(ALLOWED)) {
            assert!(
                committed.lines().any(|known| known.starts_with(line)),
                "{line}"
            );
        }
        return;
    }
    let user = run(&Fixture::new(level), Some(USER)).unwrap();
    let mut both = String::new();
    for (own, user) in own.lines().zip(user.lines()) {
        both.push_str(own);
        if own != user {
            both.push_str(&format!(
                " (uid {USER}: {})",
                user.rsplit(": ").next().unwrap()
            ));
        }
        both.push('\n');
    }
    assert_eq!(own.lines().count(), user.lines().count());
    assert!(own.lines().count() >= 120);
    insta::assert_snapshot!(name, both);
}

/// The end of the line of a successful attempt.
const ALLOWED: &str = ": ALLOWED";

#[test]
fn escapes_from_the_full_level_are_refused() {
    if probe(&helper()).level < Level::Full {
        return candor_testkit::skip_for_kernel("no namespaces");
    }
    check(Level::Full, "full");
}

#[test]
fn escapes_from_the_landlock_level_are_refused() {
    if probe(&helper()).landlock.is_none() {
        return candor_testkit::skip_for_kernel("no Landlock");
    }
    with_refused_call(nix::libc::SYS_unshare, EPERM, || {
        check(Level::Landlock, "landlock")
    });
}
