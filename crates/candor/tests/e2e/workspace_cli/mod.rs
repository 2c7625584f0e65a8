//! The owner's commands of a workspace, and what an agent can
//! do afterwards through a real client.

mod agent;
mod allowing;
mod approving;
mod fixture;
mod locking;
mod making;
mod path;
mod terminal;
mod verified;
