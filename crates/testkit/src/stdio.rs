//! Drives a server on stdin and stdout byte by byte.

// A test that cannot go on has nobody to return an error to.
#![allow(clippy::expect_used, clippy::panic)]

use crate::{Exit, Process, ReachedCodes};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// The time that an answer may take before the test fails.
const LIMIT: Duration = Duration::from_secs(30);

/// The lines that are read ahead of the test.
const AHEAD: usize = 1;

/// A server on stdio. Nothing is read before the test reads its first line, so that a test can act
/// as a client that does not read.
#[derive(Debug)]
pub struct Stdio {
    process: Process,
    input: Option<Sender<Vec<u8>>>,
    output: Output,
    reached: ReachedCodes,
}

#[derive(Debug)]
enum Output {
    Unread(Option<ChildStdout>),
    Lines(Receiver<Vec<u8>>),
}

impl Stdio {
    /// Starts a program with arguments.
    pub fn spawn(program: impl AsRef<OsStr>, arguments: &[&str]) -> Self {
        Self::start(Process::command(program, arguments))
    }

    /// Starts a prepared command: with limits, as another user, in another directory.
    pub fn start(command: Command) -> Self {
        let (process, mut stdin, stdout) = Process::start(command);
        let (input, pieces) = channel::<Vec<u8>>();
        thread::spawn(move || {
            for piece in pieces {
                if stdin
                    .write_all(&piece)
                    .and_then(|()| stdin.flush())
                    .is_err()
                {
                    // The process has ended, which the test notices.
                    return;
                }
            }
        });
        Stdio {
            process,
            input: Some(input),
            output: Output::Unread(Some(stdout)),
            reached: ReachedCodes::default(),
        }
    }

    /// Records failures under this dialect from now on, whatever their shape.
    pub fn reaching(&mut self, dialect: &str) -> &mut Self {
        self.reached.set_dialect(Some(dialect));
        self
    }

    /// Returns the failing codes so far.
    pub fn reached(&self) -> &ReachedCodes {
        &self.reached
    }

    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Sends raw bytes. Never waits, even if the server does not read.
    pub fn send(&mut self, bytes: impl Into<Vec<u8>>) {
        let input = self.input.as_ref().expect("stdin is open");
        // The thread ends only with the process, which the test notices.
        let _ = input.send(bytes.into());
    }

    pub fn send_line(&mut self, line: impl Into<Vec<u8>>) {
        let mut line = line.into();
        line.push(b'\n');
        self.send(line);
    }

    /// Closes stdin after everything that was sent.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Reads the next line of stdout without its newline. Returns `None` at the end of stdout.
    pub fn line(&mut self) -> Option<String> {
        match self.line_within(LIMIT) {
            Ok(line) => line,
            Err(_) => panic!(
                "no line within {LIMIT:?}; stderr: {}",
                self.process.stderr()
            ),
        }
    }

    /// As [`Stdio::line`], with another limit. Returns an error if the time is over.
    pub fn line_within(&mut self, limit: Duration) -> Result<Option<String>, RecvTimeoutError> {
        if let Output::Unread(stdout) = &mut self.output {
            let stdout = stdout.take().expect("reading begins once");
            self.output = Output::Lines(lines(stdout));
        }
        let Output::Lines(lines) = &self.output else {
            return Err(RecvTimeoutError::Disconnected);
        };
        let line = match lines.recv_timeout(limit) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(timeout) => return Err(timeout),
        };
        self.reached.record(&line);
        let line = String::from_utf8(line).expect("stdout is UTF-8");
        let whole = line.strip_suffix('\n').map(String::from);
        Ok(Some(whole.unwrap_or_else(|| {
            panic!("the last line of stdout is cut: {line}")
        })))
    }

    /// Sends one line and reads one.
    pub fn ask(&mut self, line: impl Into<Vec<u8>>) -> String {
        self.send_line(line);
        self.line().expect("stdout is open")
    }

    /// Reads all remaining lines of stdout.
    pub fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.line()).collect()
    }

    /// Closes stdin, reads what is left, and waits for the end.
    pub fn end(&mut self) -> (Vec<String>, Exit) {
        self.close();
        let rest = self.rest();
        (rest, self.exit())
    }

    /// Waits for the end.
    pub fn exit(&mut self) -> Exit {
        let exit = self.process.exit_within(LIMIT);
        exit.expect("the process ends")
    }
}

/// Reads lines on a thread, with their newlines, at most one ahead of the test.
fn lines(stdout: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, lines) = sync_channel(AHEAD);
    thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        loop {
            let mut line = Vec::new();
            match stdout.read_until(b'\n', &mut line) {
                Ok(read) if read > 0 => {}
                _ => return,
            }
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
