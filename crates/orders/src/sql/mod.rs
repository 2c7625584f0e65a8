//! The adapter `sql`: orders in a database of their own, SQLite in one file or PostgreSQL.

mod adapter;
mod change;
mod connection;
mod dialect;
mod errors;
mod ids;
mod import;
mod invariants;
mod keys;
mod migrate;
mod order;
mod query;
mod seed;
mod store;
mod stored_details;
mod tables;

pub use adapter::{CONNECTIONS, KEEP_KEYS, SqlAdapter, SqlConfig};
pub use import::{ImportCounts, ImportError, ImportReport, MAX_IMPORT, MAX_STOCK, import};
pub use invariants::invariants;
pub use migrate::{MigrationOutcome, currency, migrate};
pub use seed::{MAX_SAMPLE_ORDERS, SampleCounts, SeedOptions, SeedReport, seed};
pub use store::{DatabaseUrl, StoreError};

#[cfg(test)]
mod test_databases;
