//! The dialects that every server shares: plain JSON-RPC errors, and the neutral dialect `candor/1`.

mod candor;
mod wire;

pub use candor::Candor;
pub use wire::{UnknownTool, Wire, WireFacts};
