//! A hash-chained log of canonical JSON objects. Each line carries its number, the hash of the line
//! before it and its own; a line that was promised is on the disk, and whatever is changed, taken out,
//! swapped or added later is found.
//!
//! What a line says is up to whoever writes it; `seq`, `prev_hash` and `hash` are added here.

mod append;
mod canonical;
mod chain;
mod checkpoint;
#[cfg(test)]
mod costs;
mod files;
mod hash;
mod keeper;
mod line;
mod log;
mod place;
mod quarantine;
mod read;
mod seek;
mod stream;
mod tail;
mod verify;

pub use append::{AppendError, Receipt};
pub use canonical::{NotCanonical, canonical};
pub use checkpoint::{
    CHECKPOINT_NAMESPACE, Checkpoint, KeyError, MAX_CHECKPOINT, NotACheckpoint, Signer,
};
pub use hash::Hash;
pub use keeper::{CHECKPOINT_EVERY, CHECKPOINT_LINES, Checkpoints};
pub use line::MAX_LINE;
pub use log::{Log, MAX_WAITING, OpenError, Options, Torn};
pub use place::Place;
pub use quarantine::{QuarantineError, Quarantined, quarantine};
pub use read::{Extent, Lines, Page, Raw, extent, lines, page, tail};
pub use ssh_key::{PrivateKey, PublicKey};
pub use verify::{Flaw, Verified, verify, verify_against, verify_from};
