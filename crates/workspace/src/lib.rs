//! Governed edits.

mod write;
