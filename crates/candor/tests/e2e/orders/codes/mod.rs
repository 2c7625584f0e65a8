//! Every code from a real cause, in both eras, compared byte by byte.

mod backend;
mod generic;
mod input;
mod limits;
mod refusals;
mod timeouts;
