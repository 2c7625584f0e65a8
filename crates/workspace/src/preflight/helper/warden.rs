//! The warden: starts the cell, ends it in time, and leaves nothing of it behind.

use super::Stage;
use super::rules::keep_signals;
use super::sweep::{reap, sweep};
use crate::preflight::job::{Failure, Job, Report, receive, send};
use crate::preflight::outcome::Step;
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

/// How often orphans are taken note of while the command runs.
const TICK: Duration = Duration::from_millis(250);

/// Carries out one order; the report goes to stdout.
pub(super) fn main() -> u8 {
    let report = watch().unwrap_or_else(Report::NotStarted);
    match send(io::stdout().lock(), &report) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

fn watch() -> Result<Report, Failure> {
    let at = |step| move |error: io::Error| Failure::io(step, &error);
    close_what_was_left_open().map_err(at(Step::Start))?;
    let mut job: Job = receive(io::stdin().lock())
        .and_then(|job| job.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
        .map_err(at(Step::Handover))?;
    job.warden = getpid().as_raw_pid();
    set_child_subreaper(Some(getpid())).map_err(|e| at(Step::Start)(e.into()))?;
    job.scoped = job.grants.is_some() && signals_stay_here(job.server);

    let mut cell = start(&job).map_err(at(Step::Start))?;
    let id = i32::try_from(cell.id()).map_err(|e| at(Step::Start)(io::Error::other(e)))?;
    let handle = rustix::process::Pid::from_raw(id)
        .ok_or_else(|| at(Step::Start)(io::ErrorKind::NotFound.into()))
        .and_then(|id| pidfd_open(id, PidfdFlags::empty()).map_err(|e| at(Step::Start)(e.into())));
    let mut status = None;
    let begun = match handle {
        Ok(handle) => handed_over(&mut cell, &job).map(|()| handle),
        Err(failure) => Err(failure),
    };
    let timed_out = match &begun {
        Ok(handle) => wait_for(handle, job.limits.time, |(child, how)| {
            if child == id {
                status = Some(how);
            }
        }),
        Err(_) => false,
    };
    let swept = sweep(job.scoped, id, |(child, how)| {
        if child == id {
            status = Some(how);
        }
    });
    begun?;
    Ok(Report::Ended {
        exit_code: status.and_then(|how| how.exit_status()),
        signal: status.and_then(|how| how.terminating_signal()),
        timed_out,
        swept,
    })
}

/// Closes the files that the server, or whoever started it, passed on without meaning to.
fn close_what_was_left_open() -> io::Result<()> {
    let open: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    for number in open {
        // The one through which they were listed is closed already.
        let _ = close(number);
    }
    Ok(())
}

/// Whether from now on no signal of ours leaves our own processes. Believed only when the server, whom
/// we could signal a moment ago, is out of reach: on it depends that ending all that we can reach ends
/// nothing else.
fn signals_stay_here(server: i32) -> bool {
    let parent = getppid().is_some_and(|parent| parent.as_raw_pid() == server);
    let reach = || kill(Pid::from_raw(server), None);
    parent && reach().is_ok() && keep_signals() && reach() == Err(Errno::EPERM)
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

/// Gives the cell its order and waits until it is the command.
fn handed_over(cell: &mut Child, job: &Job) -> Result<(), Failure> {
    let (Some(stdin), Some(stdout)) = (cell.stdin.take(), cell.stdout.take()) else {
        return Err(Failure::io(Step::Start, &io::ErrorKind::BrokenPipe.into()));
    };
    let sent = send(stdin, job);
    match receive::<Failure>(stdout) {
        Ok(None) => sent.map_err(|error| Failure::io(Step::Handover, &error)),
        Ok(Some(failure)) => Err(failure),
        Err(error) => Err(Failure::io(Step::Handover, &error)),
    }
}

/// Waits until the command ends, its time is over (true), or the server closes our stdin.
fn wait_for(command: &OwnedFd, time: Duration, mut ended: impl FnMut(super::sweep::Ended)) -> bool {
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
        reap(&mut ended);
        if command || server {
            return false;
        }
    }
}
