//! The workspace server: its tools on stdin and stdout, its log, and the files that other
//! processes find afterwards.

mod approval_versions;
mod arguments;
mod build_directory;
mod canary;
mod codes;
mod command_starts;
mod commands;
mod envelope;
mod escapes;
mod executed_files;
pub(crate) mod fixture;
mod full_disk;
mod gates;
mod governed_files;
pub(crate) mod kernel;
mod killed;
mod killed_commands;
mod listing;
mod locking;
mod many_plans;
mod obligations;
mod ordinary_edits;
mod ordinary_user;
mod pace_and_size;
mod policy_rules;
mod race;
mod recovery;
mod reports;
mod requests;
mod roles_and_roots;
mod sandbox;
mod several_processes;
mod starting;
mod unsettled;
mod waiting;
