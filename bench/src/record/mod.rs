//! The log and the edits that it records, each beside the least that the disk could do.

mod appends;
mod counting;
mod growth;
mod writes;

pub(crate) use appends::appending;
pub(crate) use writes::writing;
