//! Proves that a cache is valid: by reading everything, or by the stamps of an earlier proof.

pub(crate) mod check;
pub(crate) mod inspect;
pub(crate) mod proof_file;
