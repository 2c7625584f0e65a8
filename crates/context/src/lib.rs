//! Deterministic context under a token budget: caches, their index, selection, and the server's tools.

pub mod passages;
