//! MCP over stdio and HTTP: two pure functions, [`read`] and [`write()`], and the two transports that
//! use them. The only state between two messages is the set of calls in flight on one stdio
//! connection.
//!
//! Absent on purpose: prompts, resources, completion, sampling, roots, logging, elicitation,
//! subscriptions, tasks, sessions, resumption, OAuth, batches.

mod header_arguments;
pub mod http;
mod mirrored_header;
mod read;
mod revision;
mod server_listing;
pub mod stdio;
#[cfg(test)]
mod test_server;
mod write;

pub use candor_json::{MAX_DEPTH, MAX_INDEX_BYTES, MAX_VALUES};
pub use header_arguments::{HeaderLookup, check_header_arguments};
pub use read::{ClientRequest, Inbound, OfferedMethods, ToolCall, read};
pub use revision::{HANDSHAKE_REVISIONS, Headers, MessageSource, STATELESS_REVISION};
pub use server_listing::ServerListing;
pub use write::{write, write_notification};
