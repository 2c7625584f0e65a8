//! Governed edits: an agent's only way to change a repository, where every edit is planned, approved, in
//! scope, within policy, checked and on record.
//!
//! A person starts the server for one role and fixes the roots ([`Config`]); [`WorkspaceServer`] has the
//! tools. What a person does beside it (keys, approvals, unlocking) is in [`approval`], [`plan`] and
//! [`lock`].

pub mod approval;
mod config;
pub mod edit;
mod failure;
mod faults;
mod fields;
mod further;
mod hex;
mod line;
mod line_schema;
pub mod lock;
mod memo;
mod notes;
pub mod path;
mod person;
pub mod plan;
pub mod policy;
pub mod preflight;
pub mod protected;
pub mod reading;
mod role;
mod server;
mod session;
pub mod state;
mod tools;
mod write;

pub use config::{Checks, Config, Ids, LOCK_AFTER, Unlock, Variables};
pub use faults::{bootstrap_failure, self_audit_failure};
pub use fields::MAX_CHANGES;
pub use line_schema::line_schema;
pub use person::{Deed, record_by_person, unfinished_change};
pub use role::Role;
pub use server::WorkspaceServer;
pub use session::{CHECKPOINT, WRITE_PATIENCE};
pub use tools::{
    MAX_BODY, MAX_LINES, MAX_LINES_BYTES, MAX_PATHS_BYTES, MAX_TITLE, MAX_WAIT_S, REPORTS_DIR,
};

#[cfg(test)]
mod somebody;
