//! The workspace as its people meet it: the commands of the person who decides, and what an agent can
//! do afterwards through a real client.

// Helpers of tests fail like tests; the toolchain of the machine is where its environment says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods
)]

mod agent;
mod allowing;
mod approving;
mod locking;
mod making;
mod path;
mod place;
mod terminal;
mod verified;
