//! A hash-chained log of canonical JSON objects. Each line contains its number, the hash of the
//! previous line and its own hash. A line whose receipt was returned is durable. Verification
//! detects every line that is changed, removed, swapped or inserted later.
//!
//! The caller chooses the members of a line; this crate adds `seq`, `prev_hash` and `hash`.

mod append;
mod canonical;
mod chain;
mod checkpoint;
mod checkpoint_file;
mod checkpoint_thread;
mod completeness;
mod file_end;
mod find_line;
mod hash;
mod line;
mod line_scanner;
mod log;
mod log_files;
mod move_log;
mod quarantine;
mod read;
mod retire;
mod verify;
#[cfg(test)]
mod write_costs;

pub use append::{AppendError, AppendReceipt};
pub use canonical::{NotCanonical, canonical};
pub use checkpoint::{
    CHECKPOINT_NAMESPACE, Checkpoint, InvalidCheckpoint, MAX_CHECKPOINT, Signer, SignerKeyError,
};
pub use checkpoint_file::CheckpointFile;
pub use checkpoint_thread::{CHECKPOINT_EVERY, CHECKPOINT_LINES, CheckpointWriter};
pub use completeness::{
    CheckpointContent, CheckpointVerdict, Completeness, JudgedPart, KnownCheckpoint, LogEvidence,
    LogJudgement, SMALL_LOG, checkpoint_verified_end, judge,
};
pub use hash::Hash;
pub use line::MAX_LINE;
pub use log::{Log, LogOptions, MAX_WAITING, OpenError, TornBytes};
pub use move_log::{LogMove, move_log};
pub use quarantine::{QuarantineError, QuarantinedLog, quarantine};
pub use read::{LinePage, LogLine, LogLineReader, LogSize, last_lines, lines, log_size, page};
pub use retire::{LogAnchor, RetiredFiles, Retirement, retire};
pub use ssh_key::{PrivateKey, PublicKey};
pub use verify::{LogFlaw, Verification, verify, verify_against, verify_from, verify_retired};
