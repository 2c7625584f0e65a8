//! A hash-chained log of canonical JSON objects. Each line carries its number, the hash of the line
//! before it and its own; a line that was promised is on the disk, and whatever is changed, taken out,
//! swapped or added later is found.
//!
//! What a line says is up to whoever writes it; `seq`, `prev_hash` and `hash` are added here.

mod append;
mod canonical;
mod chain;
mod files;
mod hash;
mod line;
mod log;
mod tail;
mod verify;

pub use append::{AppendError, Receipt};
pub use canonical::{NotCanonical, canonical};
pub use hash::Hash;
pub use log::{Log, MAX_WAITING, OpenError, Options, Torn};
pub use verify::{Flaw, Verified, verify};
