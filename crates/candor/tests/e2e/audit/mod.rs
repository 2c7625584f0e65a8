//! `candor audit`: output, exit codes, hints, and the files afterwards.

mod export;
mod fixture;
mod help;
mod quarantine;
mod retire;
mod signed_checkpoints;
mod tail_and_stats;
mod tampering;
mod verify;
