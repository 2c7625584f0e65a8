//! Builds caches from sources, updates them, seals them, and compares them with their sources.

pub(crate) mod build_record;
pub(crate) mod builder;
#[cfg(test)]
mod crash_tests;
pub(crate) mod document_writer;
pub(crate) mod draft;
pub(crate) mod freshness;
pub(crate) mod origins;
pub(crate) mod quiet_time;
pub(crate) mod reuse;
pub(crate) mod seal;
pub(crate) mod source_filter;
pub(crate) mod source_memory;
pub(crate) mod source_walk;
pub(crate) mod source_watch;
pub(crate) mod sources;
pub(crate) mod target_names;
pub(crate) mod updater;
