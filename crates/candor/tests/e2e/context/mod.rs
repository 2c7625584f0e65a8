//! The program `context` and its server on stdio, compared byte
//! for byte.

pub(crate) mod agents_day;
mod arguments;
mod build_errors;
mod changes;
mod command_and_server;
mod commands;
mod concurrent_builds;
mod concurrent_calls;
mod errors;
pub(crate) mod fixture;
mod following;
mod full_disk;
mod hostile;
mod killed;
mod open_file_limit;
mod output;
mod permissions;
mod reading;
mod reading_resources;
mod remembered_builds;
mod repeatable;
mod reports;
mod root;
mod rust_client;
mod server;
mod sources;
mod tokenizers;
mod tools;
mod unread_answers;
mod usage;
mod watch;
mod wrong_arguments;
