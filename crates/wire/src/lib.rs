//! MCP over stdio and HTTP: two pure functions, [`read`] and [`write()`], and the two transports that
//! use them. The only state between two messages is the set of calls in flight on one stdio
//! connection.
//!
//! Absent on purpose: prompts, resources, completion, sampling, roots, logging, elicitation,
//! subscriptions, tasks, sessions, resumption, OAuth, batches.

pub mod http;
mod listing;
mod mirror;
mod read;
mod revision;
mod scan;
pub mod stdio;
mod write;

pub use listing::Listing;
pub use read::{Ask, Called, Inbound, read};
pub use revision::{Facts, HANDSHAKE_REVISIONS, Headers, STATELESS_REVISION};
pub use scan::{Flaw, MAX_DEPTH, MAX_VALUES, Verdict, members, scan};
pub use write::{write, write_notification};
