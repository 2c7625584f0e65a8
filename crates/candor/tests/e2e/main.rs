//! End-to-end tests: the programs `candor` and `context` as clients and people use them, over real processes.

// Helpers fail a test by panicking, and read the environment of the test process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods
)]

mod audit;
mod clients;
mod context;
mod docs;
mod fixture;
mod github;
mod orders;
mod otlp;
mod requests;
mod wire;
mod workspace;
mod workspace_cli;
