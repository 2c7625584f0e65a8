//! The programs under test, temporary directories, and commands that run to their end.

use candor_testkit::{Exit, Process, ProcessOutput};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

/// The time after which a waiting test fails.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// A temporary directory that is removed with the test.
pub(crate) struct Directory(TempDir);

impl Directory {
    pub(crate) fn new() -> Directory {
        Directory(tempfile::tempdir().unwrap())
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root().join(name)
    }

    /// Returns the path of `name` as an argument of a command.
    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes a file and creates the directories above it. Returns its path.
    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path.to_string_lossy().into_owned()
    }

    pub(crate) fn read(&self, name: impl AsRef<Path>) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}: {}", path.display()))
    }

    /// Replaces the path of this directory by `FOLDER`.
    pub(crate) fn normalize(&self, text: &str) -> String {
        text.replace(self.root().to_str().unwrap(), "FOLDER")
    }
}

/// Returns the program `context`, which is `candor` under another name.
pub(crate) fn context() -> PathBuf {
    candor_testkit::renamed(CANDOR, "context")
}

/// Returns `candor ARGUMENTS`, without colours and without the settings of this machine.
pub(crate) fn candor(arguments: &[&str]) -> Command {
    let mut command = Process::command(CANDOR, arguments);
    command
        .env_remove("CANDOR_LOG")
        .env_remove("CANDOR_ORDERS_DATABASE")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("DEBUG_STACK")
        .env_remove("GITHUB_TOKEN")
        .env("NO_COLOR", "1");
    command
}

/// Runs a command that must succeed and print nothing on stderr. Returns its stdout.
pub(crate) fn run_ok(command: Command) -> String {
    let ended = Process::run(command, LIMIT);
    assert_eq!((ended.exit, ended.stderr.as_str()), (Exit::Code(0), ""));
    String::from_utf8(ended.stdout).unwrap()
}

/// Runs a command that must fail with exit code 1 and print nothing on stdout. Returns its stderr.
pub(crate) fn run_err(command: Command) -> String {
    run_err_with(1, command)
}

/// Runs a command that must fail with `code` and print nothing on stdout. Returns its stderr.
pub(crate) fn run_err_with(code: i32, command: Command) -> String {
    let ProcessOutput {
        exit,
        stdout,
        stderr,
    } = Process::run(command, LIMIT);
    let stdout = String::from_utf8_lossy(&stdout);
    assert_eq!((exit, &*stdout), (Exit::Code(code), ""), "{stderr}");
    stderr
}

/// Returns the help of a command.
pub(crate) fn help(arguments: &[&str]) -> String {
    let help = run_ok(candor(arguments));
    let lines: Vec<_> = help.lines().collect();
    lines.join("\n")
}
