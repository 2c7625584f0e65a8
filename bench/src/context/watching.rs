//! `update --watch`: the time from the end of the quiet time to the exchange of the caches.

use super::command::ContextProgram;
use crate::process::{BenchProgram, ServerProcess};
use crate::statistics::millis;
use candor_context::QUIET_TIME;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::ChildStdout;
use std::time::Instant;

/// An update that takes longer than this has failed.
const LONGEST: Timespec = Timespec {
    tv_sec: 120,
    tv_nsec: 0,
};

/// A cache that a running program keeps up to date.
#[derive(Debug)]
pub(crate) struct WatchedCache {
    /// Ends with this value.
    _process: ServerProcess,
    updates: BufReader<ChildStdout>,
    name: OsString,
    /// Reports the renames beside the cache.
    renames: OwnedFd,
}

impl WatchedCache {
    /// Starts the program and waits for its first update.
    pub(crate) fn start(context: &ContextProgram, cache: &Path) -> io::Result<Self> {
        let (Some(beside), Some(name)) = (cache.parent(), cache.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let renames = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&renames, beside, WatchFlags::MOVE)?;
        let program = BenchProgram {
            name: "context",
            file: context.file.clone(),
            arguments: vec![
                "update".into(),
                "--watch".into(),
                "--cache".into(),
                cache.into(),
            ],
            bare: false,
        };
        let mut process = program.start()?;
        let (_, updates) = process.pipes()?;
        let mut watched = WatchedCache {
            _process: process,
            updates: BufReader::new(updates),
            name: name.to_owned(),
            renames,
        };
        watched.wait_for_report()?;
        Ok(watched)
    }

    /// Changes the sources. Returns the time from the end of the quiet time until the updated cache is
    /// in place, in milliseconds.
    pub(crate) fn update(&mut self, change: impl FnOnce() -> io::Result<()>) -> io::Result<f64> {
        while self.has_renamed()? {}
        change()?;
        let quiet = Instant::now() + QUIET_TIME;
        loop {
            let mut handles = [PollFd::from_borrowed_fd(
                self.renames.as_fd(),
                PollFlags::IN,
            )];
            if rustix::event::poll(&mut handles, Some(&LONGEST))? == 0 {
                return Err(io::Error::other("`update --watch` does not update"));
            }
            let now = Instant::now();
            if self.has_renamed()? {
                self.wait_for_report()?;
                return Ok(millis(now.saturating_duration_since(quiet)));
            }
        }
    }

    /// Reads all events. Returns true if the cache was renamed.
    fn has_renamed(&self) -> io::Result<bool> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = Reader::new(&self.renames, &mut buffer);
        let mut found = false;
        loop {
            match events.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_bytes());
                    found |= name == Some(self.name.as_encoded_bytes());
                }
                Err(rustix::io::Errno::AGAIN) => return Ok(found),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads the line that follows every update.
    fn wait_for_report(&mut self) -> io::Result<()> {
        let mut line = String::new();
        match self.updates.read_line(&mut line)? {
            0 => Err(io::Error::other("`update --watch` ended")),
            _ => Ok(()),
        }
    }
}
