//! Ends every process that a command left behind.

use nix::sys::signal::{Signal, kill};
use nix::unistd;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, wait};
use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The time limit for all processes to end.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of processes that are ended in one round.
const MAX_ROUND: usize = 65_536;
/// The maximum number of children whose end is waited for at once.
const MAX_AWAITED: usize = 64;
/// The time after which the rest is killed again.
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

/// The process id of a child that ended, and its status.
pub(super) type ChildStatus = (i32, rustix::process::WaitStatus);

/// The way to end all descendants at once.
#[derive(Debug, Clone, Copy)]
pub(super) enum EndBy {
    /// Kill every process that can be reached: signals are confined to our own processes.
    Everyone,
    /// Kill the session of the command, and its descendants one by one.
    Session(i32),
    /// Kill this process: the kernel ends process 1 with it, and the namespace with process 1.
    Process(i32),
}

/// Ends all descendants and waits for them. Returns false if some did not end. Orphans become children
/// of this process, so there are no descendants left if there are no children.
pub(super) fn end_descendants(by: EndBy, mut on_end: impl FnMut(ChildStatus)) -> bool {
    let until = Instant::now() + TIMEOUT;
    loop {
        match by {
            // All at once, so that no process can escape by forking.
            EndBy::Everyone => drop(kill(unistd::Pid::from_raw(-1), Signal::SIGKILL)),
            EndBy::Session(session) => {
                let _ = kill(unistd::Pid::from_raw(-session), Signal::SIGKILL);
                for process in descendants() {
                    let _ = kill(unistd::Pid::from_raw(process), Signal::SIGKILL);
                }
            }
            EndBy::Process(process) => {
                for child in children("self") {
                    if child != process {
                        let _ = kill(unistd::Pid::from_raw(child), Signal::SIGKILL);
                    }
                }
                let _ = kill(unistd::Pid::from_raw(process), Signal::SIGKILL);
            }
        }
        if !reap(&mut on_end) {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        await_child();
    }
}

/// Waits until a child has ended, but not longer than [`PAUSE`]: others may have become children meanwhile.
fn await_child() {
    let children = children("self").into_iter().take(MAX_AWAITED);
    let handles: Vec<OwnedFd> = children
        .filter_map(|child| pidfd_open(Pid::from_raw(child)?, PidfdFlags::empty()).ok())
        .collect();
    let mut polled: Vec<_> = handles
        .iter()
        .map(|handle| PollFd::new(handle, PollFlags::IN))
        .collect();
    let _ = poll(&mut polled, Some(&PAUSE));
}

/// Reaps every child that has ended. Returns false if no child is left.
pub(super) fn reap(mut on_end: impl FnMut(ChildStatus)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((child, status))) => on_end((child.as_raw_pid(), status)),
            Ok(None) | Err(Errno::INTR) => return true,
            Err(_) => return false,
        }
    }
}

fn descendants() -> Vec<i32> {
    let mut all = Vec::new();
    let mut todo = children("self");
    while let Some(process) = todo.pop() {
        if all.len() >= MAX_ROUND {
            break;
        }
        all.push(process);
        todo.extend(children(&process.to_string()));
    }
    all
}

fn children(process: &str) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<_>>()
        })
        .filter(|pid| *pid > 1)
        .collect()
}
