//! The order tools: both transports, both databases, and failures
//! of their environment.

mod adapter;
mod adapter_check;
mod clients;
mod clients_under_load;
mod codes;
mod commands;
mod config;
mod database;
pub(crate) mod fixture;
mod forms;
mod full_disk;
mod key_store;
mod masking;
mod operations;
mod operations_page;
mod order_system;
mod power_failures;
mod readiness;
pub(crate) mod requests;
mod secrets;
mod serving;
mod soak;
mod two_servers;
