//! Runs the tests of commands, moves, governed files, build directories, settling and retiring once more as an
//! ordinary user, if the tests run as root.

use crate::fixture::CANDOR;
use candor_testkit::{Exit, Process, skip_for_kernel, user};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// An ordinary user.
const USER: u32 = 1500;

/// The beginnings of the names of the tests.
const PARTS: [&str; 10] = [
    "audit::retire::",
    "workspace::build_directory::",
    "workspace::command_starts::",
    "workspace::commands::",
    "workspace::executed_files::",
    "workspace::full_disk::",
    "workspace::governed_files::",
    "workspace::ordinary_edits::",
    "workspace::unsettled::",
    "workspace_cli::log_place::",
];

/// The time after which the tests are ended.
const LIMIT: Duration = Duration::from_secs(600);

/// Returns a command that runs as the user.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.uid(USER).gid(USER);
    command
}

#[test]
fn newest_parts_work_for_an_ordinary_user() {
    // Else every test runs as an ordinary user.
    if !user::is_root() {
        return;
    }
    let tests = std::env::current_exe().unwrap();
    for program in [tests.as_path(), Path::new(CANDOR)] {
        let mut reached = as_user(Path::new("test"));
        reached.arg("-x").arg(program);
        if Process::run(reached, LIMIT).exit != Exit::Code(0) {
            let program = program.display();
            return skip_for_kernel(format!("user {USER} cannot execute {program}"));
        }
    }
    let own = tempfile::tempdir().unwrap();
    chown(own.path(), Some(USER), Some(USER)).unwrap();
    let mut command = as_user(&tests);
    command
        .args(PARTS)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("INSTA_UPDATE", "no")
        .env("INSTA_WORKSPACE_ROOT", env!("CARGO_MANIFEST_DIR"))
        .env("TMPDIR", own.path())
        .env("HOME", own.path())
        .current_dir(own.path());
    let ended = Process::run(command, LIMIT);
    let output = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.exit, Exit::Code(0), "{output}\n{}", ended.stderr);
    // Each part has tests.
    for part in PARTS {
        assert!(output.contains(&format!("test {part}")), "{part}\n{output}");
    }
}
