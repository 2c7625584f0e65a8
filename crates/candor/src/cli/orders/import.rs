//! `candor orders import`: bring one's own catalogue and stock into a store.

use super::migrate::CurrencyArgs;
use super::place::{PlaceArgs, Placed};
use crate::cli::{Trouble, print};
use crate::host::{run, system_clock};
use candor_orders::model::UtcTime;
use candor_orders::sql::{IMPORT_MAX, ImportCounts, ImportError, ImportReport, import};
use clap::Args;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Bring a catalogue with its stock into a store, from a file in JSON
///
/// All of it or nothing. What is there already is changed where it differs; what the file does not name
/// stays as it is, so the same file can be brought in again. Tables are made where they are missing.
#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArgs {
    /// Locations, products, their variants with prices, and how many lie where; docs/orders.md has its form
    file: PathBuf,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    currency: CurrencyArgs,
}

impl ImportArgs {
    pub(super) fn run(self) -> Result<(), Trouble> {
        let text = read(&self.file)?;
        let placed = self.place.placed()?;
        let imported = run(|_| async {
            self.currency.migrate(&placed).await?;
            let now = UtcTime::from(system_clock().now());
            let imported = import(&placed.place, &text, now).await;
            imported.map_err(|error| self.refused(&error, &placed))
        })?;
        print(told(&imported).as_bytes())
    }

    fn refused(&self, error: &ImportError, placed: &Placed) -> Trouble {
        match error {
            ImportError::Store(error) => placed.unusable(error),
            _ => {
                let file = self.file.display();
                Trouble::new(format!("{file} was not brought in: {error}"))
                    .hinting("nothing was changed; docs/orders.md says how the file is written")
            }
        }
    }
}

fn read(path: &Path) -> Result<String, Trouble> {
    let shown = path.display();
    let unread = |error| Trouble::new(format!("cannot read the catalogue {shown}: {error}"));
    let file = File::open(path).map_err(unread)?;
    let mut text = String::new();
    let length = file.take(IMPORT_MAX + 1).read_to_string(&mut text);
    match length.map_err(unread)? as u64 > IMPORT_MAX {
        false => Ok(text),
        true => Err(Trouble::new(format!(
            "the catalogue {shown} has more than {IMPORT_MAX} bytes"
        ))
        .hinting("bring it in in parts")),
    }
}

fn told(imported: &ImportReport) -> String {
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
        format!("{name:<11}{made} made, {changed} changed, {same} as they were\n")
    };
    [
        line("locations", locations),
        line("products", products),
        line("variants", variants),
        line("stock", stock),
    ]
    .concat()
}
