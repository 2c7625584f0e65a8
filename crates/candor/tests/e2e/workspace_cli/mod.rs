//! The owner's commands of a workspace, and the calls of an agent after them.

mod agent;
mod allow;
mod approval_terms;
mod approve;
mod binding;
mod escaped_texts;
mod first_edit;
mod fixture;
mod init;
mod log_place;
mod preflight;
mod terminal;
mod unlock;
