//! `candor orders`: the order tools, and the commands for their own database.

mod backend;
mod backup;
mod check_adapter;
mod clients;
mod clients_file;
mod database;
mod guard;
mod import;
mod migrate;
mod openapi;
mod personal_data;
mod records;
mod seed;
mod serve;
mod verify;

use super::CommandError;
use clap::Subcommand;
pub(super) use serve::{ORDERS, ORDERS_NAME, open_in_data_dir, readiness_check, server};

#[derive(Debug, Subcommand)]
pub(super) enum OrdersCommand {
    Serve(Box<serve::OrdersServeArgs>),
    Migrate(migrate::MigrateArgs),
    Seed(seed::SeedArgs),
    CheckAdapter(check_adapter::CheckAdapterArgs),
    Import(import::OrdersImportArgs),
    Openapi(openapi::OpenapiArgs),
    Verify(verify::VerifyArgs),
    Backup(backup::BackupArgs),
    Records(records::RecordsArgs),
    ExportCustomer(personal_data::ExportCustomerArgs),
    EraseCustomer(personal_data::EraseCustomerArgs),
    /// Manage the clients of a server: their tokens, scopes and tools
    #[command(subcommand)]
    Clients(clients::ClientsCommand),
}

pub(super) const AFTER_HELP: &str = "\
Exit codes: 0 success, 1 wrong usage or a failure. Results go to stdout, messages to stderr.

Try:
  candor orders seed                                   create a database with a sample catalogue
  candor orders import catalogue.json                  create a database with your catalogue
  candor orders serve                                  serve the tools on stdio
  candor orders serve --http --port 0                  serve the same tools over HTTP
  candor orders migrate --database postgres://…        create the tables for several servers
  candor orders verify                                 check every invariant of a database
  candor orders backup orders-copy.db                  copy a SQLite database while servers run
  candor orders records --order ID                     show who changed an order
  candor orders check-adapter http://127.0.0.1:9000    test an order system
  candor orders clients add bot --clients clients.json create a client and print its token";

impl OrdersCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            OrdersCommand::Serve(serve) => serve.run(),
            OrdersCommand::Migrate(migrate) => migrate.run(),
            OrdersCommand::Seed(seed) => seed.run(),
            OrdersCommand::CheckAdapter(check) => check.run(),
            OrdersCommand::Import(import) => import.run(),
            OrdersCommand::Openapi(openapi) => openapi.run(),
            OrdersCommand::Verify(verify) => verify.run(),
            OrdersCommand::Backup(backup) => backup.run(),
            OrdersCommand::Records(records) => records.run(),
            OrdersCommand::ExportCustomer(export) => export.run(),
            OrdersCommand::EraseCustomer(erase) => erase.run(),
            OrdersCommand::Clients(clients) => clients.run(),
        }
    }
}
