//! `candor orders import`: imports a catalogue with its stock.

use super::database::{DatabaseArgs, DatabaseLocation};
use super::migrate::CurrencyArgs;
use crate::cli::{CommandError, print};
use crate::host::{run, system_clock};
use candor_orders::model::UtcTime;
use candor_orders::sql::{ImportCounts, ImportError, ImportReport, MAX_IMPORT, import};
use clap::Args;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Import a catalogue with its stock from a JSON file
///
/// The import is done completely or not at all. Existing entries that differ are changed, and entries that the
/// file does not name stay unchanged, so the same file can be imported again. Missing tables are created.
#[derive(Debug, Args)]
pub(in crate::cli) struct OrdersImportArgs {
    /// A file with locations, products, variants, prices and stock; docs/orders.md describes the format
    file: PathBuf,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    currency: CurrencyArgs,
}

impl OrdersImportArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let text = read(&self.file)?;
        let location = self.database.location()?;
        let imported = run(|_| async {
            self.currency.migrate(&location).await?;
            let now = UtcTime::from(system_clock().now());
            let imported = import(&location.url, &text, now).await;
            imported.map_err(|error| self.refused(&error, &location))
        })?;
        print(summary(&imported).as_bytes())
    }

    fn refused(&self, error: &ImportError, location: &DatabaseLocation) -> CommandError {
        match error {
            ImportError::Store(error) => location.unusable(error),
            _ => {
                let file = self.file.display();
                CommandError::new(format!("{file} was not imported: {error}")).with_hint(
                    "nothing was changed; docs/orders.md describes the format of the file",
                )
            }
        }
    }
}

fn read(path: &Path) -> Result<String, CommandError> {
    let shown = path.display();
    let unread = |error| CommandError::new(format!("cannot read the catalogue {shown}: {error}"));
    let file = File::open(path).map_err(unread)?;
    let mut text = String::new();
    let length = file.take(MAX_IMPORT + 1).read_to_string(&mut text);
    match length.map_err(unread)? as u64 > MAX_IMPORT {
        false => Ok(text),
        true => Err(CommandError::new(format!(
            "the catalogue {shown} has more than {MAX_IMPORT} bytes"
        ))
        .with_hint("split it and import the parts")),
    }
}

fn summary(imported: &ImportReport) -> String {
    let ImportReport {
        locations,
        products,
        variants,
        stock,
    } = imported;
    let line = |name, tally: &ImportCounts| {
        let ImportCounts {
            made,
            changed,
            same,
        } = tally;
        format!("{name:<11}{made} created, {changed} changed, {same} unchanged\n")
    };
    [
        line("locations", locations),
        line("products", products),
        line("variants", variants),
        line("stock", stock),
    ]
    .concat()
}
