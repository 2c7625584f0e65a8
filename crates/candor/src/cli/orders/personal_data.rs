//! `candor orders export-customer` and `erase-customer`: the personal data of a customer.

use super::database::{DatabaseArgs, DatabaseLocation};
use crate::cli::{CommandError, print, prompt};
use crate::host::{print_note, run};
use candor_orders::sql::{
    CustomerSummary, EraseError, EraseOutcome, ErasedCounts, ExportError, erase_customer,
    export_customer, find_customer,
};
use clap::Args;
use std::io;
use std::path::PathBuf;

#[derive(Debug, Args)]
struct CustomerArgs {
    /// The email address of the customer, in any letter case
    #[arg(long, value_name = "ADDRESS")]
    email: String,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Print everything about a customer as JSON
///
/// Contains the customer, all orders with their shipments and returns, the records of changes, and the answers that
/// are stored for repeated calls.
#[derive(Debug, Args)]
pub(in crate::cli) struct ExportCustomerArgs {
    #[command(flatten)]
    customer: CustomerArgs,
}

/// Erase the personal data of a customer
///
/// Replaces names, addresses, phones, email addresses and notes in the customer, all orders and returns, lookup rows
/// and stored answers, in one transaction. Amounts and quantities stay. Servers may run meanwhile; their changes wait.
/// A SQLite file is rewritten afterwards, so that no erased byte is left in it. This cannot be undone.
#[derive(Debug, Args)]
pub(in crate::cli) struct EraseCustomerArgs {
    #[command(flatten)]
    customer: CustomerArgs,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

fn unknown_customer() -> CommandError {
    CommandError::new("no customer of the store has this email address")
        .with_hint("check the address; a customer who was erased is not found any more")
}

impl ExportCustomerArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let location = self.customer.database.existing()?;
        let mut out = io::BufWriter::new(io::stdout());
        let exported = run(|_| async {
            let exported = export_customer(&location.url, &self.customer.email, &mut out).await;
            Ok::<_, CommandError>(exported)
        })?;
        match exported {
            Ok(()) => Ok(()),
            Err(ExportError::Store(error)) => Err(location.unusable(&error)),
            Err(ExportError::UnknownCustomer) => Err(unknown_customer()),
            Err(ExportError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(ExportError::Output(error)) => Err(error.into()),
        }
    }
}

impl EraseCustomerArgs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let location = self.customer.database.existing()?;
        if !self.yes && !prompt::is_terminal() {
            return Err(CommandError::new(
                "an erasure cannot be undone, and there is no terminal to ask at",
            )
            .with_hint("add --yes if you are sure"));
        }
        if !self.yes && !self.confirm(&location)? {
            return print(b"nothing was erased\n");
        }
        let erased = run(|_| async {
            let erased = erase_customer(&location.url, &self.customer.email).await;
            erased.map_err(|error| refused(&error, &location))
        });
        if let Some(copy) = copy_before_upgrade(&location) {
            print_note(&format!(
                "{} is a copy from before an upgrade and still contains the data; delete it when you do not need it",
                copy.display()
            ));
        }
        print(summary(erased?).as_bytes())
    }

    /// Asks the person at the terminal.
    fn confirm(&self, location: &DatabaseLocation) -> Result<bool, CommandError> {
        let found = run(|_| async {
            let found = find_customer(&location.url, &self.customer.email).await;
            found.map_err(|error| location.unusable(&error))
        })?;
        // An erasure that was interrupted is finished without the customer.
        let Some(CustomerSummary { id, orders }) = found else {
            return Ok(true);
        };
        prompt::confirm(&format!(
            "Erase the personal data of customer {id} in {orders} orders? This cannot be undone."
        ))
    }
}

/// Returns the copy that an upgrade made of the file, if it exists.
fn copy_before_upgrade(location: &DatabaseLocation) -> Option<PathBuf> {
    let file = location.file.as_ref()?;
    let mut copy = file.clone().into_os_string();
    copy.push(".format1");
    Some(PathBuf::from(copy)).filter(|copy| copy.exists())
}

fn refused(error: &EraseError, location: &DatabaseLocation) -> CommandError {
    match error {
        EraseError::Store(error) => location.unusable(error),
        EraseError::UnknownCustomer => unknown_customer(),
        EraseError::BytesLeft(_) => CommandError::new(error.to_string()).with_hint(
            "run the same command again, at a time when nobody reads the store and there is room for a copy of it",
        ),
    }
}

fn summary(outcome: EraseOutcome) -> String {
    let ErasedCounts {
        orders,
        returns,
        outcomes,
        records,
    } = match outcome {
        EraseOutcome::Erased(counts) => counts,
        EraseOutcome::EarlierCompleted => {
            return String::from("an erasure that was interrupted is complete now\n");
        }
    };
    format!(
        "erased: customers 1, orders {orders}, notes of returns {returns}, stored answers {outcomes}, records {records}\n"
    )
}
