//! The personal data of a customer: its export, and its erasure.

mod customer_rows;
mod erase;
mod erased;
mod export;
mod file_cleaning;
mod personal_values;

pub use customer_rows::{CustomerSummary, find_customer};
pub use erase::{EraseError, EraseOutcome, ErasedCounts, erase_customer};
pub(super) use erased::erased_details;
pub use export::{ExportError, export_customer};
