//! `candor orders`: the order tools, and the store that they work on without another order system.

mod backend;
mod check_adapter;
mod database;
mod guard;
mod import;
mod migrate;
mod seed;
mod serve;

use super::CommandError;
use clap::Subcommand;
pub(super) use serve::{ORDERS, open_in_data_dir, server};

#[derive(Debug, Subcommand)]
pub(super) enum OrdersCommand {
    Serve(Box<serve::OrdersServeArgs>),
    Migrate(migrate::MigrateArgs),
    Seed(seed::SeedArgs),
    CheckAdapter(check_adapter::CheckAdapterArgs),
    Import(import::OrdersImportArgs),
}

pub(super) const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 wrong usage or a failure. Answers go to stdout, talk to stderr.

Try:
  candor orders seed                                    a store with a sample catalogue
  candor orders import catalogue.json                   a store with a catalogue of your own
  candor orders serve                                   the tools, on stdio, on a store of their own
  candor orders serve --http --port 0                   the same over HTTP
  candor orders migrate --database postgres://…         make the tables for several servers
  candor orders check-adapter http://127.0.0.1:9000     does that order system keep the protocol?";

impl OrdersCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            OrdersCommand::Serve(serve) => serve.run(),
            OrdersCommand::Migrate(migrate) => migrate.run(),
            OrdersCommand::Seed(seed) => seed.run(),
            OrdersCommand::CheckAdapter(check) => check.run(),
            OrdersCommand::Import(import) => import.run(),
        }
    }
}
