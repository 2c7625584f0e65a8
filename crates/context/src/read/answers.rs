//! The answers of reading, with their members in order.

use crate::passages::SelectedPassage;
use serde::Serialize;

/// The passages that answer a query best.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchAnswer {
    /// The passages, best first.
    pub passages: Vec<FoundPassage>,
    pub selection: SearchSelection,
}

/// A passage and the name of its cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundPassage {
    pub cache: String,
    #[serde(flatten)]
    pub passage: SelectedPassage,
}

/// A summary of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchSelection {
    pub query: String,
    pub budget: u64,
    pub tokenizer: String,
    pub tokens_used: u64,
    pub caches: Vec<SearchedCache>,
    /// The number of passages that contain a term of the query.
    pub passages_considered: u64,
    pub passages_selected: u64,
}

/// A cache that was searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchedCache {
    pub cache: String,
    pub cache_version: String,
    /// The digest of the index that answered.
    pub index: String,
}

/// A document, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DocumentAnswer {
    pub cache: String,
    pub cache_version: String,
    pub id: String,
    pub version: String,
    pub source: String,
    pub title: Option<String>,
    /// The first and the last line, counted from 1. `None` if the content is empty.
    pub lines: Option<[u64; 2]>,
    /// The offset of the first byte, and the offset after the last.
    pub range: [u64; 2],
    pub total_lines: u64,
    pub total_bytes: u64,
    pub content: String,
    pub tokens: u64,
    pub tokenizer: String,
    /// The range of the rest of the part that was asked for.
    pub next: Option<[u64; 2]>,
    /// The budget of the request, and whether only one cache was asked. Only the text form uses them.
    #[serde(skip)]
    pub(crate) budget: u64,
    #[serde(skip)]
    pub(crate) one_cache: bool,
}

/// The caches that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CachesAnswer {
    pub caches: Vec<ListedCache>,
}

/// A cache in the list of caches. Its figures are absent if it cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedCache {
    pub cache: String,
    pub cache_version: Option<String>,
    pub document_count: Option<u64>,
    pub tokens: Option<u64>,
    pub tokenizer: Option<String>,
    /// True if it matches its sources; `None` if nothing follows them.
    pub fresh: Option<bool>,
    pub updated_at: Option<String>,
    /// The code of the failure, if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<&'static str>,
}

/// One level of the tree of documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LevelAnswer {
    pub cache: String,
    pub under: String,
    pub entries: Vec<LevelEntry>,
    /// The value of `after` for the next page.
    pub next: Option<String>,
}

/// A folder or a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum LevelEntry {
    Folder {
        name: String,
        /// The number of documents in it, at all levels.
        documents: u64,
    },
    Document {
        id: String,
        title: Option<String>,
        tokens: u64,
        version: String,
    },
}

/// The answer of a list: the caches, or one level of one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ListAnswer {
    Caches(CachesAnswer),
    Level(LevelAnswer),
}
