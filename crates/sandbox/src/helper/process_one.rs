//! Process 1 of the new PID namespace: builds the file tree, starts the cell and reaps orphans. When it ends,
//! the kernel ends every process in the namespace.

use super::namespaces::missing;
use super::sweep::reap;
use super::{Stage, entry, loopback, privileges, start_stage, stdin_socket, tree};
use crate::error::SetupStep;
use crate::job::{Job, StageMessage, StartFailure, receive, receive_with, send, send_with};
use crate::level::Part;
use crate::spec::Network;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitStatus, pidfd_open, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;

/// The interval at which orphans are reaped while the command runs.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};

pub(super) fn main() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let (mut job, mut files) = receive_with::<Job>(&stdin_socket()?)?
        .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    // The fourth file is the socket to the warden.
    let warden = files.pop().ok_or(io::ErrorKind::InvalidData)?;
    let warden = UnixStream::from(warden);
    let cell = match start(&mut job, files) {
        Ok((cell, proxy)) => {
            let ready = StageMessage::Ready {
                namespaces: entry::namespaces(&job),
            };
            let proxy: Vec<_> = proxy.iter().map(AsFd::as_fd).collect();
            send_with(&warden, &ready, &proxy)?;
            cell
        }
        Err(failure) => return send(&warden, &StageMessage::Failed(failure)),
    };
    match wait_for(&cell, &warden)? {
        Some(status) => send(
            &warden,
            &StageMessage::Ended {
                exit_code: status.exit_status(),
                signal: status.terminating_signal(),
            },
        ),
        None => Ok(()),
    }
}

/// Sets everything up and starts the command. Returns the listening socket of the proxy if there is one.
fn start(job: &mut Job, files: Vec<OwnedFd>) -> Result<(Child, Option<TcpListener>), StartFailure> {
    let at = StartFailure::at::<io::Error>;
    // The cell is started first: the new tree need not contain this program and its libraries. They are
    // loaded once it reports so.
    let (cell, socket) = start_stage(Stage::Cell, &job.first_args).map_err(at(SetupStep::Start))?;
    receive::<StageMessage>(&socket).map_err(at(SetupStep::Start))?;
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
    tree::build(&job.tree)?;
    privileges::drop_all().map_err(at(SetupStep::Privileges))?;
    // The command must not open the files of this process.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| at(SetupStep::Privileges)(error.into()))?;
    let sent: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    send_with(&socket, job, &sent).map_err(at(SetupStep::Handover))?;
    drop(files);
    await_command(&socket)?;
    Ok((cell, proxy))
}

/// Waits until the cell has become the command. Returns the namespaces that the cell entered itself.
pub(super) fn await_command(
    socket: &UnixStream,
) -> Result<Vec<crate::level::Namespace>, StartFailure> {
    let at = StartFailure::at::<io::Error>;
    let mut entered = None;
    loop {
        match receive(socket).map_err(at(SetupStep::Handover))? {
            Some(StageMessage::Ready { namespaces }) => entered = Some(namespaces),
            Some(StageMessage::Failed(failure)) => return Err(failure),
            Some(StageMessage::Loaded | StageMessage::Ended { .. }) => {}
            // The socket is closed when the cell executes the command.
            None => {
                let lost = || at(SetupStep::Start)(io::ErrorKind::UnexpectedEof.into());
                return entered.ok_or_else(lost);
            }
        }
    }
}

/// Waits until the command ends. Returns `None` if the warden ended.
fn wait_for(cell: &Child, warden: &UnixStream) -> io::Result<Option<WaitStatus>> {
    let id = i32::try_from(cell.id()).map_err(io::Error::other)?;
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
