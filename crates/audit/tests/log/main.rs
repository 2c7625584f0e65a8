//! The log as its users meet it: checkpoints, attacks on it, reading, and several processes at once.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test fails by panicking; one that is started again as a process reads its task from the environment and prints"
)]

mod attacks;
mod checkpoints;
mod ground;
mod lengths;
mod processes;
mod reading;
