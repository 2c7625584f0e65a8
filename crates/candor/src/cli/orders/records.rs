//! `candor orders records`: shows who changed an order.

use super::database::DatabaseArgs;
use crate::cli::{CommandError, print};
use crate::host::{print_note, run};
use candor_fault::to_json;
use candor_orders::sql::{ChangeRecord, RecordCount, StoreError, records};
use candor_workspace::visible_text;
use clap::Args;
use std::fmt::Write as _;

/// Show who changed an order, and what came of it
///
/// Prints one line for every final outcome, from the oldest to the newest: time, client, tool, idempotencyKey, and
/// `done` or the reason of the refusal.
#[derive(Debug, Args)]
pub(in crate::cli) struct RecordsArgs {
    /// The id of the order
    #[arg(long, value_name = "ID")]
    order: String,
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// An error while records are shown.
enum ShowError {
    Store(StoreError),
    Output(CommandError),
}

impl From<StoreError> for ShowError {
    fn from(error: StoreError) -> Self {
        ShowError::Store(error)
    }
}

impl RecordsArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let location = self.database.existing()?;
        let count = run(|_| async {
            let show = |page: &[ChangeRecord]| {
                let text = self.text(page);
                print(text.as_bytes()).map_err(ShowError::Output)
            };
            let count = records(&location.url, &self.order, show).await;
            count.map_err(|error| match error {
                ShowError::Store(error) => location.unusable(&error),
                ShowError::Output(error) => error,
            })
        })?;
        match count {
            RecordCount {
                records: 0,
                order_exists: false,
            } => Err(CommandError::new("the store has no order with this id, and no record of it")
                .with_hint("give the `id` of an order, not its number or name; the tool get-orders finds it")),
            RecordCount { records: 0, .. } => {
                print_note("the order exists, but has no records: it is a sample, or its records were removed");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn text(&self, page: &[ChangeRecord]) -> String {
        let mut text = String::new();
        for record in page {
            // Writing to a string cannot fail.
            let _ = match self.json {
                true => writeln!(text, "{}", to_json(record)),
                false => writeln!(
                    text,
                    "{}  {}  {}  {}  {}",
                    record.at.text(),
                    visible_text(&record.client),
                    visible_text(&record.tool),
                    visible_text(&record.key),
                    visible_text(&record.outcome),
                ),
            };
        }
        text
    }
}
