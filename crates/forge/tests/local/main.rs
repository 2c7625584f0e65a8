//! What the forge on this machine promises: real git underneath, exact answers, typed failures.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails like a test"
)]
#![allow(
    clippy::result_large_err,
    reason = "failures are compared here, not passed on"
)]

mod branches;
mod commits;
mod concurrency;
mod crashes;
mod ground;
mod hostile;
mod managing;
mod marks;
mod merging;
mod pulls;
mod reading;
mod revisions;
mod rules;
mod searching;
