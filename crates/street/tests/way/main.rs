//! The way of a call, seen from outside: what is recorded, kept, undone, counted and answered.

#![allow(clippy::unwrap_used, clippy::panic)] // A test fails by panicking.

mod boundary;
mod cut;
mod names;
mod order;
mod record;
mod station;
