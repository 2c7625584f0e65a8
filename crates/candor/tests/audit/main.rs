//! `candor audit` as a person meets it: exact output, exit codes, hints, and what is on the disk after.

// Helpers of tests fail like tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod export;
mod help;
mod moving;
mod place;
mod showing;
mod signing;
mod verifying;
