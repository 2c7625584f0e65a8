//! Governed edits.
