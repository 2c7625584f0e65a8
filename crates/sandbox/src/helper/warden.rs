//! The warden: starts the cell, ends it in time, and ends all of its descendants.

use super::Stage;
use super::rules::confine_signals;
use super::sweep::{ChildStatus, end_descendants, reap};
use crate::job::{Job, StartFailure, WardenReport, receive, send};
use crate::outcome::SetupStep;
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::{Pid, close};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, getpid, getppid, pidfd_open, set_child_subreaper};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The interval at which orphans are reaped while the command runs.
const TICK: Duration = Duration::from_millis(250);

/// Runs one job and writes the report to stdout.
pub(super) fn main() -> u8 {
    let report = watch().unwrap_or_else(WardenReport::NotStarted);
    match send(io::stdout().lock(), &report) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

fn watch() -> Result<WardenReport, StartFailure> {
    let at = |step| move |error: io::Error| StartFailure::io(step, &error);
    close_inherited_files().map_err(at(SetupStep::Start))?;
    let mut job: Job = receive(io::stdin().lock())
        .and_then(|job| job.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
        .map_err(at(SetupStep::Handover))?;
    job.warden = getpid().as_raw_pid();
    set_child_subreaper(Some(getpid())).map_err(|e| at(SetupStep::Start)(e.into()))?;
    job.signals_confined = job.grants.is_some() && has_confined_signals(job.server);

    let mut cell = start(&job).map_err(at(SetupStep::Start))?;
    let id = i32::try_from(cell.id()).map_err(|e| at(SetupStep::Start)(io::Error::other(e)))?;
    let handle = rustix::process::Pid::from_raw(id)
        .ok_or_else(|| at(SetupStep::Start)(io::ErrorKind::NotFound.into()))
        .and_then(|id| {
            pidfd_open(id, PidfdFlags::empty()).map_err(|e| at(SetupStep::Start)(e.into()))
        });
    let mut status = None;
    let started = match handle {
        Ok(handle) => hand_over(&mut cell, &job).map(|()| handle),
        Err(failure) => Err(failure),
    };
    let timed_out = match &started {
        Ok(handle) => wait_for(handle, job.limits.time, |(child, how)| {
            if child == id {
                status = Some(how);
            }
        }),
        Err(_) => false,
    };
    let descendants_ended = end_descendants(job.signals_confined, id, |(child, how)| {
        if child == id {
            status = Some(how);
        }
    });
    started?;
    Ok(WardenReport::Ended {
        exit_code: status.and_then(|how| how.exit_status()),
        signal: status.and_then(|how| how.terminating_signal()),
        timed_out,
        descendants_ended,
    })
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
        let _ = close(number);
    }
    Ok(())
}

/// Confines signals to our own processes. Returns true only if the server, which could be signalled a
/// moment ago, is out of reach now: `end_descendants` then signals every process that it can reach.
fn has_confined_signals(server: i32) -> bool {
    let parent = getppid().is_some_and(|parent| parent.as_raw_pid() == server);
    let reach = || kill(Pid::from_raw(server), None);
    parent && reach().is_ok() && confine_signals() && reach() == Err(Errno::EPERM)
}

fn start(job: &Job) -> io::Result<Child> {
    Command::new("/proc/self/exe")
        .args(&job.first_args)
        .arg(Stage::Cell.name())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
}

/// Sends the job to the cell and waits until the cell has become the command.
fn hand_over(cell: &mut Child, job: &Job) -> Result<(), StartFailure> {
    let (Some(stdin), Some(stdout)) = (cell.stdin.take(), cell.stdout.take()) else {
        return Err(StartFailure::io(
            SetupStep::Start,
            &io::ErrorKind::BrokenPipe.into(),
        ));
    };
    let sent = send(stdin, job);
    match receive::<StartFailure>(stdout) {
        Ok(None) => sent.map_err(|error| StartFailure::io(SetupStep::Handover, &error)),
        Ok(Some(failure)) => Err(failure),
        Err(error) => Err(StartFailure::io(SetupStep::Handover, &error)),
    }
}

/// Waits until the command ends, its time is over, or the server closes our stdin. Returns true if the
/// time is over.
fn wait_for(command: &OwnedFd, time: Duration, mut on_end: impl FnMut(ChildStatus)) -> bool {
    let until = Instant::now() + time;
    let stdin = io::stdin();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        let mut watched = [
            PollFd::new(command, PollFlags::IN),
            PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN),
        ];
        let pause = Timespec::try_from(left.min(TICK)).ok();
        let _ = poll(&mut watched, pause.as_ref());
        let [command, server] = watched.map(|one| !one.revents().is_empty());
        reap(&mut on_end);
        if command || server {
            return false;
        }
    }
}
