//! The processes of one server: the postmaster and its children, signalled together.
//!
//! Every child creates a session, so that no process group contains all of them. They are found by
//! their parent while it is stopped and starts no further ones.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// The time that a stopped process may run on; the kernel needs microseconds.
const STOP: Duration = Duration::from_secs(5);

/// The processes of one postmaster.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerProcesses {
    postmaster: u32,
}

impl ServerProcesses {
    pub(super) fn of(postmaster: u32) -> ServerProcesses {
        ServerProcesses { postmaster }
    }

    /// Returns the postmaster and its children, unordered.
    pub(super) fn all(self) -> Vec<u32> {
        let mut all = self.children();
        all.push(self.postmaster);
        all
    }

    /// Stops all of them. None is running when this returns.
    pub(super) fn pause(self) {
        stop(&[self.postmaster]);
        stop(&self.children());
    }

    /// Continues all of them.
    pub(super) fn resume(self) {
        for process in self.all() {
            send(process, Signal::CONT);
        }
    }

    /// Starts a shutdown that waits for no client.
    pub(super) fn end(self) {
        send(self.postmaster, Signal::INT);
        self.resume();
    }

    /// Kills the children, then ends the postmaster with SIGQUIT so that it still reaps them.
    pub(super) fn kill(self) {
        stop(&[self.postmaster]);
        for child in self.children() {
            send(child, Signal::KILL);
        }
        send(self.postmaster, Signal::QUIT);
        send(self.postmaster, Signal::CONT);
    }

    /// Kills all of them, if nothing else has helped.
    pub(super) fn destroy(self) {
        for process in self.all() {
            send(process, Signal::KILL);
        }
    }

    fn children(self) -> Vec<u32> {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        processes
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|process| stat(*process).is_some_and(|(_, parent)| parent == self.postmaster))
            .collect()
    }
}

/// Stops processes and waits until each is stopped or gone.
fn stop(processes: &[u32]) {
    let until = Instant::now() + STOP;
    for process in processes {
        send(*process, Signal::STOP);
    }
    for process in processes {
        let runs =
            || stat(*process).is_some_and(|(state, _)| !matches!(state, 'T' | 't' | 'Z' | 'X'));
        while runs() && Instant::now() < until {
            thread::yield_now();
        }
    }
}

fn send(process: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        // It may have ended already.
        let _ = kill_process(pid, signal);
    }
}

/// Returns the state of a process and its parent.
fn stat(process: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may contain anything, also parentheses and blanks.
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((state, fields.next()?.parse().ok()?))
}
