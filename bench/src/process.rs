//! A server as a process: started, measured, ended.

use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The length of one tick in `/proc`; the same on every supported machine.
const TICK: Duration = Duration::from_millis(10);

/// A program that can be started and measured.
#[derive(Debug, Clone)]
pub(crate) struct BenchProgram {
    /// Its name in the tables.
    pub(crate) name: &'static str,
    pub(crate) file: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// True if it only echoes.
    pub(crate) bare: bool,
}

impl BenchProgram {
    /// Starts the program with pipes for stdin and stdout.
    pub(crate) fn start(&self) -> io::Result<ServerProcess> {
        self.spawn(Stdio::piped(), Stdio::piped(), Stdio::inherit())
    }

    /// Starts the program with pipes for stdin and stdout, without its messages on stderr.
    pub(crate) fn start_silently(&self) -> io::Result<ServerProcess> {
        self.spawn(Stdio::piped(), Stdio::piped(), Stdio::null())
    }

    /// Starts the program and waits until it listens. Returns it with its address.
    pub(crate) fn listen(&self) -> io::Result<(ServerProcess, String)> {
        let mut process = self.spawn(Stdio::null(), Stdio::null(), Stdio::piped())?;
        let talk = process.child.stderr.take().ok_or(io::ErrorKind::Other)?;
        let mut talk = BufReader::new(talk);
        let mut line = String::new();
        talk.read_line(&mut line)?;
        // The rest of its output is read, because otherwise the program does less work, or stops.
        std::thread::spawn(move || io::copy(&mut talk, &mut io::sink()));
        let address = line
            .split_once("http://")
            .and_then(|(_, rest)| rest.split_once('/'));
        match address {
            Some((address, _)) => Ok((process, address.to_owned())),
            None => Err(io::Error::other(format!(
                "{} did not print its address: {line}",
                self.name
            ))),
        }
    }

    fn spawn(&self, input: Stdio, output: Stdio, errors: Stdio) -> io::Result<ServerProcess> {
        let child = Command::new(&self.file)
            .args(&self.arguments)
            .stdin(input)
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(|error| cannot_start(&self.file, &error))?;
        Ok(ServerProcess { child })
    }

    /// Returns the output of `--version`.
    pub(crate) fn version(&self) -> io::Result<String> {
        let output = Command::new(&self.file)
            .args([OsString::from("--version")])
            .output()
            .map_err(|error| cannot_start(&self.file, &error))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

fn cannot_start(file: &Path, error: &io::Error) -> io::Error {
    let file = file.display();
    io::Error::other(format!(
        "cannot start {file}: {error}; `cargo xtask bench` builds everything first"
    ))
}

/// The memory of a process.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct MemoryUse {
    /// Now, in megabytes.
    pub(crate) resident_mb: f64,
    /// At most, in megabytes.
    pub(crate) peak_mb: f64,
}

/// A running program; dropping this value ends it.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
}

impl ServerProcess {
    /// Returns its stdin and stdout; they can be taken once.
    pub(crate) fn pipes(&mut self) -> io::Result<(ChildStdin, ChildStdout)> {
        let pipes = self.child.stdin.take().zip(self.child.stdout.take());
        pipes.ok_or_else(|| io::Error::other("the pipes are taken already"))
    }

    fn look(&self, file: &str) -> io::Result<String> {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id()))
    }

    pub(crate) fn memory(&self) -> io::Result<MemoryUse> {
        let status = self.look("status")?;
        Ok(MemoryUse {
            resident_mb: megabytes(&status, "VmRSS:"),
            peak_mb: megabytes(&status, "VmHWM:"),
        })
    }

    /// Returns true if it has succeeded, or `None` if it is running.
    pub(crate) fn ended(&mut self) -> io::Result<Option<bool>> {
        let status = self.child.try_wait()?;
        Ok(status.map(|status| status.success()))
    }

    /// Waits until it has ended. A failure is an error.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        match self.child.wait()? {
            status if status.success() => Ok(()),
            status => Err(io::Error::other(format!("a server ended with {status}"))),
        }
    }

    /// Returns the processor time that it has used so far.
    pub(crate) fn processor_time(&self) -> io::Result<Duration> {
        Ok(TICK * ticks(&self.look("stat")?))
    }
}

/// Reads one figure of `/proc/PID/status`.
fn megabytes(status: &str, name: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    let kibibytes: f64 = kibibytes.and_then(|n| n.parse().ok()).unwrap_or(f64::NAN);
    kibibytes * 1024.0 / 1e6
}

/// Reads user and system time of `/proc/PID/stat`; the name in parentheses may contain anything.
fn ticks(stat: &str) -> u32 {
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let times = fields.split_whitespace().skip(11).take(2);
    times.filter_map(|time| time.parse::<u32>().ok()).sum()
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a program to its end. Returns how long that took, and its output.
pub(crate) fn timed(
    file: &Path,
    arguments: &[impl AsRef<OsStr>],
) -> io::Result<(Duration, Vec<u8>)> {
    timed_command(Command::new(file).args(arguments))
}

/// Runs a command to its end. Returns how long that took, and its output.
pub(crate) fn timed_command(command: &mut Command) -> io::Result<(Duration, Vec<u8>)> {
    let started = Instant::now();
    let output = command.output()?;
    let took = started.elapsed();
    match output.status.success() {
        true => Ok((took, output.stdout)),
        false => {
            let first = command.get_args().next().unwrap_or_default();
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            let message = format!("`{}` failed: {said}", first.to_string_lossy());
            Err(io::Error::other(message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_files_are_parsed() {
        assert_eq!(
            megabytes("VmHWM:\t  2000 kB\nVmRSS:\t 1000 kB\n", "VmRSS:"),
            1.024
        );
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 95 0 0 0 31 11 0 0 20 0 1 0 8";
        assert_eq!(ticks(stat), 42);
    }
}
