//! Calls of tools without a transport: builds a `Call`, waits for its answer, lends effect marks and
//! clocks. For the tests of every server.

// A test that cannot go on has nobody to return an error to.
#![allow(clippy::expect_used)]

mod calls;
mod clocks;
mod marks;

pub use calls::{answer, answer_line, answer_until, call, call_by};
pub use clocks::{SteppingClock, specification_instant};
pub use marks::{reading_mark, writing_mark};
