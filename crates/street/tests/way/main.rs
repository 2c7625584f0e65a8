//! The way of a call, seen from outside: what is recorded, kept, undone, counted and answered.

mod cut;
mod names;
mod order;
mod record;
mod station;
