//! The workspace as its people meet it: the commands of the person who decides, and what an agent can
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
