//! A process of a test: started, watched, signalled by its id, and killed with the test.
//!
//! Nothing here sleeps or polls: threads wait for events, and callers wait for the threads, up to a
//! limit.

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

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
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

/// Exit and complete output of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOutput {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// A running process with pipes to its stdin and stdout, and everything that it has written to
/// stderr.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    exit: Receiver<ExitStatus>,
    ended: Option<Exit>,
    captured: Arc<StderrCapture>,
}

/// The stderr of a process so far.
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
    fn lock(&self) -> MutexGuard<'_, StderrText> {
        // A line is pushed as a whole.
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_from(&self, stderr: impl Read) {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        while stderr
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read > 0)
        {
            let text = String::from_utf8_lossy(&line).into_owned();
            self.lock().lines.push(text);
            self.more.notify_all();
            line.clear();
        }
        self.lock().ended = true;
        self.more.notify_all();
    }

    /// Waits until `found` returns something.
    fn wait<T>(&self, limit: Duration, found: impl Fn(&StderrText) -> Option<T>) -> Option<T> {
        let until = Instant::now() + limit;
        let mut text = self.lock();
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
        let (mut streams, exit) = spawn_watched(command).expect("the program starts");
        let stdin = streams.stdin.take().expect("stdin is piped");
        let stdout = streams.stdout.take().expect("stdout is piped");
        let stderr = streams.stderr.take().expect("stderr is piped");
        let captured = Arc::new(StderrCapture::default());
        let listener = Arc::clone(&captured);
        thread::spawn(move || listener.read_from(stderr));
        (
            Process {
                pid: streams.pid,
                exit,
                ended: None,
                captured,
            },
            stdin,
            stdout,
        )
    }

    /// Returns a command with arguments, without the variables that would change its log.
    pub fn command(program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_remove("CANDOR_LOG")
            .env_remove("RUST_LOG");
        command
    }

    /// Runs `command` with an empty stdin. It must end within `limit`.
    pub fn run(command: Command, limit: Duration) -> ProcessOutput {
        let shown = format!("{command:?}");
        let (mut process, stdin, mut stdout) = Process::start(command);
        drop(stdin);
        let (sender, whole) = sync_channel(1);
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // Bytes that were read before an error count too.
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

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal, named as for `kill`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -{name} {}", self.pid)])
            .stderr(Stdio::null())
            .status();
        assert!(sent.is_ok_and(|sent| sent.success()), "{name} is sent");
    }

    /// Waits for the end of the process, at most for `limit`.
    pub fn exit_within(&mut self, limit: Duration) -> Option<Exit> {
        if self.ended.is_none() {
            self.ended = self.exit.recv_timeout(limit).ok().map(Exit::from);
        }
        self.ended
    }

    /// Waits for the first line on stderr that contains `word`.
    pub fn stderr_line(&self, word: &str, limit: Duration) -> Option<String> {
        self.captured.wait(limit, |text| {
            let mut lines = text.lines.iter();
            lines.find(|line| line.contains(word)).cloned()
        })
    }

    /// Returns everything on stderr so far.
    pub fn stderr(&self) -> String {
        self.captured.lock().lines.concat()
    }

    /// Returns everything on stderr, once it is closed.
    pub fn whole_stderr(&self, limit: Duration) -> String {
        let all = |text: &StderrText| text.ended.then(|| text.lines.concat());
        let whole = self.captured.wait(limit, all);
        whole.unwrap_or_else(|| panic!("stderr is still open: {}", self.stderr()))
    }

    /// Returns the peak of the process's memory in bytes, without the mapped pages of the program
    /// itself: those depend on how the program was built, not on what it was sent.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid))
            .expect("the process is alive");
        let bytes = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            kib.expect("the kernel says how much memory") * 1024
        };
        bytes("VmHWM:").saturating_sub(bytes("RssFile:"))
    }
}

/// The id of a child, and our ends of its streams.
struct Streams {
    pid: u32,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

/// Starts a process on the thread that waits for its end: a command may ask to die with its parent,
/// which is a thread to the kernel.
fn spawn_watched(mut command: Command) -> io::Result<(Streams, Receiver<ExitStatus>)> {
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
        // The receiver may be gone.
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
            // It may have ended already.
            let _ = Command::new("sh")
                .args(["-c", &format!("kill -KILL {}", self.pid)])
                .stderr(Stdio::null())
                .status();
        }
    }
}
