//! Deterministic context under a token budget: caches, their index, selection, and the server's tools.

mod accelerate;
mod answer;
mod build;
mod cache;
mod check;
mod codec;
mod digest;
mod document;
mod escape;
mod failure;
mod faults;
mod folder;
mod index;
mod inspect;
mod inverted;
mod listing;
mod location;
mod manifest;
mod object;
mod oracle;
mod origins;
mod parallel;
mod passage_index;
pub mod passages;
mod placing;
mod problem;
mod proof;
mod reader;
mod recent;
mod request;
mod seal;
mod select;
mod server;
mod shelf;
mod signature;
mod sources;
mod status;
mod survey;
mod takeover;
mod target;
mod vocabulary;
mod walk;
mod watch;
mod words;

pub use answer::{Answer, one_line, pretty};
pub use build::{Build, Built, Progress};
pub use digest::Digest;
pub use document::{Document, MAX_CONTENT};
pub use failure::{BudgetFlaw, Failure, QueryFlaw, SourceFlaw, TargetFlaw};
pub use inspect::{Inspection, Report, inspect, verify};
pub use listing::{Caches, list_caches};
pub use location::{Location, Root};
pub use manifest::MAX_LIST_FILE;
pub use oracle::oracle;
pub use problem::{MAX_PROBLEMS, Problem, Wrong};
pub use reader::Reader;
pub use recent::MAX_RECENT;
pub use request::{Budget, MAX_BUDGET, MAX_QUERY, Query};
pub use seal::seal;
pub use server::{ContextServer, MAX_AT_WORK};
pub use shelf::{Clock, MAX_OPEN, Noticing};
pub use sources::{BadGlob, Wanted};
pub use status::{Status, status};

/// The most documents of a cache.
pub const MAX_DOCUMENTS: usize = 4_000_000;

/// The most bytes of an answer.
pub const MAX_ANSWER: usize = 64 * 1024 * 1024;
