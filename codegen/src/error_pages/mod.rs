//! The pages in `docs/errors`: one for each registry, and their index.

mod examples;
mod page;
mod readme;
mod words;

pub(crate) use page::page;
pub(crate) use readme::readme;
