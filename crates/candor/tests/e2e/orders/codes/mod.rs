//! Every code from a real cause, through the wire, in both eras; whole answers by the byte.

mod backend;
mod generic;
mod input;
mod late;
mod limits;
mod refusals;
