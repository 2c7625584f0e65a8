//! Runs the commands of plans in the sandbox, and keeps them away from protected paths: before they run
//! ([`Fence`]) and afterwards ([`Fingerprint`]).

mod build_dir;
mod fence;
mod fingerprint;
mod hidden_files;
mod output;
mod repair_modes;
mod run;
mod scratch;
mod writable;

pub use build_dir::{BuildDir, FoundBuildDir, measure, remove_ended};
pub use fence::Fence;
pub use fingerprint::{
    Fingerprint, FingerprintError, MAX_FINGERPRINT_BYTES, MAX_FINGERPRINT_ENTRIES, ModeList,
};
pub use hidden_files::{MAX_DEPTH, MAX_ENTRIES};
pub(crate) use repair_modes::repair_modes;
pub use run::{
    CommandError, CommandOutcome, CommandSpec, KeptOutput, MAX_OUTPUT_BYTES, OUTPUT_BYTES,
    PathRules, run,
};
pub use writable::WritableError;
