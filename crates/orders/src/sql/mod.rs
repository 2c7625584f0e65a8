//! The adapter `sql`: orders in a database of their own, SQLite in one file or PostgreSQL.

mod adapter;
mod change;
mod commit_group;
mod connection;
mod dialect;
mod errors;
mod ids;
mod import;
mod invariants;
mod keys;
mod lanes;
mod lookups;
mod migrate;
mod order;
mod pending_change;
mod query;
mod seed;
mod stock_changes;
mod store;
mod stored_details;
mod tables;
mod upgrade;

pub use adapter::{COMMIT_GROUP, CONNECTIONS, KEEP_KEYS, READ_CONNECTIONS, SqlAdapter, SqlConfig};
pub use import::{ImportCounts, ImportError, ImportReport, MAX_IMPORT, MAX_STOCK, import};
pub use invariants::invariants;
pub use lanes::MAX_WAITING_CHANGES;
pub use migrate::{MigrationOutcome, currency, migrate, migration_statements};
pub use seed::{MAX_SAMPLE_ORDERS, SampleCounts, SeedOptions, SeedReport, seed};
pub use store::{DatabaseUrl, StoreError};

#[cfg(test)]
mod test_databases;
