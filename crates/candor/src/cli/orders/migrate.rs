//! `candor orders migrate`: creates the tables of a database, or brings them to the current format.

use super::database::{DatabaseArgs, DatabaseLocation};
use crate::cli::{CommandError, print};
use crate::host::run;
use candor_orders::model::Currency;
use candor_orders::sql::{self, MigrationOutcome, migrate, migration_statements};
use clap::Args;

/// Create the tables of a database, or bring them to the current format
///
/// Tables of an older format are changed in one transaction; a SQLite file is copied before, with the suffix
/// .format1. Current tables stay unchanged, so this can be run before every start. Several runs at the same time do
/// no harm: one of them does the work.
#[derive(Debug, Args)]
pub(in crate::cli) struct MigrateArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    currency: CurrencyArgs,
    /// Print the statements instead of running them
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
pub(super) struct CurrencyArgs {
    /// The currency of the catalogue's prices, which cannot be changed later [default: USD]
    #[arg(long, value_name = "CODE", value_parser = currency)]
    currency: Option<Currency>,
}

impl CurrencyArgs {
    /// Creates the tables if they are missing. An existing database must have the given currency.
    pub(super) async fn migrate(
        &self,
        location: &DatabaseLocation,
    ) -> Result<MigrationOutcome, CommandError> {
        let url = &location.url;
        let unusable = |error| location.unusable(&error);
        let migrated = migrate(url, self.currency.map_or_else(default_currency, Ok)?).await;
        let migrated = migrated.map_err(unusable)?;
        let Some(given) = self.currency else {
            return Ok(migrated);
        };
        let existing = sql::currency(url).await.map_err(unusable)?;
        match existing == given {
            true => Ok(migrated),
            false => {
                let (existing, given) = (existing.code(), given.code());
                let message =
                    format!("the prices of the database are in {existing}, not in {given}");
                Err(CommandError::new(message)
                    .with_hint("omit --currency, or name another database with --database"))
            }
        }
    }
}

/// Returns the currency of a database if none is given.
pub(super) fn default_currency() -> Result<Currency, CommandError> {
    Currency::read("USD").ok_or_else(|| CommandError::new("USD is not a known currency"))
}

fn currency(code: &str) -> Result<Currency, String> {
    let unknown = || String::from("give an ISO 4217 code in capitals, for example USD or EUR");
    Currency::read(code).ok_or_else(unknown)
}

impl MigrateArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let location = self.database.location()?;
        if self.dry_run {
            return print_statements(&location);
        }
        let migrated = run(|_| async { self.currency.migrate(&location).await })?;
        print(match migrated {
            MigrationOutcome::Created => b"tables created\n",
            MigrationOutcome::Upgraded => b"tables brought from format 1 to format 2\n",
            MigrationOutcome::Current => b"the tables exist already; nothing was changed\n",
        })
    }
}

/// Prints the statements that a migration would run, one after the other.
fn print_statements(location: &DatabaseLocation) -> Result<(), CommandError> {
    let statements = run(|_| async {
        let statements = migration_statements(&location.url).await;
        statements.map_err(|error| location.unusable(&error))
    })?;
    let text: String = statements
        .iter()
        .map(|statement| match statement.starts_with("--") {
            true => format!("{statement}\n"),
            false => format!("{statement};\n"),
        })
        .collect();
    print(text.as_bytes())
}
