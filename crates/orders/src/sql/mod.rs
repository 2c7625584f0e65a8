//! The adapter `sql`: orders in a database of their own, SQLite in one file or PostgreSQL.

mod adapter;
mod change;
mod dialect;
mod failing;
mod ids;
mod import;
mod invariants;
mod keys;
mod migrate;
mod order;
mod query;
mod seed;
mod session;
mod store;
mod tables;

pub use adapter::{CONNECTIONS, KEEP_KEYS, SqlAdapter, SqlConfig};
pub use ids::Random;
pub use import::{IMPORT_MAX, Imported, NotImported, STOCK_MAX, Tally, import};
pub use invariants::invariants;
pub use migrate::{Migrated, currency, migrate};
pub use seed::{Counts, SAMPLE_ORDERS_MAX, SeedPlan, Seeded, seed};
pub use store::{Place, Unusable};

#[cfg(test)]
mod databases;
