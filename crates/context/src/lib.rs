//! Deterministic context under a token budget: caches, their index, selection, and the server's tools.

mod build;
mod cache;
pub mod dialect;
mod failure;
mod faults;
mod files;
mod format;
mod index;
mod parallel;
pub mod passages;
mod proof;
mod query;
mod read;
mod serve;
mod tokenizer;

pub use build::build_record::{
    BuildRecord, FoundRecord, RecordLookup, find_record, has_passages, is_same_directory,
};
pub use build::builder::{
    Build, BuildOutcome, BuildProgress, MAX_SKIPPED, SkippedSource, SkippedSources,
};
pub use build::freshness::{Comparison, Freshness, status};
pub use build::quiet_time::{LONGEST_WAIT, QUIET_TIME};
pub use build::seal::seal;
pub use build::source_filter::{InvalidGlob, MAX_GLOBS, Preset, SourceFilter};
pub use build::updater::{RETRY_INTERVAL, StopSignal, UpdateReports, Updater};
pub use dialect::REGISTRY;
pub use dialect::v1::REGISTRY as REGISTRY_V1;
pub use failure::{BudgetFlaw, Failure, QueryFlaw, SourceFlaw, TargetFlaw};
pub use files::location::{Location, RootDirectory};
pub use format::cache_problem::{CacheProblem, CacheProblemKind, MAX_PROBLEMS};
pub use format::digest::Digest;
pub use format::document::{Document, MAX_CONTENT};
pub use format::manifest::MAX_LIST_FILE;
pub use proof::inspect::{Inspection, VerifyResponse, inspect, verify};
pub use query::oracle::oracle;
pub use query::reader::Reader;
pub use query::recent_documents::MAX_RECENT;
pub use query::request::{MAX_BUDGET, MAX_QUERY, Query, TokenBudget};
pub use query::response::{ResolveResponse, to_json_line, to_pretty_json};
pub use read::answers::{
    CachesAnswer, DocumentAnswer, FoundPassage, LevelAnswer, LevelEntry, ListAnswer, ListedCache,
    SearchAnswer, SearchSelection, SearchedCache,
};
pub use read::catalogue::{
    Catalogue, DEFAULT_CACHE, EmptyDirectory, MAX_SEARCHED, MAX_SERVED, NamedCache, PathFlaw,
};
pub use read::document::{DocumentPart, DocumentRequest};
pub use read::failure::{ReadFailure, UnknownCache, UnknownDocument};
pub use read::listing::{DEFAULT_ENTRIES, ListRequest, MAX_ENTRIES};
pub use read::render::OutputForm;
pub use read::resources::{MAX_RESOURCE, MAX_RESOURCES};
pub use read::search::SearchRequest;
pub use serve::answer_room::{MAX_UNCOUNTED_ANSWER, MAX_WAITING_ANSWERS};
pub use serve::cache_list::{CacheList, list_caches};
pub use serve::open_caches::{ChangeDetection, MAX_OPEN};
pub use serve::reading_server::{MAX_INSTRUCTIONS, ReadingServer};
pub use serve::server::{ContextServer, MAX_AT_WORK};
pub use serve::source_follower::{SEARCH_INTERVAL, SourceFollower, UpdateSettings};
pub use tokenizer::Tokenizer;

/// The most documents of a cache.
pub const MAX_DOCUMENTS: usize = 4_000_000;

/// The most bytes of a response.
pub const MAX_ANSWER: usize = 64 * 1024 * 1024;
