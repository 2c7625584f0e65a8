//! Commands as an attacker writes them, run in the real sandbox. The program of these tests is the helper
//! and the attacker.

// Test fixtures fail like tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods
)]

mod dependencies;
mod drill;
mod ending;
mod files;
mod fixture;
mod proxy;
mod reach;
mod starting;
mod streams;
mod weaker_machines;
