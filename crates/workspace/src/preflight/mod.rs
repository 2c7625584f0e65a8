//! Keeps a plan's commands away from protected paths: before they run ([`Fence`]) and afterwards
//! ([`Fingerprint`]).

mod fence;
mod fingerprint;

pub use fence::Fence;
pub use fingerprint::{
    Fingerprint, FingerprintError, MAX_FINGERPRINT_BYTES, MAX_FINGERPRINT_ENTRIES,
};
