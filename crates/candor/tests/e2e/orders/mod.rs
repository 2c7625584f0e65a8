//! The order tools: both transports, both databases, and failures
//! of their environment.

mod adapter;
mod adapter_check;
mod clients;
mod codes;
mod commands;
mod database;
pub(crate) mod fixture;
mod forms;
mod full_disk;
mod masking;
mod order_system;
mod readiness;
pub(crate) mod requests;
mod secrets;
mod serving;
mod soak;
mod two_servers;
