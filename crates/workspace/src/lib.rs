//! Governed edits: an agent's only way to change a repository. Every edit is planned, approved, in
//! scope, within policy, checked and recorded.
//!
//! A person starts the server for one role and fixes the roots ([`Config`]); [`WorkspaceServer`] has the
//! tools. The owner's actions (keys, approvals, unlocking) are in [`approval`], [`plan`] and
//! [`lock`].

pub mod approval;
mod argument_rules;
mod audit_line;
pub mod command;
mod command_starts;
mod config;
pub mod dialect;
pub mod edit;
mod failure;
mod fault_parts;
mod faults;
mod fields;
pub mod governed;
mod hex;
mod instructions;
mod line_schema;
pub mod lock;
pub mod log_checkpoints;
pub mod log_place;
mod loose_files;
mod notes;
mod owner_actions;
mod pace;
pub mod path;
mod penalties;
pub mod plan;
mod plan_cache;
pub mod policy;
pub mod protected;
pub mod reading;
mod report_history;
pub mod repository;
mod role;
mod sandbox_record;
mod server;
mod session;
mod settle_action;
mod shell_word;
pub mod state;
mod tools;
mod visible_text;
mod write;

pub use config::{
    CommandConfig, Config, IdSource, LOCK_AFTER, LOG_MAX, UnlockPolicy, VariableLookup,
};
pub use dialect::REGISTRY;
pub use faults::{bootstrap_failure, self_audit_failure};
pub use fields::MAX_CHANGES;
pub use instructions::MAX_INSTRUCTIONS;
pub use line_schema::{line_schema, line_schema_v2};
pub use loose_files::{LooseFile, find_loose};
pub use owner_actions::{OwnerAction, record_owner_action, unfinished_change};
pub use pace::{BURST, MAX_RATE};
pub use report_history::{MAX_REPORTS_A_DAY, MAX_REPORTS_OF_LOCK, SELF_UNLOCK_PERIOD_S};
pub use role::Role;
pub use server::WorkspaceServer;
pub use session::WRITE_PATIENCE;
pub use settle_action::{
    PendingChange, PendingJournal, SettleChoice, pending_changes, settle_journal,
};
pub use tools::{
    MAX_BODY, MAX_LINES, MAX_LINES_BYTES, MAX_PATHS_BYTES, MAX_STDIN, MAX_TIMEOUT_S, MAX_TITLE,
    MAX_WAIT_S, REPORTS_DIR,
};
pub use visible_text::{visible_lines, visible_text};
