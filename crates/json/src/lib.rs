//! The one scan of a JSON text, and the index that it leaves.
//!
//! Everything here is pure. [`scan`] checks a text and records the position of each value; schema,
//! explanation and tool read the values through [`JsonRef`], without a tree of values and without a
//! second scan.
//!
//! ```
//! use candor_json::IndexedText;
//!
//! let arguments = IndexedText::new(String::from(r#"{"query":"rust","limit":5}"#)).unwrap();
//! let query = arguments.root().get("query").unwrap();
//! assert_eq!(query.as_str().as_deref(), Some("rust"));
//! ```

mod deserialize;
mod index;
mod json_ref;
mod json_tree;
mod scan;
mod serialize;

pub use index::{IndexedText, JsonIndex, JsonKind, MAX_INDEX_BYTES};
pub use json_ref::{Items, JsonRef, Members};
pub use json_tree::JsonTree;
pub use scan::{MAX_DEPTH, MAX_VALUES, ScanError, ScanOutcome, scan};
