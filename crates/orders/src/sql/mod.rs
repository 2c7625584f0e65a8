//! The adapter `sql`: orders in a database of their own, SQLite in one file or PostgreSQL.

mod adapter;
mod backup;
mod change;
mod commit_group;
mod connection;
mod dialect;
mod errors;
mod existing_store;
mod ids;
mod import;
mod keys;
mod lanes;
mod lookups;
mod migrate;
mod order;
mod pending_change;
mod personal_data;
mod query;
mod record_pages;
mod record_removal;
mod seed;
mod statement_batch;
mod stock_changes;
mod store;
mod stored_details;
mod tables;
mod upgrade;
mod verify;

pub use adapter::{COMMIT_GROUP, CONNECTIONS, KEEP_KEYS, READ_CONNECTIONS, SqlAdapter, SqlConfig};
pub use backup::{BackupError, backup};
pub use import::{ImportCounts, ImportError, ImportReport, MAX_IMPORT, MAX_STOCK, import};
pub use lanes::MAX_WAITING_CHANGES;
pub use migrate::{MigrationOutcome, currency, migrate, migration_statements};
pub use personal_data::{
    CustomerSummary, EraseError, EraseOutcome, ErasedCounts, ExportError, erase_customer,
    export_customer, find_customer,
};
pub use record_pages::{ChangeRecord, RECORDS_AT_ONCE, RecordCount, records};
pub use record_removal::REMOVED_AT_ONCE;
pub use seed::{MAX_SAMPLE_ORDERS, SampleCounts, SeedOptions, SeedReport, seed};
pub use store::{DatabaseUrl, StoreError};
pub use verify::{BrokenInvariant, Invariant, MAX_NAMED, VerifyReport, invariants, verify};

pub(crate) use keys::fingerprint;

#[cfg(test)]
mod test_databases;
