//! Every code of the contract from a real cause, in the groups of the specification.

pub(crate) mod authority;
mod files;
mod generic;
mod governance;
mod input;
mod patches;
mod paths;
mod plans;
mod policy;
mod records;
mod sessions;
