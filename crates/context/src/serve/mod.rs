//! The two MCP servers, each with its tools, and the caches that a server keeps open.

pub(crate) mod cache_list;
pub(crate) mod open_caches;
pub(crate) mod reading_server;
mod reading_tools;
pub(crate) mod server;
mod tools;
pub(crate) mod watch;
