//! Proves that a cache is right: by reading everything, or by file stamps taken when it was.

pub(crate) mod check;
pub(crate) mod inspect;
pub(crate) mod proof_file;
