//! What the server around the tools promises, on an order system that does as it is told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails like a test"
)]

mod house;
mod scripted;

mod arguments;
mod breaker;
mod codes;
mod deadline;
mod doubt;
mod faulty;
mod limits;
mod listing;
mod metrics;
mod order;
mod pages;
mod retries;
mod secrets;
