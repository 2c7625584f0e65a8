//! `candor orders seed`: fills a database with samples.

use super::database::DatabaseArgs;
use super::migrate::CurrencyArgs;
use crate::cli::{CommandError, print};
use crate::host::run;
use candor_orders::sql::{MAX_SAMPLE_ORDERS, SampleCounts, SeedOptions, seed};
use clap::Args;
use std::io::{self, IsTerminal as _, Write as _};

/// Fill a database with a sample catalogue, stock and customers
///
/// The samples are the same on every machine. Existing entries stay unchanged, so this can be run again.
/// Missing tables are created.
#[derive(Debug, Args)]
pub(in crate::cli) struct SeedArgs {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The number of sample orders
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=MAX_SAMPLE_ORDERS))]
    orders: u64,
    #[command(flatten)]
    currency: CurrencyArgs,
}

impl SeedArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let location = self.database.location()?;
        let plan = SeedOptions {
            orders: self.orders,
        };
        let terminal = io::stderr().is_terminal();
        let mut progress = |done: u64, all: u64| {
            if terminal {
                // If stderr is closed, the message cannot be shown anywhere else.
                let _ = write!(io::stderr(), "\r{done} of {all} orders");
            }
        };
        let seeded = run(|_| async {
            self.currency.migrate(&location).await?;
            let seeded = seed(&location.url, plan, &mut progress).await;
            seeded.map_err(|error| location.unusable(&error))
        });
        if terminal && self.orders > 0 {
            let _ = writeln!(io::stderr());
        }
        let seeded = seeded?;
        let text = format!(
            "created   {}\nexisting  {}\n",
            counted(&seeded.made),
            counted(&seeded.there)
        );
        print(text.as_bytes())
    }
}

fn counted(counts: &SampleCounts) -> String {
    let SampleCounts {
        locations,
        products,
        variants,
        customers,
        orders,
    } = counts;
    format!(
        "{locations} locations, {products} products, {variants} variants, {customers} customers, {orders} orders"
    )
}
