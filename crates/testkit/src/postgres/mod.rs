//! A real PostgreSQL of a test's own: started from a copy of a made cluster, gone with its test.

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

/// The role that every test connects as; it may do anything.
pub const USER: &str = "candor";

/// That role's password: a word that no output of ours may ever hold.
pub const PASSWORD: &str = "pg-canary-5rVx0TqLw8";

/// A database that is always there.
pub const MAINTENANCE: &str = "postgres";

/// How long an end may take; the postmaster itself gives its children five seconds.
const END: Duration = Duration::from_secs(20);

/// A running server. Dropping it kills its processes and removes its folder, unless that is kept.
///
/// The server dies with the process of the test, too; then its folder stays until the next start of
/// a server. The same becomes of one that is kept in a `static`.
#[derive(Debug)]
pub struct Postgres {
    launch: ServerLaunch,
    process: Mutex<Process>,
    made: AtomicU32,
    // After the process, which works in it. Nothing where the data is kept.
    folder: Option<ServerFolder>,
}

impl Postgres {
    /// Starts a server that listens on a socket in its own folder, and on no port.
    pub fn start() -> Result<Postgres, Error> {
        Postgres::started(false)
    }

    /// Starts a server that listens on a free port of 127.0.0.1, for a proxy in between.
    pub fn start_tcp() -> Result<Postgres, Error> {
        Postgres::started(true)
    }

    fn started(tcp: bool) -> Result<Postgres, Error> {
        let programs = programs::folder().ok_or(Error::Missing)?;
        let account = server_account::ServerAccount::of_server();
        let folder = ServerFolder::new(&programs, account)?;
        let places = (folder.path(), folder.data());
        let mut launch = ServerLaunch::new(programs, account, places, FORGETFUL);
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

    /// Starts a server on what an earlier one left below `folder`, or on a new cluster. Its data is
    /// safe from a loss of power, and kept; it is ended in order. The account of the server has to
    /// get through to the folder, whose path has to leave room for the name of a socket.
    pub fn kept(folder: &Path) -> Result<Postgres, Error> {
        let programs = programs::folder().ok_or(Error::Missing)?;
        let account = server_account::ServerAccount::of_server();
        let data = server_folder::kept(folder, &programs, account)?;
        let launch = ServerLaunch::new(programs, account, (folder, data), DURABLE);
        let process = launch.run()?;
        Ok(Postgres {
            launch,
            process: Mutex::new(process),
            made: AtomicU32::new(0),
            folder: None,
        })
    }

    /// The URL of a database, password included.
    pub fn url(&self, database: &str) -> String {
        match self.address() {
            Some(address) => self.url_at(address, database),
            None => url(&encoded(&self.folder().to_string_lossy()), NUMBER, database),
        }
    }

    /// As [`Postgres::url`], by way of another address: that of a proxy.
    pub fn url_at(&self, address: SocketAddr, database: &str) -> String {
        url(&address.ip().to_string(), address.port(), database)
    }

    /// Where it listens, unless on its socket alone.
    pub fn address(&self) -> Option<SocketAddr> {
        let port = self.launch.port();
        port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }

    /// Makes a new empty database, and gives its URL.
    pub fn database(&self) -> String {
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("test_{number}");
        self.create_database(&name);
        self.url(&name)
    }

    /// Makes an empty database of this name, which must be new.
    pub fn create_database(&self, name: &str) {
        let quoted = name.replace('"', "\"\"");
        let statement = format!("CREATE DATABASE \"{quoted}\"");
        let done = execute(&self.url(MAINTENANCE), statement);
        done.unwrap_or_else(|error| panic!("the database {name} is not made: {error}"));
    }

    /// The folder of the server, its socket and its data in it.
    pub fn folder(&self) -> &Path {
        self.launch.sockets()
    }

    /// The processes of the server, the postmaster among them; none when it has ended.
    pub fn processes(&self) -> Vec<u32> {
        let family = running(&mut self.process());
        family.map(ServerProcesses::all).unwrap_or_default()
    }

    /// What the server has logged since it was started.
    pub fn log(&self) -> String {
        self.process().stderr()
    }

    /// Stops every process of the server where it stands: connections stay open, nothing answers.
    pub fn pause(&self) {
        let family = running(&mut self.process());
        family.expect("the server runs").pause();
    }

    /// Lets a paused server go on.
    pub fn resume(&self) {
        let family = running(&mut self.process());
        family.expect("the server runs").resume();
    }

    /// Ends the server in order: open transactions are rolled back, connections are told.
    pub fn stop(&self) {
        let mut process = self.process();
        if let Some(family) = running(&mut process) {
            family.end();
            let ended = process.exit_within(END);
            assert!(
                ended.is_some(),
                "no end within {END:?}: {}",
                process.stderr()
            );
        }
    }

    /// Ends the server as a crash would: connections break without a word.
    pub fn kill(&self) {
        server_launch::kill(&mut self.process());
    }

    /// Starts the server again, with its data and at its address; one that runs is ended before.
    pub fn restart(&self) -> Result<(), Error> {
        self.stop();
        *self.process() = self.launch.run()?;
        Ok(())
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        // Whatever a panic interrupted, the process is as it is.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.folder.is_none() {
            let mut process = self.process();
            if let Some(family) = running(&mut process) {
                family.end();
                process.exit_within(END);
            }
        }
        self.kill();
    }
}

/// Whom to signal, unless all of it has ended: then the numbers may be others'.
fn running(process: &mut Process) -> Option<ServerProcesses> {
    let runs = process.exit_within(Duration::ZERO).is_none();
    runs.then(|| ServerProcesses::of(process.pid()))
}

/// With the port always, so that the environment of a client does not decide it.
fn url(host: &str, port: u16, database: &str) -> String {
    let database = encoded(database);
    format!("postgres://{USER}:{PASSWORD}@{host}:{port}/{database}")
}

/// Runs one statement on a thread of its own: tests are asynchronous or not, and both may call.
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

/// Percent-encoded for any part of a URL.
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
    fn what_a_url_would_read_is_encoded() {
        assert_eq!(encoded("/tmp/a b/ü"), "%2Ftmp%2Fa%20b%2F%C3%BC");
        assert_eq!(encoded("test_1-x.~"), "test_1-x.~");
    }
}
