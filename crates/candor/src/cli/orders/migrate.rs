//! `candor orders migrate`: make the tables of a store.

use super::database::{DatabaseArgs, DatabaseLocation};
use crate::cli::{CommandError, print};
use crate::host::run;
use candor_orders::model::Currency;
use candor_orders::sql::{self, MigrationOutcome, migrate};
use clap::Args;

/// Make the tables of a store, where they are missing
///
/// Tables that are there stay as they are, so this can be run before every start. Several at once do
/// no harm: one of them makes the tables.
#[derive(Debug, Args)]
pub(in crate::cli) struct MigrateArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    currency: CurrencyArgs,
}

#[derive(Debug, Args)]
pub(super) struct CurrencyArgs {
    /// The currency of the catalogue's prices, once and for all [default: USD]
    #[arg(long, value_name = "CODE", value_parser = currency)]
    currency: Option<Currency>,
}

impl CurrencyArgs {
    /// Makes the tables where they are missing; a store that is there must have the currency that was
    /// asked for.
    pub(super) async fn migrate(
        &self,
        location: &DatabaseLocation,
    ) -> Result<MigrationOutcome, CommandError> {
        let place = &location.place;
        let unusable = |error| location.unusable(&error);
        let migrated = migrate(place, self.currency.map_or_else(default_currency, Ok)?).await;
        let migrated = migrated.map_err(unusable)?;
        let Some(asked) = self.currency else {
            return Ok(migrated);
        };
        let there = sql::currency(place).await.map_err(unusable)?;
        match there == asked {
            true => Ok(migrated),
            false => {
                let (there, asked) = (there.code(), asked.code());
                let why = format!("the store has its prices in {there}, not in {asked}");
                Err(CommandError::new(why)
                    .with_hint("leave out --currency, or name another --database"))
            }
        }
    }
}

/// The currency of a store that nobody names one for.
pub(super) fn default_currency() -> Result<Currency, CommandError> {
    Currency::read("USD").ok_or_else(|| CommandError::new("the dollar is gone"))
}

/// A currency as it is typed.
fn currency(code: &str) -> Result<Currency, String> {
    let unknown = || String::from("give a code of ISO 4217 in capitals, USD or EUR for example");
    Currency::read(code).ok_or_else(unknown)
}

impl MigrateArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let location = self.database.location()?;
        let migrated = run(|_| async { self.currency.migrate(&location).await })?;
        print(match migrated {
            MigrationOutcome::Created => b"tables made\n",
            MigrationOutcome::Current => b"tables are there already; nothing was changed\n",
        })
    }
}
