//! Governed edits.

mod write;
pub mod path;
pub mod protected;
pub mod reading;
pub mod plan;
pub mod edit;
pub mod preflight;
