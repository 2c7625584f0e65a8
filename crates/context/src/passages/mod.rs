//! Passages: retrieval by BM25 over parts of documents, versioned and deterministic.
