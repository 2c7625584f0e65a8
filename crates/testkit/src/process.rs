//! One process of a test: started, watched, signalled by its own id, and gone when the test is.
//!
//! Nothing here sleeps and nothing polls: threads wait for what happens, and whoever asks waits for
//! them, for so long and no longer.

// A test that cannot go on has nobody to return an error to.
#![allow(clippy::expect_used, clippy::panic)]

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        }
    }
}

/// A process that has ended, with everything it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOutput {
    /// How it ended.
    pub exit: Exit,
    /// Everything on stdout.
    pub stdout: Vec<u8>,
    /// Everything on stderr.
    pub stderr: String,
}

/// A running process with both ends of its stdin and stdout, and everything it says on stderr.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    exit: Receiver<ExitStatus>,
    ended: Option<Exit>,
    said: Arc<StderrCapture>,
}

/// What a process has said on stderr so far.
#[derive(Debug, Default)]
struct StderrCapture {
    text: Mutex<StderrText>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct StderrText {
    lines: Vec<String>,
    ended: bool,
}

impl StderrCapture {
    fn locked(&self) -> MutexGuard<'_, StderrText> {
        // A line is pushed whole or not at all.
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, stderr: impl Read) {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        while stderr
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read > 0)
        {
            let text = String::from_utf8_lossy(&line).into_owned();
            self.locked().lines.push(text);
            self.more.notify_all();
            line.clear();
        }
        self.locked().ended = true;
        self.more.notify_all();
    }

    /// Waits until `found` finds something in what was said.
    fn wait<T>(&self, limit: Duration, found: impl Fn(&StderrText) -> Option<T>) -> Option<T> {
        let until = Instant::now() + limit;
        let mut text = self.locked();
        loop {
            if let Some(found) = found(&text) {
                return Some(found);
            }
            let left = until.saturating_duration_since(Instant::now());
            if text.ended || left.is_zero() {
                return None;
            }
            let waited = self.more.wait_timeout(text, left);
            text = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Process {
    /// Starts `command` with all three streams piped.
    pub fn start(mut command: Command) -> (Self, ChildStdin, ChildStdout) {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (mut streams, exit) = watched(command).expect("the program starts");
        let stdin = streams.stdin.take().expect("stdin is piped");
        let stdout = streams.stdout.take().expect("stdout is piped");
        let stderr = streams.stderr.take().expect("stderr is piped");
        let said = Arc::new(StderrCapture::default());
        let listener = Arc::clone(&said);
        thread::spawn(move || listener.listen(stderr));
        (
            Process {
                pid: streams.pid,
                exit,
                ended: None,
                said,
            },
            stdin,
            stdout,
        )
    }

    /// Starts a program with arguments, without what the environment of the test says to it.
    pub fn command(program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_remove("CANDOR_LOG")
            .env_remove("RUST_LOG");
        command
    }

    /// Runs `command` with nothing on stdin to its end, which must come within `limit`.
    pub fn run(command: Command, limit: Duration) -> ProcessOutput {
        let shown = format!("{command:?}");
        let (mut process, stdin, mut stdout) = Process::start(command);
        drop(stdin);
        let (sender, whole) = sync_channel(1);
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // What was read before an error is still what the process said.
            let _ = stdout.read_to_end(&mut bytes);
            let _ = sender.send(bytes);
        });
        let stdout = whole.recv_timeout(limit);
        let stdout = stdout.unwrap_or_else(|_| panic!("no end within {limit:?}: {shown}"));
        let exit = process.exit_within(limit);
        let exit = exit.unwrap_or_else(|| panic!("no end within {limit:?}: {shown}"));
        let stderr = process.whole_stderr(limit);
        ProcessOutput {
            exit,
            stdout,
            stderr,
        }
    }

    /// The process's id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal, by the name that `kill` knows.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -{name} {}", self.pid)])
            .stderr(Stdio::null())
            .status();
        assert!(sent.is_ok_and(|sent| sent.success()), "{name} is sent");
    }

    /// How the process ended, if it does so within `limit`.
    pub fn exit_within(&mut self, limit: Duration) -> Option<Exit> {
        if self.ended.is_none() {
            self.ended = self.exit.recv_timeout(limit).ok().map(Exit::from);
        }
        self.ended
    }

    /// Waits for the first line on stderr with `word` in it.
    pub fn stderr_line(&self, word: &str, limit: Duration) -> Option<String> {
        self.said.wait(limit, |text| {
            let mut lines = text.lines.iter();
            lines.find(|line| line.contains(word)).cloned()
        })
    }

    /// Everything on stderr so far.
    pub fn stderr(&self) -> String {
        self.said.locked().lines.concat()
    }

    /// Everything on stderr, once it is closed.
    pub fn whole_stderr(&self, limit: Duration) -> String {
        let all = |text: &StderrText| text.ended.then(|| text.lines.concat());
        let whole = self.said.wait(limit, all);
        whole.unwrap_or_else(|| panic!("stderr is still open: {}", self.stderr()))
    }

    /// The most memory that the process has ever held, in bytes.
    pub fn peak_memory(&self) -> u64 {
        self.memory("VmHWM:")
    }

    /// The memory that the process holds, in bytes.
    pub fn held_memory(&self) -> u64 {
        self.memory("VmRSS:")
    }

    fn memory(&self, label: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid))
            .expect("the process is alive");
        let line = status.lines().find(|line| line.starts_with(label));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kib.expect("the kernel says how much memory") * 1024
    }
}

/// A child's id and our ends of its streams.
struct Streams {
    pid: u32,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

/// Starts a process on the thread that waits for its end: a command may ask to die with its parent,
/// and to the kernel that is the thread which started it.
fn watched(mut command: Command) -> io::Result<(Streams, Receiver<ExitStatus>)> {
    let (starting, started) = sync_channel(1);
    let (sender, exit) = sync_channel(1);
    thread::spawn(move || {
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                let _ = starting.send(Err(error));
                return;
            }
        };
        // Nobody may be left who wants to know.
        let _ = starting.send(Ok(Streams {
            pid: child.id(),
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
        }));
        let status = child.wait().expect("a child can be waited for");
        let _ = sender.send(status);
    });
    let streams = started.recv().expect("the thread says how it went")?;
    Ok((streams, exit))
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.exit_within(Duration::ZERO).is_none() {
            // It may end in this very moment: then there is nothing to kill.
            let _ = Command::new("sh")
                .args(["-c", &format!("kill -KILL {}", self.pid)])
                .stderr(Stdio::null())
                .status();
        }
    }
}
