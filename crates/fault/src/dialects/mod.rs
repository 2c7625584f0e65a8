//! The dialects: how each family of servers says success and failure, byte for byte.

mod candor;
mod context;
mod github;
mod orders;
mod result;
mod wire;
mod workspace;

pub use candor::Candor;
pub use context::Context;
pub use github::{Github, GithubFacts};
pub use orders::{Orders, OrdersFacts};
pub use wire::{UnknownTool, Wire, WireFacts};
pub use workspace::{Workspace, WorkspaceFacts};
