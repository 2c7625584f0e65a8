//! The two MCP servers, each with its tools, the caches that a server keeps open, and the sources that it
//! follows.

pub(crate) mod answer_room;
pub(crate) mod cache_list;
pub(crate) mod open_caches;
pub(crate) mod reading_server;
mod reading_tools;
pub(crate) mod server;
pub(crate) mod source_follower;
mod tools;
pub(crate) mod watch;
