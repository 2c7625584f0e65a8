//! A store with a small catalogue, on SQLite or PostgreSQL, and the commands and servers that use it.

use crate::fixture::{self, CANDOR, Directory};
use crate::orders::database::Database;
use candor_testkit::postgres::{self, Postgres};
use candor_testkit::{Http, Stdio};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name under which codes count as raised by the order server itself: the playground can raise them all.
pub(crate) const SERVED: &str = "orders-serve";

/// The options that turn rate limits off, for tests that make many calls.
pub(crate) const UNLIMITED: [&str; 4] = ["--calls-per-minute", "0", "--tool-calls-per-minute", "0"];

/// A directory with a SQLite store, or with the address of a PostgreSQL database.
pub(crate) struct OrdersFixture {
    directory: Directory,
    address: String,
    postgres: Option<Postgres>,
}

impl OrdersFixture {
    /// Has no store yet; its file would be `orders.db`.
    pub(crate) fn empty() -> OrdersFixture {
        let directory = Directory::new();
        OrdersFixture {
            address: directory.text("orders.db"),
            directory,
            postgres: None,
        }
    }

    /// Uses a SQLite file with the catalogue.
    pub(crate) fn sqlite() -> OrdersFixture {
        OrdersFixture::empty().with_catalogue()
    }

    /// Uses a PostgreSQL database with the catalogue. Returns `None` if PostgreSQL is not installed.
    pub(crate) fn postgres() -> Option<OrdersFixture> {
        postgres::required().map(|server| OrdersFixture::on(server).with_catalogue())
    }

    /// Uses a database of this server, without tables.
    pub(crate) fn on(server: Postgres) -> OrdersFixture {
        OrdersFixture {
            address: server.database(),
            directory: Directory::new(),
            postgres: Some(server),
        }
    }

    /// Returns one fixture for each kind of database that this machine has.
    pub(crate) fn for_each_database() -> impl Iterator<Item = OrdersFixture> {
        [Some(OrdersFixture::sqlite()), OrdersFixture::postgres()]
            .into_iter()
            .flatten()
    }

    fn with_catalogue(self) -> OrdersFixture {
        assert_eq!(self.run_ok(&["migrate"]), "tables created\n");
        self.database().fill();
        self
    }

    /// Returns the store as SQL sees it, without a server.
    pub(crate) fn database(&self) -> Database {
        Database::at(&self.address)
    }

    /// Creates a SQLite file of another program.
    pub(crate) fn make_foreign_database(&self, statement: &str) {
        fs::write(&self.address, "").unwrap();
        self.database().run(statement);
    }

    /// Returns the PostgreSQL server.
    pub(crate) fn server(&self) -> &Postgres {
        self.postgres.as_ref().unwrap()
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.root()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path(name)
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        self.directory.write(name, text)
    }

    /// Returns the arguments of `candor orders ARGUMENTS` on the store.
    fn arguments(&self, arguments: &[&str]) -> Vec<String> {
        let file = self.directory.text("database");
        // A server that starts now must not find the file empty.
        if !fs::read_to_string(&file).is_ok_and(|text| text == self.address) {
            self.write("database", &self.address);
        }
        let words = ["orders"].iter().chain(arguments).copied();
        let words = words.chain(["--database-from", &file]);
        words.map(String::from).collect()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = fixture::candor(&[]);
        command
            .args(self.arguments(arguments))
            .current_dir(self.root());
        command
    }

    pub(crate) fn run_ok(&self, arguments: &[&str]) -> String {
        fixture::run_ok(self.command(arguments))
    }

    pub(crate) fn normalize(&self, text: &str) -> String {
        self.directory.normalize(text)
    }

    /// Starts the tools on stdio.
    pub(crate) fn stdio(&self, flags: &[&str]) -> Stdio {
        let arguments: Vec<_> = ["serve"].iter().chain(flags).copied().collect();
        let mut server = Stdio::start(self.command(&arguments));
        server.reaching(SERVED);
        server
    }

    /// Starts the tools over HTTP.
    pub(crate) fn http(&self, flags: &[&str]) -> Http {
        self.spawn_http(CANDOR, &[], flags)
    }

    /// Starts the tools over HTTP by another program, which gets these arguments before the command.
    pub(crate) fn http_under(&self, program: &str, before: &[&str], flags: &[&str]) -> Http {
        let before: Vec<_> = before.iter().copied().chain([CANDOR]).collect();
        self.spawn_http(program, &before, flags)
    }

    fn spawn_http(&self, program: &str, before: &[&str], flags: &[&str]) -> Http {
        let fixed = ["serve", "--http", "--port", "0"];
        let arguments: Vec<_> = fixed.iter().chain(flags).copied().collect();
        let arguments = self.arguments(&arguments);
        let arguments = arguments.iter().map(String::as_str);
        let arguments: Vec<_> = before.iter().copied().chain(arguments).collect();
        let server = Http::spawn(program, &arguments);
        server.reaching(SERVED);
        server
    }

    /// Starts the tools over HTTP, with faults injected by a script.
    pub(crate) fn faulty_http(&self, script: &str, flags: &[&str]) -> Http {
        let script = self.write("script.json", script);
        let flags: Vec<_> = ["--faulty", &script].iter().chain(flags).copied().collect();
        self.http(&flags)
    }
}
