//! Calls through a dispatcher: their answers, records, pending changes and metrics.

#![allow(clippy::unwrap_used, clippy::panic)] // A test fails by panicking.

mod fixture;
mod interruption;
mod names;
mod order;
mod panics;
mod record;
