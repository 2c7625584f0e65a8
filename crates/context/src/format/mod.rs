//! The stored format of a cache: its files, how they are written and read, and how they can be wrong.

pub(crate) mod cache_problem;
pub(crate) mod codec;
pub(crate) mod digest;
pub(crate) mod document;
pub(crate) mod json_object;
pub(crate) mod json_string;
pub(crate) mod manifest;
pub(crate) mod rfc3339;
