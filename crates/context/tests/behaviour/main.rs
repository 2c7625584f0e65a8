//! What the crate promises about caches: their bytes, their answers, and what is refused.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails like a test"
)]

mod codes;
mod concurrency;
mod corpora;
mod damage;
mod engine;
mod golden;
mod ground;
mod harmless;
mod hostile;
mod leftovers;
mod locations;
mod repeatable;
mod replaced;
mod served;
mod sources;
mod status;
mod tampered;
mod tampered_documents;
mod tampered_index;
mod tampered_manifest;
mod targets;
mod updates;
