//! The log and the edits that it records, compared with the least that the disk could do.

mod appends;
mod growth;
mod writes;

pub(crate) use appends::appending;
pub(crate) use writes::{source_text, writing};
