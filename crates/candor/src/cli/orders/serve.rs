//! `candor orders serve`: serves the order tools on their own database or on another order system.

use super::backend::BackendArgs;
use super::clients_file::FollowedClients;
use super::database::{DatabaseArgs, DatabaseLocation, in_data_dir};
use super::guard::GuardArgs;
use super::migrate::default_currency;
use crate::cli::config::ConfigArgs;
use crate::cli::data_dir::DataDirArgs;
use crate::cli::listen::ListenArgs;
use crate::cli::{CommandError, VERSION};
use crate::host::{run, serve_stdio, system_clock};
use candor_orders::faulty::{FaultyAdapter, Script};
use candor_orders::sql::{
    COMMIT_GROUP, CONNECTIONS, MigrationOutcome, READ_CONNECTIONS, SeedOptions, SqlAdapter,
    SqlConfig, migrate, seed,
};
use candor_orders::{Adapter, ClientDirectory, Compat, Config, OrdersServer};
use candor_street::{Dispatcher, MetricsHub};
use candor_wire::http::{Endpoint, Readiness, ReadinessCheck, router};
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The path of the order tools over HTTP.
pub(in crate::cli) const ORDERS: &str = "/orders/mcp";

/// The name of the order tools in the answer of `/ready`.
pub(in crate::cli) const ORDERS_NAME: &str = "orders";

/// Serve the order tools over MCP
///
/// Uses stdin and stdout unless --http is given. Without --database, orders are stored in a file of the data
/// directory, which is created if it is missing. Every change needs an idempotencyKey: a call that is sent again
/// with the same key is done once, and returns the same result.
#[derive(Debug, Args)]
pub(in crate::cli) struct OrdersServeArgs {
    #[command(flatten)]
    _config: ConfigArgs,
    /// The system that stores the orders
    #[arg(long, value_enum, default_value_t = AdapterName::Sql)]
    adapter: AdapterName,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    backend: BackendArgs,
    /// The maximum number of connections to PostgreSQL for changes
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS, value_parser = clap::value_parser!(u32).range(1..=1000))]
    connections: u32,
    /// The maximum number of connections to PostgreSQL for queries, which never wait for changes
    #[arg(long, value_name = "N", default_value_t = READ_CONNECTIONS, value_parser = clap::value_parser!(u32).range(1..=1000))]
    read_connections: u32,
    /// The maximum number of changes that share a commit; 1 for none
    #[arg(long, value_name = "N", default_value_t = COMMIT_GROUP, value_parser = clap::value_parser!(u16).range(1..=1024))]
    commit_group: u16,
    /// The number of hours for which the result of an idempotencyKey is stored
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u64).range(1..=8784))]
    keep_keys_hours: u64,
    /// The number of days after which records of changes are removed from the database; 0 keeps them
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=36_500))]
    keep_records_days: u64,
    #[command(flatten)]
    guard: GuardArgs,
    /// A script of faults to inject before the order system, for authors of clients
    #[arg(long, value_name = "FILE")]
    faulty: Option<PathBuf>,
    /// A file with the token that writing calls must show, instead of the token of --bearer-file
    #[arg(long, value_name = "FILE", requires = "http")]
    write_bearer_file: Option<PathBuf>,
    /// A file of clients with their own tokens, scopes and limits, see `candor orders clients`
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with_all = ["bearer_file", "write_bearer_file"])]
    clients: Option<PathBuf>,
    /// Accept calls in the form of another server too, see docs/orders.md
    #[arg(long, value_enum, value_name = "SERVER")]
    compat: Option<CompatName>,
    /// Listen on HTTP at /orders/mcp instead of stdio
    #[arg(long)]
    http: bool,
    #[command(flatten)]
    listen: ListenArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AdapterName {
    /// A database, see --database
    Sql,
    /// Another order system, see --backend
    Http,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompatName {
    /// The public reference server of order tools
    Reference,
}

impl From<CompatName> for Compat {
    fn from(name: CompatName) -> Compat {
        match name {
            CompatName::Reference => Compat::Reference,
        }
    }
}

impl OrdersServeArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self.http {
            true => self.over_http(),
            false => self.over_stdio(),
        }
    }

    fn over_stdio(&self) -> Result<(), CommandError> {
        run(|stop| async {
            let metrics = MetricsHub::default();
            let server = self.server(&metrics, None).await?;
            let dispatcher =
                Dispatcher::new(server, system_clock(), &metrics).map_err(io::Error::other)?;
            Ok(serve_stdio(dispatcher, stop).await?)
        })
    }

    fn over_http(&self) -> Result<(), CommandError> {
        let has_one_tenant = self.adapter == AdapterName::Sql;
        let clients = self.clients.as_deref();
        let clients = clients.map(|path| FollowedClients::open(path, has_one_tenant));
        let clients = clients.transpose()?;
        let admission = match &clients {
            Some(clients) => self.listen.admission_of_clients(clients.tokens()),
            None => self.listen.admission(self.write_bearer_file.as_deref())?,
        };
        let make = || async {
            let metrics = MetricsHub::default();
            let directory = clients.as_ref().map(FollowedClients::directory);
            let server = self.server(&metrics, directory).await?;
            if let Some(clients) = clients {
                tokio::spawn(clients.follow());
            }
            let dispatcher =
                Dispatcher::new(server, system_clock(), &metrics).map_err(io::Error::other)?;
            let ready = readiness_check(&dispatcher);
            let endpoint = Endpoint::new(dispatcher, Arc::clone(&admission));
            Ok(router(Arc::clone(&admission), metrics, VERSION)
                .with(ORDERS, endpoint)
                .with_readiness(ORDERS_NAME, ready))
        };
        let changed = match self.adapter {
            AdapterName::Sql => "its own database",
            AdapterName::Http => "the order system behind it",
        };
        self.listen
            .serve(make, |address| announce(address, changed))
    }

    /// Wraps the order system with the script of faults, if one is given.
    fn scripted(&self, adapter: Arc<dyn Adapter>) -> Result<Arc<dyn Adapter>, CommandError> {
        match &self.faulty {
            None => Ok(adapter),
            Some(path) => Ok(Arc::new(FaultyAdapter::new(adapter, script(path)?))),
        }
    }

    async fn server(
        &self,
        metrics: &MetricsHub,
        clients: Option<Arc<ClientDirectory>>,
    ) -> Result<OrdersServer, CommandError> {
        let (adapter, secrets) = match self.adapter {
            AdapterName::Sql => self.sql().await?,
            AdapterName::Http => self.backend.open(self.keep_keys()).await?,
        };
        let adapter = self.scripted(adapter)?;
        let config = Config {
            clients,
            compat: self.compat.map(Compat::from),
            ..self.guard.config(secrets)
        };
        Ok(server(adapter, config, metrics))
    }

    fn keep_keys(&self) -> Duration {
        Duration::from_secs(self.keep_keys_hours * 60 * 60)
    }

    /// Returns the time after which records are removed. `None` if they are kept.
    fn keep_records(&self) -> Option<Duration> {
        let day = 24 * 60 * 60;
        (self.keep_records_days > 0).then(|| Duration::from_secs(self.keep_records_days * day))
    }

    /// Opens the database. Returns it with the passwords that must not reach a log.
    async fn sql(&self) -> Result<(Arc<dyn Adapter>, Vec<String>), CommandError> {
        self.backend.must_be_absent()?;
        let location = self.database.location()?;
        let config = SqlConfig {
            keep_keys: self.keep_keys(),
            connections: self.connections,
            read_connections: self.read_connections,
            commit_group: self.commit_group,
            deadline: self.guard.deadline(),
            keep_records: self.keep_records(),
            ..SqlConfig::default()
        };
        let adapter = open(&location, config).await?;
        Ok((adapter, location.passwords))
    }
}

fn script(path: &Path) -> Result<Script, CommandError> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| CommandError::new(format!("cannot read the script {shown}: {error}")))?;
    Script::read(&text).map_err(|error| {
        CommandError::new(format!("the script {shown} is not valid: {error}"))
            .with_hint("docs/orders.md describes the format of scripts")
    })
}

/// Opens a database, and creates a SQLite file that is missing.
async fn open(
    location: &DatabaseLocation,
    config: SqlConfig,
) -> Result<Arc<dyn Adapter>, CommandError> {
    if location.file.is_some() {
        create_tables(location).await?;
    }
    let random = Arc::new(|| fastrand::u64(..));
    let adapter = SqlAdapter::open(&location.url, config, system_clock(), random).await;
    Ok(Arc::new(
        adapter.map_err(|error| location.unusable(&error))?,
    ))
}

/// Creates the tables of a SQLite file if they are missing.
async fn create_tables(location: &DatabaseLocation) -> Result<MigrationOutcome, CommandError> {
    let migrated = migrate(&location.url, default_currency()?).await;
    migrated.map_err(|error| location.unusable(&error))
}

/// Opens the database in the data directory, and fills a new one with the sample catalogue.
pub(in crate::cli) async fn open_in_data_dir(
    data: &DataDirArgs,
) -> Result<Arc<dyn Adapter>, CommandError> {
    let location = in_data_dir(data)?;
    if create_tables(&location).await? == MigrationOutcome::Created {
        let filled = seed(&location.url, SeedOptions::default(), &mut |_, _| {}).await;
        filled.map_err(|error| location.unusable(&error))?;
    }
    open(&location, SqlConfig::default()).await
}

/// Makes the server in front of an order system.
pub(in crate::cli) fn server(
    adapter: Arc<dyn Adapter>,
    config: Config,
    metrics: &MetricsHub,
) -> OrdersServer {
    let random = Arc::new(|| fastrand::u64(..));
    OrdersServer::new(adapter, config, random, metrics.clone())
}

/// Returns the check of the server for `/ready`.
pub(in crate::cli) fn readiness_check(
    dispatcher: &Arc<Dispatcher<OrdersServer>>,
) -> ReadinessCheck {
    let dispatcher = Arc::clone(dispatcher);
    Box::new(move || {
        let dispatcher = Arc::clone(&dispatcher);
        Box::pin(async move {
            let state = dispatcher.server().readiness().await;
            Readiness {
                is_ready: state.is_ready(),
                description: state.description().to_string(),
            }
        })
    })
}

fn announce(address: &str, changed: &str) {
    // If stderr is closed, the message cannot be shown anywhere else.
    let _ = writeln!(
        io::stderr(),
        "order tools listening on http://{address}{ORDERS}\nThis endpoint changes data in {changed}."
    );
}
