//! Deterministic context under a token budget: caches, their index, selection, and the server's tools.

mod build;
mod cache;
mod failure;
mod faults;
mod files;
mod format;
mod index;
mod parallel;
pub mod passages;
mod proof;
mod query;
mod serve;

pub use build::builder::{Build, Built, Progress};
pub use build::freshness::{Status, status};
pub use build::seal::seal;
pub use build::sources::{BadGlob, Wanted};
pub use failure::{BudgetFlaw, Failure, QueryFlaw, SourceFlaw, TargetFlaw};
pub use files::location::{Location, Root};
pub use format::cache_problem::{MAX_PROBLEMS, Problem, Wrong};
pub use format::digest::Digest;
pub use format::document::{Document, MAX_CONTENT};
pub use format::manifest::MAX_LIST_FILE;
pub use proof::inspect::{Inspection, Report, inspect, verify};
pub use query::oracle::oracle;
pub use query::reader::Reader;
pub use query::recent_documents::MAX_RECENT;
pub use query::request::{Budget, MAX_BUDGET, MAX_QUERY, Query};
pub use query::response::{Answer, one_line, pretty};
pub use serve::cache_list::{Caches, list_caches};
pub use serve::open_caches::{Clock, MAX_OPEN, Noticing};
pub use serve::server::{ContextServer, MAX_AT_WORK};

/// The most documents of a cache.
pub const MAX_DOCUMENTS: usize = 4_000_000;

/// The most bytes of an answer.
pub const MAX_ANSWER: usize = 64 * 1024 * 1024;
