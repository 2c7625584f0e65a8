//! The databases of the benchmark: empty ones for writes, filled ones that are kept for the next
//! run.

use super::fill::{RECIPE, RowCounts, fill};
use crate::report::terminal::ProgressLine;
use candor_testkit::postgres::{Error, MAINTENANCE, Postgres};
use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Executor as _};
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The database that stores orders.
#[derive(Debug)]
pub(super) enum Engine {
    Sqlite,
    Postgres(Postgres),
}

impl Engine {
    pub(super) const SQLITE: &str = "SQLite";
    pub(super) const POSTGRES: &str = "PostgreSQL";

    pub(super) fn name(&self) -> &'static str {
        match self {
            Engine::Sqlite => Engine::SQLITE,
            Engine::Postgres(_) => Engine::POSTGRES,
        }
    }
}

/// A database: the file for `--database-from`, and the URL for the client library.
#[derive(Debug, Clone)]
pub(super) struct StoreAddress {
    pub(super) file: PathBuf,
    pub(super) url: String,
}

/// Creates databases with the tables of this build of candor.
#[derive(Debug)]
pub(super) struct Stores<'a> {
    candor: &'a Path,
    kept: PathBuf,
    /// On the disk of the kept stores, removed with this value.
    scratch: TempDir,
    runtime: Runtime,
}

impl<'a> Stores<'a> {
    pub(super) fn new(candor: &'a Path, kept: PathBuf) -> io::Result<Stores<'a>> {
        fs::create_dir_all(&kept)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Stores {
            candor,
            scratch: tempfile::Builder::new().prefix("run-").tempdir_in(&kept)?,
            kept,
            runtime,
        })
    }

    /// Writes a file for one run and returns its path.
    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let file = self.scratch.path().join(name);
        fs::write(&file, text)?;
        Ok(file)
    }

    /// Starts PostgreSQL with data that is kept. Returns `None` if it is not installed.
    pub(super) fn postgres(&self) -> io::Result<Option<Engine>> {
        match Postgres::start_kept(&self.kept.join("postgres")) {
            Ok(server) => Ok(Some(Engine::Postgres(server))),
            Err(Error::Missing) => Ok(None),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Creates a filled store for one run. One of the same name is replaced.
    pub(super) fn fresh(
        &self,
        engine: &Engine,
        name: &str,
        amount: RowCounts,
        progress: &mut ProgressLine,
    ) -> io::Result<StoreAddress> {
        progress.say(&format!("orders, {}: making a store", engine.name()));
        if let Engine::Postgres(server) = engine {
            return self.database(server, name, amount, progress);
        }
        for suffix in ["db", "db-wal", "db-shm"] {
            let file = self.scratch.path().join(format!("{name}.{suffix}"));
            match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let place = self.sqlite_address(&self.scratch.path().join(format!("{name}.db")))?;
        self.create_and_fill(&place, amount, progress)?;
        Ok(place)
    }

    /// Creates a filled database. One of the same name is replaced.
    pub(super) fn database(
        &self,
        server: &Postgres,
        name: &str,
        amount: RowCounts,
        progress: &mut ProgressLine,
    ) -> io::Result<StoreAddress> {
        for statement in ["DROP DATABASE IF EXISTS", "CREATE DATABASE"] {
            let statement = format!("{statement} {name}");
            self.execute(&server.url(MAINTENANCE), statement)?;
        }
        let place = self.postgres_address(server, name)?;
        self.create_and_fill(&place, amount, progress)?;
        Ok(place)
    }

    /// Returns a filled store that an earlier run may have left.
    pub(super) fn kept(
        &self,
        engine: &Engine,
        amount: RowCounts,
        progress: &mut ProgressLine,
    ) -> io::Result<StoreAddress> {
        let name = format!("orders_{:016x}_{}", self.recipe()?, amount.orders);
        match engine {
            Engine::Sqlite => {
                let path = self.kept.join(format!("{name}.db"));
                if !path.exists() {
                    let new = self.scratch.path().join("new.db");
                    self.create_and_fill(&self.sqlite_address(&new)?, amount, progress)?;
                    fs::rename(new, &path)?;
                }
                self.sqlite_address(&path)
            }
            Engine::Postgres(server) => {
                let maintenance = server.url(MAINTENANCE);
                if !self.exists(&maintenance, &name)? {
                    self.database(server, "new", amount, progress)?;
                    let rename = format!("ALTER DATABASE new RENAME TO {name}");
                    self.execute(&maintenance, rename)?;
                }
                self.postgres_address(server, &name)
            }
        }
    }

    pub(super) fn execute(&self, url: &str, statement: String) -> io::Result<()> {
        let run = async {
            sqlx::any::install_default_drivers();
            let mut connection = AnyConnection::connect(url).await?;
            connection.execute(AssertSqlSafe(statement)).await?;
            connection.close().await
        };
        self.runtime.block_on(run).map_err(io::Error::other)
    }

    fn exists(&self, url: &str, database: &str) -> io::Result<bool> {
        let run = async {
            sqlx::any::install_default_drivers();
            let mut connection = AnyConnection::connect(url).await?;
            let found = sqlx::query("SELECT 1 FROM pg_database WHERE datname = $1")
                .bind(database)
                .fetch_optional(&mut connection)
                .await?;
            connection.close().await?;
            Ok(found.is_some())
        };
        let found: Result<_, sqlx::Error> = self.runtime.block_on(run);
        found.map_err(io::Error::other)
    }

    fn create_and_fill(
        &self,
        place: &StoreAddress,
        amount: RowCounts,
        progress: &mut ProgressLine,
    ) -> io::Result<()> {
        self.migrate(place)?;
        let filled = self.runtime.block_on(fill(&place.url, amount, progress));
        filled.map_err(io::Error::other)?;
        self.verify(place)
    }

    fn migrate(&self, place: &StoreAddress) -> io::Result<()> {
        self.candor("migrate", place)
    }

    /// Checks that every invariant of a store holds.
    pub(super) fn verify(&self, place: &StoreAddress) -> io::Result<()> {
        self.candor("verify", place)
    }

    /// Runs a command of an owner on a store.
    fn candor(&self, command: &str, place: &StoreAddress) -> io::Result<()> {
        let arguments = ["orders", command, "--database-from"].map(OsString::from);
        let mut program = Command::new(self.candor);
        program.args(arguments).arg(&place.file);
        match program.stdout(Stdio::null()).status()?.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!("candor orders {command} failed"))),
        }
    }

    /// Returns a number that changes with the tables and their content.
    fn recipe(&self) -> io::Result<u64> {
        let path = self.scratch.path().join("empty.db");
        let place = self.sqlite_address(&path)?;
        self.migrate(&place)?;
        let tables = async {
            sqlx::any::install_default_drivers();
            let mut connection = AnyConnection::connect(&place.url).await?;
            let text = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name";
            let tables: Vec<String> = sqlx::query_scalar(text).fetch_all(&mut connection).await?;
            connection.close().await?;
            Ok(tables)
        };
        let tables: Result<_, sqlx::Error> = self.runtime.block_on(tables);
        let mut hasher = DefaultHasher::new();
        (tables.map_err(io::Error::other)?, RECIPE).hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn sqlite_address(&self, path: &Path) -> io::Result<StoreAddress> {
        let path = path.display().to_string();
        let name = path.rsplit('/').next().unwrap_or_default();
        let url = format!("sqlite://{path}?mode=rwc");
        Ok(StoreAddress {
            file: self.write_address(name, &path)?,
            url,
        })
    }

    fn postgres_address(&self, server: &Postgres, name: &str) -> io::Result<StoreAddress> {
        let url = server.url(name);
        Ok(StoreAddress {
            file: self.write_address(name, &url)?,
            url,
        })
    }

    /// Writes the address of a database into a file: it may have a password in it.
    fn write_address(&self, name: &str, address: &str) -> io::Result<PathBuf> {
        self.write(&format!("{name}.address"), address)
    }
}
