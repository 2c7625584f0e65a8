//! Starts the postmaster with its settings and account, and waits until it is ready.

use super::server_account::ServerAccount;
use super::{Error, programs, running};
use crate::Process;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const START: Duration = Duration::from_secs(20);

/// The time that a killed postmaster may take; it gives its children five seconds.
const KILL: Duration = Duration::from_secs(10);

/// The log line of a server that accepts connections.
const READY: &str = "database system is ready to accept connections";

/// The log line of a server whose port is taken.
const TAKEN: &str = "could not create any TCP/IP sockets";

const PORTS: u32 = 5;

/// The lines of a log that an error contains.
const SHOWN: usize = 20;

/// The number in the socket's name if there is no port.
pub(super) const NUMBER: u16 = 5432;

/// The signal that the postmaster gets when its test is killed: it ends at once, its children
/// before it.
const DEATH: &str = "QUIT";

const SETTINGS: [&str; 10] = [
    "dynamic_shared_memory_type=mmap",
    "lc_messages=C",
    "log_line_prefix=",
    "log_timezone=UTC",
    "logging_collector=off",
    "max_connections=60",
    "max_wal_senders=0",
    "synchronous_commit=on",
    "timezone=UTC",
    "wal_level=minimal",
];

/// Settings for data that does not outlive the test.
pub(super) const FORGETFUL: &[&str] = &[
    "fsync=off",
    "full_page_writes=off",
    "max_wal_size=256MB",
    "shared_buffers=32MB",
];

/// Settings for data that survives a power failure.
pub(super) const DURABLE: &[&str] = &[
    "fsync=on",
    "full_page_writes=on",
    "max_wal_size=1GB",
    "shared_buffers=128MB",
];

/// Everything that is needed to start the server, and to start it again.
#[derive(Debug)]
pub(super) struct ServerLaunch {
    programs: PathBuf,
    account: ServerAccount,
    sockets: PathBuf,
    data: PathBuf,
    settings: &'static [&'static str],
    port: Option<u16>,
}

impl ServerLaunch {
    pub(super) fn new(
        programs: PathBuf,
        account: ServerAccount,
        (sockets, data): (&Path, PathBuf),
        settings: &'static [&'static str],
    ) -> ServerLaunch {
        ServerLaunch {
            programs,
            account,
            sockets: sockets.to_owned(),
            data,
            settings,
            port: None,
        }
    }

    pub(super) fn sockets(&self) -> &Path {
        &self.sockets
    }

    pub(super) fn port(&self) -> Option<u16> {
        self.port
    }

    /// Starts the server on a free port, which it keeps.
    pub(super) fn on_free_port(&mut self) -> Result<Process, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            self.port = Some(free_port()?);
            match self.run() {
                Err(Error::NotStarted(log)) if log.contains(TAKEN) && tries < PORTS => {}
                other => return other,
            }
        }
    }

    /// Starts the server and waits until it accepts connections.
    pub(super) fn run(&self) -> Result<Process, Error> {
        let (mut process, _, _) = Process::start(self.command());
        if process.stderr_line(READY, START).is_some() {
            return Ok(process);
        }
        kill(&mut process);
        Err(Error::NotStarted(end_of(&process.stderr())))
    }

    fn command(&self) -> Command {
        let postgres = self.programs.join("postgres");
        let mut command = match death_signal_program() {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command.args(["--pdeathsig", DEATH, "--"]).arg(postgres);
                command
            }
            None => Command::new(postgres),
        };
        command
            .arg("-D")
            .arg(&self.data)
            .arg("-k")
            .arg(&self.sockets);
        command
            .arg("-p")
            .arg(self.port.unwrap_or(NUMBER).to_string());
        let address = self.port.map(|_| Ipv4Addr::LOCALHOST.to_string());
        command.arg("-h").arg(address.unwrap_or_default());
        for setting in SETTINGS.iter().chain(self.settings) {
            command.args(["-c", setting]);
        }
        command.current_dir(&self.sockets).env_clear();
        self.account.apply_to(&mut command);
        command
    }
}

/// Kills a server and waits until all of its processes are gone.
pub(super) fn kill(process: &mut Process) {
    let Some(processes) = running(process) else {
        return;
    };
    processes.kill();
    if process.exit_within(KILL).is_none() {
        processes.destroy();
        process.exit_within(KILL);
    }
}

/// Returns the path of `setpriv` if it can make a process die with its parent.
fn death_signal_program() -> Option<PathBuf> {
    let places = programs::path().into_iter();
    places.map(|folder| folder.join("setpriv")).find(|setpriv| {
        Command::new(setpriv)
            .args(["--pdeathsig", DEATH, "--", "true"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    })
}

fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|error| Error::io("no port is free".into(), error))
}

fn end_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let from = lines.len().saturating_sub(SHOWN);
    lines.get(from..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_log_is_its_last_lines() {
        let log: String = (1..=30).map(|number| format!("{number}\n")).collect();
        let end = end_of(&log);
        assert!(end.starts_with("11\n") && end.ends_with("\n30"), "{end}");
        assert_eq!(end_of("one\ntwo\n"), "one\ntwo");
    }
}
