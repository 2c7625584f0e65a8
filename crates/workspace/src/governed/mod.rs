//! Governs the files of the tree that commands may write: what a command changes there is judged like an
//! edit, and put back if it is not allowed.
//!
//! A file in a `writable` path is governed unless git ignores it. Before the commands of a call start, the
//! governed files are listed with their hashes, their bytes are saved in the state directory, and an entry
//! in a journal says so. If the server dies before the call is on record, the next session puts them back.

mod entry;
mod ignore_rules;
mod restore;
mod run;
mod saved_bytes;
mod snapshot;
#[cfg(test)]
mod tests;

pub use snapshot::{MAX_GOVERNED_BYTES, MAX_GOVERNED_FILES};

pub(crate) use entry::{pending_entry, remove_entry, save_entry};
pub(crate) use run::{GovernedChange, GovernedChanges, GovernedRun, Recovered, recover};
pub(crate) use saved_bytes::{SavedBytes, remove_abandoned};
pub(crate) use snapshot::SnapshotError;

/// The maximum number of governed files that the commands of one call may change.
pub const MAX_GOVERNED_CHANGES: usize = 500;
