//! Governed edits.

mod write;
pub mod path;
