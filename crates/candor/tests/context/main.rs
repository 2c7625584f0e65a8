//! Context caches as people and clients meet them: the program `context` and its server on stdio, byte
//! for byte.

// Helpers of tests fail like tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arguments;
mod commands;
mod output;
mod place;
mod repeatable;
mod server;
mod usage;
