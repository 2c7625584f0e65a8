//! Passages: retrieval by BM25 over parts of documents, versioned and deterministic.
pub(crate) const PASSAGES_FILE: &str = "passages.idx";
