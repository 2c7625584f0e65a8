//! The adapter `sql`: orders in a database of their own, SQLite in one file or PostgreSQL.

mod dialect;
mod failing;
mod migrate;
mod order;
mod session;
mod store;
mod tables;

pub use migrate::{Migrated, migrate};
pub use store::{Place, Unusable};
