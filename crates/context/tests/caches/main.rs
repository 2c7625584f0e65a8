//! Caches: their bytes, their responses, and their refusals.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails like a test"
)]

mod build_target;
mod concurrency;
mod damaged_index;
mod failure_codes;
mod fixture;
mod freshness;
mod generated;
mod golden;
mod hostile_files;
mod leftover_drafts;
mod location;
mod markdown_of_version_one;
mod passages;
mod reading;
mod reading_search;
mod repeatable_builds;
mod replaced_cache;
mod requests;
mod resolve;
mod sources;
mod tampered_cache;
mod tampered_documents;
mod tampered_index;
mod tampered_manifest;
mod tokenizers;
mod unprotected_changes;
mod update;
mod updater;
