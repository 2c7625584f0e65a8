//! The adapter `http` against scripted order systems on this machine, the checks against the sample
//! adapter, and the checks against order systems that are wrong.

#![allow(clippy::unwrap_used, clippy::panic)] // A test fails by panicking.

mod capabilities;
mod desk;
mod docs;
mod marks;
mod network;
mod requests;
mod sample;
mod scripted;
mod stage;
mod table;
mod wrong;
