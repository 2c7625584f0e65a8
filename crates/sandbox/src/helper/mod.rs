//! The helper processes of a sandbox: warden, entry, process 1 and cell.

mod cell;
mod entry;
mod filter;
mod landlock_rules;
mod limits;
mod loopback;
mod namespaces;
mod privileges;
mod process_one;
mod sweep;
mod tree;
mod warden;

use crate::proxy::{Resolve, SystemResolver};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode, Stdio};
use std::str::FromStr;
use std::sync::Arc;

/// One of the helper processes. Each is the same program, started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Watches the command, ends it and serves its proxy.
    Warden,
    /// Makes the namespaces if the warden must stay outside of them.
    Entry,
    /// Process 1 of the new PID namespace: builds the file tree, confines itself, starts the command and
    /// reaps orphans.
    ProcessOne,
    /// Confines itself and becomes the command, below the full level.
    Cell,
}

impl Stage {
    const ALL: [Stage; 4] = [Stage::Warden, Stage::Entry, Stage::ProcessOne, Stage::Cell];

    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Warden => "warden",
            Stage::Entry => "entry",
            Stage::ProcessOne => "process-one",
            Stage::Cell => "cell",
        }
    }
}

impl FromStr for Stage {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let mut all = Stage::ALL.into_iter();
        all.find(|stage| stage.name() == name).ok_or(())
    }
}

/// Runs a stage and returns its exit code. Must be called in a separate process that has started no
/// thread. Stdin is a socket to the process that started it.
pub fn helper_main(stage: Stage) -> ExitCode {
    helper_main_with(stage, Arc::new(SystemResolver))
}

/// Runs a stage like [`helper_main`], with another way to resolve the hosts of the proxy.
pub fn helper_main_with(stage: Stage, resolver: Arc<dyn Resolve>) -> ExitCode {
    let done = match stage {
        Stage::Warden => warden::main(resolver),
        Stage::Entry => entry::main(),
        Stage::ProcessOne => process_one::main(),
        Stage::Cell => cell::main(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Returns the socket on stdin. The copy is closed when this process becomes another program.
fn stdin_socket() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Starts the next stage with a socket as its stdin.
fn start_stage(stage: Stage, first_args: &[String]) -> io::Result<(Child, UnixStream)> {
    let (socket, far) = UnixStream::pair()?;
    let child = start_stage_on(OwnedFd::from(far).into(), stage, first_args)?;
    Ok((child, socket))
}

/// Starts the next stage with this stdin.
fn start_stage_on(stdin: Stdio, stage: Stage, first_args: &[String]) -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .args(first_args)
        .arg(stage.name())
        .env_clear()
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// Closes files that the server inherited or opened without close-on-exec.
fn close_inherited_files() -> io::Result<()> {
    let open: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    for number in open {
        // The descriptor that listed them is closed already, so this can fail.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}
