//! Validates arguments and reports everything that is wrong, in order.
//!
//! Everything here is pure. A [`Schema`] contains the text that is published and enforces that text:
//! `jsonschema` decides, and our own walk reports the reasons, in a fixed order and wording. [`Int`]
//! is the integer that such a schema means, and [`nearest`] finds the name that was meant.
//!
//! ```
//! use candor_schema::Schema;
//! use serde_json::json;
//!
//! let schema = Schema::new(json!({"type": "object", "required": ["query"]})).unwrap();
//! assert!(schema.check(&json!({"query": "rust"})).is_ok());
//! let violations = schema.check(&json!({})).unwrap_err();
//! assert_eq!(&*violations.shown()[0].message, "must have required property 'query'");
//! ```

#[cfg(test)]
mod agreement;
mod compile;
mod decider;
mod depth;
mod error;
mod expected;
mod explain;
mod hint;
mod indexed_json;
mod int;
mod nearest;
mod schema;
mod subschema;
mod unique_items;
mod violation_collector;
mod wording;

pub use depth::{MAX_SCHEMA_DEPTH, MAX_VALUE_DEPTH};
pub use error::SchemaError;
pub use int::{Int, OutOfRange};
pub use nearest::{MAX_NEAR_CANDIDATES, MAX_NEAR_CHARS, nearest};
pub use schema::Schema;
