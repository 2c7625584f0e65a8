//! Calls of tools without a transport: builds a `Call`, waits for its answer, lends effect marks and
//! clocks, compares schemas with types. For the tests of every server.

// A test that cannot go on has nobody to return an error to.
#![allow(clippy::expect_used, clippy::panic)]

mod calls;
mod clocks;
mod marks;
mod schema_agreement;
mod schema_values;

pub use calls::{answer, answer_line, answer_until, call, call_by, context};
pub use clocks::{SteppingClock, specification_instant};
pub use marks::{reading_mark, writing_mark};
pub use schema_agreement::assert_schema_agreement;
pub use schema_values::{MemberExamples, ObjectMembers, SchemaValues, schema_members};
