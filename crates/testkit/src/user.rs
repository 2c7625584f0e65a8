//! Running programs as a user whom file permissions bind: tests often run as root.

// A test that cannot go on has nobody to return an error to.
#![allow(clippy::expect_used)]

use crate::Process;
use rustix::process::geteuid;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// User and group without any rights.
pub const NOBODY: u32 = 65534;

/// The time that copying a program may take.
const COPY_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns true if the tests run as root, for whom permissions do not hold.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// A program that runs without root's rights, from a folder that every user can enter.
#[derive(Debug)]
pub struct UnprivilegedProgram {
    path: PathBuf,
    // Only root needs a copy.
    _folder: Option<TempDir>,
}

impl UnprivilegedProgram {
    /// Prepares the program. As root it is linked or copied into a folder of its own, since `nobody`
    /// may not be able to reach the build directory.
    pub fn new(program: impl AsRef<Path>) -> UnprivilegedProgram {
        let program = program.as_ref();
        if !is_root() {
            return UnprivilegedProgram {
                path: program.to_owned(),
                _folder: None,
            };
        }
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        open_to_all(folder.path());
        let path = folder
            .path()
            .join(program.file_name().expect("a program has a name"));
        if fs::hard_link(program, &path).is_err() {
            copy(program, &path);
        }
        UnprivilegedProgram {
            path,
            _folder: Some(folder),
        }
    }

    /// Returns a command that runs the program without root's rights.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// Returns `command` with its arguments, variables and directory, run by this program.
    pub fn run_instead(&self, command: &Command) -> Command {
        with_settings_of(command, self.command())
    }
}

/// Copies arguments, variables and directory of a command to another one.
pub fn with_settings_of(command: &Command, mut other: Command) -> Command {
    other.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => other.env(name, value),
            None => other.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        other.current_dir(folder);
    }
    other
}

/// Lets every user enter and read a folder.
pub fn open_to_all(folder: &Path) {
    let permissions = Permissions::from_mode(0o755);
    fs::set_permissions(folder, permissions).expect("the folder is ours");
}

/// Copies by another process: a file that this process has open for writing while it forks cannot be
/// executed.
fn copy(from: &Path, to: &Path) {
    let mut copy = Command::new("cp");
    copy.arg(from).arg(to);
    let output = Process::run(copy, COPY_TIMEOUT);
    assert_eq!(output.exit, crate::Exit::Code(0), "{}", output.stderr);
}
