//! Runs the commands of plans in the sandbox, and keeps them away from protected paths: before they run
//! ([`Fence`]) and afterwards ([`Fingerprint`]).

mod fence;
mod fingerprint;
mod hidden_files;
mod output_tail;
mod run;
mod scratch;
mod writable;

pub use fence::Fence;
pub use fingerprint::{
    Fingerprint, FingerprintError, MAX_FINGERPRINT_BYTES, MAX_FINGERPRINT_ENTRIES,
};
pub use hidden_files::{MAX_DEPTH, MAX_ENTRIES};
pub use run::{CommandError, CommandOutcome, CommandSpec, OUTPUT_BYTES, PathRules, run};
pub use writable::WritableError;
