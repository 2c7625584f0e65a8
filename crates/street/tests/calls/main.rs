//! Calls through a dispatcher: what is recorded, kept, undone, counted and answered.

#![allow(clippy::unwrap_used, clippy::panic)] // A test fails by panicking.

mod fixture;
mod interruption;
mod names;
mod order;
mod panics;
mod record;
