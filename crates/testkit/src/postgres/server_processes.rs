//! The processes of one server: the postmaster and its children, signalled together.
//!
//! Every child makes a session of its own, so that no process group holds them all; they are found
//! by their parent instead, while that is stopped and makes no more of them.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// How long a stopped process may go on; the kernel needs microseconds.
const STOP: Duration = Duration::from_secs(5);

/// The processes below one postmaster, and itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerProcesses {
    postmaster: u32,
}

impl ServerProcesses {
    pub(super) fn of(postmaster: u32) -> ServerProcesses {
        ServerProcesses { postmaster }
    }

    /// The postmaster and its children, in no order.
    pub(super) fn all(self) -> Vec<u32> {
        let mut all = self.children();
        all.push(self.postmaster);
        all
    }

    /// Stops all of them; none runs any more when this returns.
    pub(super) fn pause(self) {
        stop(&[self.postmaster]);
        stop(&self.children());
    }

    /// Lets all of them go on.
    pub(super) fn resume(self) {
        for process in self.all() {
            send(process, Signal::CONT);
        }
    }

    /// Asks for an orderly end that waits for no client.
    pub(super) fn end(self) {
        send(self.postmaster, Signal::INT);
        self.resume();
    }

    /// Kills the children, and has the postmaster end without looking after anything but them:
    /// whom it does not wait for would be left to whoever adopts orphans.
    pub(super) fn kill(self) {
        stop(&[self.postmaster]);
        for child in self.children() {
            send(child, Signal::KILL);
        }
        send(self.postmaster, Signal::QUIT);
        send(self.postmaster, Signal::CONT);
    }

    /// Kills all of them where nothing else has helped.
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

/// Stops processes and waits until each stands still or is gone.
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
        // It may have ended by itself: then there is nothing to signal.
        let _ = kill_process(pid, signal);
    }
}

/// The state of a process and its parent.
fn stat(process: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may hold anything, parentheses and blanks among it.
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((state, fields.next()?.parse().ok()?))
}
