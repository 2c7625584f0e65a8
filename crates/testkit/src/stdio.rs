//! A server on stdin and stdout, driven byte by byte.

// A test that cannot go on has nobody to return an error to.
#![allow(clippy::expect_used, clippy::panic)]

use crate::{Exit, Process, ReachedCodes};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// How long an answer may take before the test fails; none of them should.
const LIMIT: Duration = Duration::from_secs(30);

/// How many lines are read ahead of the test.
const AHEAD: usize = 1;

/// One server on stdio. Reading begins with the first line that a test asks for, so that a client
/// that does not read can be played.
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

    /// Starts a command that a test has prepared: with limits, as another user, elsewhere.
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
                    // The process has ended; the test sees that by itself.
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

    /// From here on failures belong to this dialect, whatever they look like.
    pub fn reaching(&mut self, dialect: &str) -> &mut Self {
        self.reached.tell(Some(dialect));
        self
    }

    /// The failing codes seen so far.
    pub fn reached(&self) -> &ReachedCodes {
        &self.reached
    }

    /// The process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Sends bytes as they are; never waits, even for a server that does not read.
    pub fn send(&mut self, bytes: impl Into<Vec<u8>>) {
        let input = self.input.as_ref().expect("stdin is open");
        // The thread behind ends only with the process; the test sees that by itself.
        let _ = input.send(bytes.into());
    }

    /// Sends one line.
    pub fn send_line(&mut self, line: impl Into<Vec<u8>>) {
        let mut line = line.into();
        line.push(b'\n');
        self.send(line);
    }

    /// Ends stdin after everything that was sent.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// The next line of stdout without its newline; nothing at the end of stdout.
    pub fn line(&mut self) -> Option<String> {
        match self.line_within(LIMIT) {
            Ok(line) => line,
            Err(_) => panic!(
                "no line within {LIMIT:?}; stderr: {}",
                self.process.stderr()
            ),
        }
    }

    /// As [`Stdio::line`], with another limit; fails when the time is over.
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
        self.reached.note(&line);
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

    /// Every line that is left, up to the end of stdout.
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

/// Reads lines on a thread of its own, newlines included, hardly ahead of the test.
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
