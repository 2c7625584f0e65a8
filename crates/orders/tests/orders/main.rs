//! The order tools on every adapter: a scripted one behind the guard, HTTP order systems, and
//! databases.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails like a test"
)]

mod fixture;
mod requests;

mod dependencies;
mod guard;
mod http;
mod sql;
