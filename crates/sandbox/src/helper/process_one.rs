//! Process 1 of the new PID namespace: builds the file tree, confines itself, starts the command and reaps
//! orphans. When it ends, the kernel ends every process in the namespace.

use super::namespaces::{enter, missing};
use super::sweep::reap;
use super::{cell, entry, loopback, stdin_socket, tree};
use crate::error::SetupStep;
use crate::job::{Job, StageMessage, StartFailure, receive_with, send, send_with};
use crate::level::{Namespace, Part};
use crate::spec::Network;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitStatus, pidfd_open, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Child;

/// The shell that runs scripts without an interpreter.
const SHELL: &str = "/bin/sh";
/// The interval at which orphans are reaped while the command runs.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};

pub(super) fn main() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let warden = stdin_socket()?;
    let (mut job, files) = receive_with::<Job>(&warden)?
        .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    let (command, proxy) = match start(&mut job, files) {
        Ok(started) => started,
        Err(failure) => return send(&warden, &StageMessage::Failed(failure)),
    };
    let ready = StageMessage::Ready {
        namespaces: entry::namespaces(&job),
    };
    let proxy: Vec<_> = proxy.iter().map(AsFd::as_fd).collect();
    send_with(&warden, &ready, &proxy)?;
    let (exit_code, signal) = match command {
        Some(command) => match wait_for(&command, &warden)? {
            Some(status) => (status.exit_status(), status.terminating_signal()),
            None => return Ok(()),
        },
        None => (Some(0), None),
    };
    // Orphans become children of this process, so without children the namespace is empty.
    let is_alone = !reap(|_| {});
    let ended = StageMessage::Ended {
        exit_code,
        signal,
        is_alone,
    };
    send(&warden, &ended)
}

/// Sets everything up and starts the command, if there is one. Returns the listening socket of the proxy if
/// there is one.
fn start(
    job: &mut Job,
    files: Vec<OwnedFd>,
) -> Result<(Option<Child>, Option<TcpListener>), StartFailure> {
    let at = StartFailure::at::<io::Error>;
    let mut proxy = None;
    if job.network != Network::Machine {
        let no_loopback = |error| {
            let step = "bringing up the loopback interface";
            StartFailure::Missing(missing(Part::Net, step, &error))
        };
        loopback::bring_up().map_err(no_loopback)?;
        if let Network::Proxy(_) = job.network {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(no_loopback)?;
            job.proxy_port = Some(listener.local_addr().map_err(no_loopback)?.port());
            proxy = Some(listener);
        }
    }
    enter(Namespace::Mount).map_err(StartFailure::Missing)?;
    tree::build(&job.tree)?;
    // The command must not open the files of this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| at(SetupStep::Privileges)(error.into()))?;
    cell::confine(job, cell::TASKS_OF_HELPER)?;
    let command = spawn(job, &files).map_err(|error| StartFailure::Exec {
        code: error.raw_os_error().unwrap_or_default(),
    });
    Ok((command?, proxy))
}

/// Starts the command, if there is one. The shell runs a script that names no interpreter, as if this process
/// had called `execvp`.
fn spawn(job: &mut Job, files: &[OwnedFd]) -> io::Result<Option<Child>> {
    let Some(program) = job.program.take() else {
        return Ok(None);
    };
    // A group of its own: signals to its group do not reach this process.
    let start = |job: &Job, program: &Path| {
        let mut command = cell::command(job, program, files)?;
        command.process_group(0).spawn()
    };
    let started = start(job, program.path());
    let has_no_format = |error: &io::Error| Errno::from_io_error(error) == Some(Errno::NOEXEC);
    match (started, program.path().to_str()) {
        (Err(error), Some(script)) if has_no_format(&error) => {
            let start_of_argv = ..job.argv.len().min(1);
            let shell = [SHELL, script].map(String::from);
            job.argv.splice(start_of_argv, shell);
            start(job, Path::new(SHELL)).map(Some)
        }
        (started, _) => started.map(Some),
    }
}

/// Waits until the command ends. Returns `None` if the warden ended.
fn wait_for(command: &Child, warden: &UnixStream) -> io::Result<Option<WaitStatus>> {
    let id = i32::try_from(command.id()).map_err(io::Error::other)?;
    let pid = Pid::from_raw(id).ok_or(io::ErrorKind::NotFound)?;
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    let mut status = None;
    loop {
        reap(|(child, how)| {
            if child == id {
                status = Some(how);
            }
        });
        if status.is_some() {
            return Ok(status);
        }
        let mut watched = [
            PollFd::new(&handle, PollFlags::IN),
            PollFd::new(warden, PollFlags::RDHUP),
        ];
        let _ = poll(&mut watched, Some(&TICK));
        if !watched[1].revents().is_empty() {
            return Ok(None);
        }
    }
}
