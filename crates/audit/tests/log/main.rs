//! Logs through the public interface: checkpoints, attacks, reading, lengths, and several processes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod attacks;
mod checkpoints;
mod completeness;
mod fixture;
mod line_length;
mod processes;
mod reading;
mod real_log;
