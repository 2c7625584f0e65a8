//! Starting the postmaster: its settings, who it runs as, and when it is ready.

use super::server_account::ServerAccount;
use super::{Error, programs, running};
use crate::Process;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a start may take.
const START: Duration = Duration::from_secs(20);

/// How long a killed postmaster may take; it gives its children five seconds.
const KILL: Duration = Duration::from_secs(10);

/// What the server logs when clients may come.
const READY: &str = "database system is ready to accept connections";

/// What it logs when somebody else has taken its port.
const TAKEN: &str = "could not create any TCP/IP sockets";

/// How many ports are tried.
const PORTS: u32 = 5;

/// How much of a log an error shows, in lines.
const SHOWN: usize = 20;

/// The number in a socket's name where there is no port.
pub(super) const NUMBER: u16 = 5432;

/// What the postmaster gets when its test is killed: it ends at once, its children before it.
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

/// Where nothing outlives a test, what makes data survive a loss of power is off.
pub(super) const FORGETFUL: &[&str] = &[
    "fsync=off",
    "full_page_writes=off",
    "max_wal_size=256MB",
    "shared_buffers=32MB",
];

/// What is kept survives a loss of power.
pub(super) const DURABLE: &[&str] = &[
    "fsync=on",
    "full_page_writes=on",
    "max_wal_size=1GB",
    "shared_buffers=128MB",
];

/// Everything that a start needs, and so every start after it.
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

    /// Starts the server on a port that nobody uses, and keeps that port.
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

    /// Starts the server and waits until clients may come.
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
        let mut command = match dies_with_us() {
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
        self.account.run(&mut command);
        command
    }
}

/// Kills a server and waits for it, so that nothing of it is left when this returns.
pub(super) fn kill(process: &mut Process) {
    let Some(family) = running(process) else {
        return;
    };
    family.kill();
    if process.exit_within(KILL).is_none() {
        family.destroy();
        process.exit_within(KILL);
    }
}

/// The program that has a process die with its parent, where there is one that can.
fn dies_with_us() -> Option<PathBuf> {
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
    fn the_end_of_a_log_is_its_last_lines() {
        let log: String = (1..=30).map(|number| format!("{number}\n")).collect();
        let end = end_of(&log);
        assert!(end.starts_with("11\n") && end.ends_with("\n30"), "{end}");
        assert_eq!(end_of("one\ntwo\n"), "one\ntwo");
    }
}
