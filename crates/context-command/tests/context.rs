//! The program `context`, with a shell in the place of `candor`.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails like a test")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Returns a directory that contains a copy of `context`.
fn installed() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    // By another process: a file that this one has open for writing cannot be executed.
    let copied = Command::new("cp")
        .args([env!("CARGO_BIN_EXE_context")])
        .arg(directory.path())
        .status();
    assert!(copied.unwrap().success());
    directory
}

fn put_shell(directory: &Path) {
    symlink("/bin/sh", directory.join("candor")).unwrap();
}

/// Runs a script by `context`, if the shell is found.
fn run(directory: &Path, path: &Path, script: &str, input: &str) -> Output {
    let mut child = Command::new(directory.join("context"))
        .args(["-c", script])
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    // The script may end before it has read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let mut output = child.wait_with_output().unwrap();
    output.stdout = String::from_utf8(output.stdout)
        .unwrap()
        .replace(&pid.to_string(), "PID")
        .into_bytes();
    output
}

#[test]
fn candor_beside_is_run_under_the_name_context() {
    let directory = installed();
    put_shell(directory.path());
    let script = "read line; echo $line $$; exit 7";
    let output = run(directory.path(), Path::new("/nowhere"), script, "input\n");
    // The same process: signals reach `candor`, and its exit code is the one of `context`.
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "input PID\n");
    assert_eq!(output.status.code(), Some(7));
    let name = "tr '\\0' '\\n' < /proc/$$/cmdline | head -n 1";
    let output = run(directory.path(), Path::new("/usr/bin:/bin"), name, "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "context\n");
}

#[test]
fn candor_in_path_is_run_if_there_is_none_beside() {
    let directory = installed();
    let elsewhere = tempfile::tempdir().unwrap();
    put_shell(elsewhere.path());
    let output = run(directory.path(), elsewhere.path(), "exit 9", "");
    assert_eq!(output.status.code(), Some(9));
}

#[test]
fn missing_candor_is_reported_with_a_remedy() {
    let directory = installed();
    let output = run(directory.path(), Path::new("/nowhere"), "exit 9", "");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: the program `candor`, which does the work of `context`, is not found\n\
         hint: put `candor` into the directory of `context` or into a directory of PATH\n"
    );
}

#[test]
fn candor_that_cannot_be_executed_is_reported() {
    let directory = installed();
    let candor = directory.path().join("candor");
    fs::write(&candor, "").unwrap();
    let output = run(directory.path(), Path::new("/nowhere"), "exit 9", "");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    let start = format!(
        "error: cannot start `{}`: Permission denied",
        candor.display()
    );
    assert!(message.starts_with(&start), "{message}");
}
