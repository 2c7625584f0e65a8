//! Ends every process that a command left behind.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use rustix::process::{WaitOptions, wait};
use std::fs;
use std::time::{Duration, Instant};

/// How long processes get to die.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many processes are ended in one round.
const MAX_ROUND: usize = 65_536;

/// How a child ended, as the kernel puts it.
pub(super) type Ended = (i32, rustix::process::WaitStatus);

/// Ends all descendants and waits for them; false where some would not end. Orphans become children
/// of this process, so that having none means that there are none.
pub(super) fn sweep(scoped: bool, session: i32, mut ended: impl FnMut(Ended)) -> bool {
    let until = Instant::now() + PATIENCE;
    loop {
        match scoped {
            // All at once: no process can fork its way past it.
            true => drop(kill(Pid::from_raw(-1), Signal::SIGKILL)),
            false => {
                let _ = kill(Pid::from_raw(-session), Signal::SIGKILL);
                for process in descendants() {
                    let _ = kill(Pid::from_raw(process), Signal::SIGKILL);
                }
            }
        }
        if !reap(&mut ended) {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        let pause = Timespec {
            tv_sec: 0,
            tv_nsec: 2_000_000,
        };
        let _ = poll(&mut [], Some(&pause));
    }
}

/// Takes note of every child that has ended; false where no child is left.
pub(super) fn reap(mut ended: impl FnMut(Ended)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((child, status))) => ended((child.as_raw_pid(), status)),
            Ok(None) | Err(Errno::INTR) => return true,
            Err(_) => return false,
        }
    }
}

fn descendants() -> Vec<i32> {
    let mut found = Vec::new();
    let mut todo = children("self");
    while let Some(process) = todo.pop() {
        if found.len() >= MAX_ROUND {
            break;
        }
        found.push(process);
        todo.extend(children(&process.to_string()));
    }
    found
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
