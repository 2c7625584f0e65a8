//! `candor orders migrate`: make the tables of a store.

use super::place::{PlaceArgs, unusable};
use crate::cli::{Trouble, print};
use crate::host::run;
use candor_orders::model::Currency;
use candor_orders::sql::{Migrated, migrate};
use clap::Args;

/// Make the tables of a store, where they are missing
///
/// Tables that are there stay as they are, so this can be run before every start. Several at once do
/// no harm: one of them makes the tables.
#[derive(Debug, Args)]
pub(in crate::cli) struct MigrateArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// The currency of the catalogue's prices, once and for all
    #[arg(long, value_name = "CODE", default_value = "USD", value_parser = currency)]
    currency: Currency,
}

/// A currency as it is typed.
pub(super) fn currency(code: &str) -> Result<Currency, String> {
    let unknown = || String::from("give a code of ISO 4217 in capitals, USD or EUR for example");
    Currency::read(code).ok_or_else(unknown)
}

impl MigrateArgs {
    pub(super) fn run(self) -> Result<(), Trouble> {
        let placed = self.place.placed()?;
        let migrated = run(|_| async {
            let migrated = migrate(&placed.place, self.currency).await;
            migrated.map_err(|error| unusable(&error))
        })?;
        print(match migrated {
            Migrated::Made => b"tables made\n",
            Migrated::Current => b"tables are there already; nothing was changed\n",
        })
    }
}
