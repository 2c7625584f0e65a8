//! The library for authors of servers: declare codes with [`registry!`], add tools to a [`SimpleServer`] (or
//! implement [`Server`]), and serve with [`stdio`]. Every failure of such a server has a stable code, states
//! whether to retry and whether anything was changed, and validates against a schema.
//!
//! `examples/weather` is a complete server.

pub mod cli;
mod host;
mod playground;
pub mod registries;
mod simple_server;
mod stderr_lines;

pub use candor_fault::dialects::Candor;
pub use candor_fault::{
    Cause, Class, ClientText, Code, CodeRow, Effect, Fault, Raise, Refusal, Retry, Violations,
    registry, schemas,
};
pub use candor_schema as schema;
pub use candor_street::{
    Call, CallContext, IndexedText, JsonRef, Reply, Server, Tool, Tools, reply, reply_text,
};
pub use host::{stdio, system_clock};
pub use serde_json;
pub use simple_server::SimpleServer;
