//! JSON Schema 2020-12 of the failing answers of the shared dialects, and the parts that schemas of
//! other dialects are made of.
//!
//! No schema refers to another document, so each one can be embedded anywhere.

mod candor;
pub mod parts;
mod wire;

pub use candor::{candor_failure, candor_result};
pub use wire::wire_error;
