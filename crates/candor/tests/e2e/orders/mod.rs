//! The order tools as a client meets them: the program on both wires, on both databases, while things
//! go wrong around it.

mod adapter;
mod adapter_check;
mod codes;
mod commands;
mod database;
mod fixture;
mod forms;
mod full_disk;
mod masking;
mod order_system;
mod requests;
mod secrets;
mod serving;
mod soak;
mod two_servers;
