//! A store of a test's own, with a small catalogue, and servers on it.

use crate::orders::shelf::Shelf;
use candor_testkit::postgres::{self, Postgres};
use candor_testkit::{Exit, Http, Process, ProcessOutput, Stdio};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The program.
pub(crate) const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

/// How long anything may take before a test fails.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Under this name the codes of the server itself are noted: the playground can raise them all.
pub(crate) const SERVED: &str = "orders-serve";

/// No limits, for tests that make many calls.
pub(crate) const FREE: [&str; 4] = ["--calls-per-minute", "0", "--tool-calls-per-minute", "0"];

/// A folder with a store, or with the address of one.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    database: String,
    postgres: Option<Postgres>,
}

impl Place {
    /// With no store yet; its file would be `orders.db`.
    pub(crate) fn empty() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("orders.db");
        Place {
            database: file.to_str().unwrap().to_owned(),
            folder,
            postgres: None,
        }
    }

    /// A SQLite file with a small catalogue.
    pub(crate) fn file() -> Place {
        Place::empty().filled()
    }

    /// A PostgreSQL database with a small catalogue, where there is PostgreSQL.
    pub(crate) fn postgres() -> Option<Place> {
        postgres::required().map(|server| Place::on(server).filled())
    }

    /// A database of this server, without tables.
    pub(crate) fn on(server: Postgres) -> Place {
        Place {
            database: server.database(),
            folder: tempfile::tempdir().unwrap(),
            postgres: Some(server),
        }
    }

    /// One of each.
    pub(crate) fn each() -> impl Iterator<Item = Place> {
        [Some(Place::file()), Place::postgres()]
            .into_iter()
            .flatten()
    }

    fn filled(self) -> Place {
        assert_eq!(self.said(&["migrate"]), "tables made\n");
        self.shelf().fill();
        self
    }

    /// What is in the store, behind the back of every server.
    pub(crate) fn shelf(&self) -> Shelf {
        Shelf::of(&self.database)
    }

    /// Makes a file of somebody else's where the store would be.
    pub(crate) fn shelf_made_here(&self, statement: &str) {
        fs::write(&self.database, "").unwrap();
        self.shelf().run(statement);
    }

    /// The server of the store.
    pub(crate) fn server(&self) -> &Postgres {
        self.postgres.as_ref().unwrap()
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder; its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    /// `candor orders ARGUMENTS` on the store.
    fn arguments(&self, arguments: &[&str]) -> Vec<String> {
        let database = self.write("database", &self.database);
        let words = ["orders"].iter().chain(arguments).copied();
        let words = words.chain(["--database-from", &database]);
        words.map(String::from).collect()
    }

    /// The same, not yet started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = quiet(&[]);
        command
            .args(self.arguments(arguments))
            .current_dir(self.folder.path());
        command
    }

    /// What it answers; it says nothing beside.
    pub(crate) fn said(&self, arguments: &[&str]) -> String {
        let ended = Process::run(self.command(arguments), LIMIT);
        assert_eq!((ended.exit, &*ended.stderr), (Exit::Code(0), ""));
        String::from_utf8(ended.stdout).unwrap()
    }

    /// A text without the name of this folder.
    pub(crate) fn normal(&self, text: &str) -> String {
        text.replace(self.folder.path().to_str().unwrap(), "FOLDER")
    }

    /// The tools on stdio.
    pub(crate) fn stdio(&self, flags: &[&str]) -> Stdio {
        let arguments: Vec<_> = ["serve"].iter().chain(flags).copied().collect();
        let mut server = Stdio::start(self.command(&arguments));
        server.reaching(SERVED);
        server
    }

    /// The tools over HTTP.
    pub(crate) fn http(&self, flags: &[&str]) -> Http {
        let fixed = ["serve", "--http", "--port", "0"];
        let arguments: Vec<_> = fixed.iter().chain(flags).copied().collect();
        let arguments = self.arguments(&arguments);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let server = Http::spawn(CANDOR, &arguments);
        server.reaching(SERVED);
        server
    }

    /// The tools over HTTP behind a script of faults.
    pub(crate) fn faulty(&self, script: &str, flags: &[&str]) -> Http {
        let script = self.write("script.json", script);
        let flags: Vec<_> = ["--faulty", &script].iter().chain(flags).copied().collect();
        self.http(&flags)
    }
}

/// The program with nothing of this machine's settings.
pub(crate) fn quiet(arguments: &[&str]) -> Command {
    let mut command = Process::command(CANDOR, arguments);
    command
        .env_remove("CLICOLOR_FORCE")
        .env_remove("CANDOR_ORDERS_DATABASE")
        .env("NO_COLOR", "1");
    command
}

/// What a command complains about, which answers nothing and ends with 1.
pub(crate) fn complaint(command: Command) -> String {
    let ProcessOutput {
        exit,
        stdout,
        stderr,
    } = Process::run(command, LIMIT);
    assert_eq!((exit, stdout), (Exit::Code(1), Vec::new()), "{stderr}");
    stderr
}
