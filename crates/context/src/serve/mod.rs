//! The MCP server: its tools, and the caches that it keeps open.

pub(crate) mod cache_list;
pub(crate) mod open_caches;
pub(crate) mod server;
mod tools;
pub(crate) mod watch;
