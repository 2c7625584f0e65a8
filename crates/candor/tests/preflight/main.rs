//! A plan's commands as an attacker writes them, run for real: this program as the helper, and this test
//! binary as the program that is run.

// Helpers of tests fail like tests; the attacker is told by its environment what to try.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

mod attacker;
mod bare;
mod ending;
mod files;
mod output;
mod place;
mod reach;
mod starting;
