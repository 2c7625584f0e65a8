//! The dialects that every server shares: plain JSON-RPC errors, and the neutral dialect `candor/1`.

mod candor;
mod wire;

pub use candor::{Candor, candor_error_object, encode_candor_failure};
pub use wire::{UnknownTool, Wire, WireFacts};
