//! What the server around the tools promises, on a backend that does as it is told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails like a test"
)]

mod house;
mod stub;
mod valid;
mod world;

mod agreement;
mod beyond_schema;
mod bounds;
mod changing;
mod contents;
mod deadlines;
mod derived;
mod forms;
mod keywords;
mod limits;
mod lines;
mod listing;
mod mergeability;
mod merging;
mod outputs;
mod paging;
mod permission;
mod policy;
mod records;
mod seed_examples;
mod unknown_tool;
mod violations;
mod words;
