//! The indexes of a cache: one of documents by word, one of passages by term.

pub(crate) mod document_index;
pub(crate) mod inverted;
pub(crate) mod passage_index;
pub(crate) mod vocabulary;
pub(crate) mod words;
pub(crate) mod writing;
