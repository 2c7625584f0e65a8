//! The backend `github` against a scripted server on this machine, fed with answers that GitHub
//! recorded or documented. Every request that it sends is held against GitHub's own description.

#![allow(clippy::unwrap_used, clippy::panic)] // A test fails by panicking.

mod canary;
mod commits;
mod description;
mod documented;
mod enterprise;
mod marks;
mod network;
mod pulls;
mod reads;
mod redirects;
mod refusals;
mod remembered;
mod scripted;
mod stage;
mod updates;
