//! The tests of this crate: both backends, the server, and the fixtures that they share.

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

mod fixture;
mod github;
mod local;
mod server;
