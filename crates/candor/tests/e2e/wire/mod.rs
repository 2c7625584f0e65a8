//! The protocol on stdio and HTTP, and the commands of `candor`, compared byte by byte.

mod admission;
mod answers;
mod broken_messages;
mod cli;
mod connections;
mod crowds;
mod dialects;
mod eras;
pub(crate) mod fixture;
mod half_closed;
mod header_arguments;
mod in_flight;
mod limits;
mod progress;
mod resources;
mod secrets;
mod shutdown;
mod terminal;
mod unknown_tools;
