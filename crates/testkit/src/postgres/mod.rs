//! PostgreSQL servers for tests: each starts from a copy of a template, and is removed with its
//! test.

// A test that cannot go on has nobody to return an error to.
#![allow(clippy::expect_used, clippy::panic)]

mod cluster_template;
mod error;
mod programs;
mod required;
mod server_account;
mod server_folder;
mod server_launch;
mod server_processes;

pub use error::Error;
pub use required::{required, required_tcp};

use crate::Process;
use server_folder::ServerFolder;
use server_launch::{DURABLE, FORGETFUL, NUMBER, ServerLaunch};
use server_processes::ServerProcesses;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The role that every test connects as; it is a superuser.
pub const USER: &str = "candor";

/// The password of that role, a word that must not appear in any output.
pub const PASSWORD: &str = "pg-canary-5rVx0TqLw8";

/// A database that always exists.
pub const MAINTENANCE: &str = "postgres";

/// The time that a shutdown may take; the postmaster itself gives its children five seconds.
const END: Duration = Duration::from_secs(20);

/// A running server. Dropping it kills its processes and removes its folder, unless the data is
/// kept.
///
/// The server also dies with the process of the test; its folder then stays until the next start of
/// a server. The same holds for a server in a `static`.
#[derive(Debug)]
pub struct Postgres {
    launch: ServerLaunch,
    process: Mutex<Process>,
    made: AtomicU32,
    // After the process, which works in it. `None` if the data is kept.
    folder: Option<ServerFolder>,
}

impl Postgres {
    /// Starts a server that listens on a socket in its folder, and on no port.
    pub fn start() -> Result<Postgres, Error> {
        Postgres::start_on(false)
    }

    /// Starts a server that listens on a free port of 127.0.0.1, for tests with a proxy.
    pub fn start_tcp() -> Result<Postgres, Error> {
        Postgres::start_on(true)
    }

    fn start_on(tcp: bool) -> Result<Postgres, Error> {
        let programs = programs::folder().ok_or(Error::Missing)?;
        let account = server_account::ServerAccount::of_server();
        let folder = ServerFolder::new(&programs, account)?;
        let folders = (folder.path(), folder.data());
        let mut launch = ServerLaunch::new(programs, account, folders, FORGETFUL);
        let process = if tcp {
            launch.on_free_port()?
        } else {
            launch.run()?
        };
        Ok(Postgres {
            launch,
            process: Mutex::new(process),
            made: AtomicU32::new(0),
            folder: Some(folder),
        })
    }

    /// Starts a server on the data below `folder`, or on a new cluster. Its data is durable and
    /// kept. The server's account must be able to enter the folder, whose path must be short enough
    /// for a socket.
    pub fn start_kept(folder: &Path) -> Result<Postgres, Error> {
        let programs = programs::folder().ok_or(Error::Missing)?;
        let account = server_account::ServerAccount::of_server();
        let data = server_folder::kept_cluster(folder, &programs, account)?;
        let launch = ServerLaunch::new(programs, account, (folder, data), DURABLE);
        let process = launch.run()?;
        Ok(Postgres {
            launch,
            process: Mutex::new(process),
            made: AtomicU32::new(0),
            folder: None,
        })
    }

    /// Returns the URL of a database, with the password.
    pub fn url(&self, database: &str) -> String {
        match self.address() {
            Some(address) => self.url_at(address, database),
            None => url(&encoded(&self.folder().to_string_lossy()), NUMBER, database),
        }
    }

    /// As [`Postgres::url`], through another address, such as that of a proxy.
    pub fn url_at(&self, address: SocketAddr, database: &str) -> String {
        url(&address.ip().to_string(), address.port(), database)
    }

    /// Returns the address, or `None` if it listens on its socket only.
    pub fn address(&self) -> Option<SocketAddr> {
        let port = self.launch.port();
        port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }

    /// Creates an empty database and returns its URL.
    pub fn database(&self) -> String {
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("test_{number}");
        self.create_database(&name);
        self.url(&name)
    }

    /// Creates an empty database with this name, which must be new.
    pub fn create_database(&self, name: &str) {
        let quoted = name.replace('"', "\"\"");
        let statement = format!("CREATE DATABASE \"{quoted}\"");
        let done = execute(&self.url(MAINTENANCE), statement);
        done.unwrap_or_else(|error| panic!("the database {name} is not made: {error}"));
    }

    /// Returns the folder with the server's socket and data.
    pub fn folder(&self) -> &Path {
        self.launch.sockets()
    }

    /// Returns the processes of the server including the postmaster, or none if it has ended.
    pub fn processes(&self) -> Vec<u32> {
        let processes = running(&mut self.process());
        processes.map(ServerProcesses::all).unwrap_or_default()
    }

    /// Returns the log since the server was started.
    pub fn log(&self) -> String {
        self.process().stderr()
    }

    /// Stops every process of the server with SIGSTOP: connections stay open, nothing answers.
    pub fn pause(&self) {
        let processes = running(&mut self.process());
        processes.expect("the server runs").pause();
    }

    /// Continues a paused server.
    pub fn resume(&self) {
        let processes = running(&mut self.process());
        processes.expect("the server runs").resume();
    }

    /// Shuts the server down: transactions are rolled back, clients are notified.
    pub fn stop(&self) {
        let mut process = self.process();
        if let Some(processes) = running(&mut process) {
            processes.end();
            let ended = process.exit_within(END);
            assert!(
                ended.is_some(),
                "no end within {END:?}: {}",
                process.stderr()
            );
        }
    }

    /// Ends the server as a crash would: connections break without a message.
    pub fn kill(&self) {
        server_launch::kill(&mut self.process());
    }

    /// Starts the server again with the same data and address. A running server is shut down first.
    pub fn restart(&self) -> Result<(), Error> {
        self.stop();
        *self.process() = self.launch.run()?;
        Ok(())
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        // A panic does not change the process.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.folder.is_none() {
            let mut process = self.process();
            if let Some(processes) = running(&mut process) {
                processes.end();
                process.exit_within(END);
            }
        }
        self.kill();
    }
}

/// Returns the processes to signal, or `None` if the server has ended: their ids may be reused.
fn running(process: &mut Process) -> Option<ServerProcesses> {
    let runs = process.exit_within(Duration::ZERO).is_none();
    runs.then(|| ServerProcesses::of(process.pid()))
}

/// The port is always given, so that the client's environment does not decide it.
fn url(host: &str, port: u16, database: &str) -> String {
    let database = encoded(database);
    format!("postgres://{USER}:{PASSWORD}@{host}:{port}/{database}")
}

/// Runs one statement on a thread of its own, since both sync and async tests call it.
fn execute(url: &str, statement: String) -> Result<(), sqlx::Error> {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime starts").block_on(async {
            let mut connection = PgConnection::connect(url).await?;
            sqlx::raw_sql(AssertSqlSafe(statement))
                .execute(&mut connection)
                .await?;
            connection.close().await
        })
    };
    thread::scope(|scope| scope.spawn(run).join()).expect("the thread ends")
}

/// Percent-encodes text for any part of a URL.
fn encoded(text: &str) -> String {
    use std::fmt::Write;
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string never fails.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_of_urls_are_encoded() {
        assert_eq!(encoded("/tmp/a b/ü"), "%2Ftmp%2Fa%20b%2F%C3%BC");
        assert_eq!(encoded("test_1-x.~"), "test_1-x.~");
    }
}
