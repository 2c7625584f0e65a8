//! The codes of the dialects that every server shares.

pub mod candor;
pub mod wire;
