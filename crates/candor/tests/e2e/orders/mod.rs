//! The order tools as a client meets them: the program on both wires, on both databases, while things
//! go wrong around it.

mod adapter;
mod adapter_check;
mod asking;
mod codes;
mod commands;
mod forms;
mod full_disk;
mod masking;
mod place;
mod secrets;
mod serving;
mod shelf;
mod soak;
mod system;
mod two_servers;
