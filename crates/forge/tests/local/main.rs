//! What the forge on this machine promises: real git underneath, exact answers, typed failures.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails like a test"
)]

mod ground;
mod marks;
mod reading;
mod revisions;
mod searching;
