//! The index of a text: the position of each value, parents before their children.

use crate::json_ref::JsonRef;
use crate::scan::{MAX_VALUES, ScanOutcome, index_all, scan};
use serde_json::Value;
use std::fmt;
use std::ops::Deref;

/// The most bytes of the index that a call keeps beside the text of its arguments.
pub const MAX_INDEX_BYTES: usize = MAX_VALUES * size_of::<IndexEntry>();

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl JsonKind {
    /// Returns the name of the type in JSON Schema.
    pub const fn name(self) -> &'static str {
        match self {
            JsonKind::Null => "null",
            JsonKind::Boolean => "boolean",
            JsonKind::Number => "number",
            JsonKind::String => "string",
            JsonKind::Array => "array",
            JsonKind::Object => "object",
        }
    }
}

/// One value of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub kind: JsonKind,
    /// True if the text of the value is its compact form: no white space, no escape, and only integers
    /// that are written as they are printed.
    pub is_compact: bool,
    pub is_name_escaped: bool,
    /// The offsets of the value.
    pub start: u32,
    pub end: u32,
    /// The offsets of the member's name between its quotes.
    pub name_start: u32,
    pub name_end: u32,
    /// The number of members or items.
    pub len: u32,
    /// The number of entries of this value and everything in it.
    pub size: u32,
}

/// The index of one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JsonIndex(pub(crate) Vec<IndexEntry>);

impl JsonIndex {
    /// Returns the root of the text that was scanned. Returns `None` if it is not JSON.
    pub fn root<'a>(&'a self, text: &'a str) -> Option<JsonRef<'a>> {
        (!self.0.is_empty()).then(|| JsonRef::new(text, &self.0, 0))
    }
}

/// A text with its index.
#[derive(Clone, PartialEq, Eq)]
pub struct IndexedText {
    text: Box<str>,
    index: JsonIndex,
}

impl IndexedText {
    /// Scans a text. Returns `None` if the scan refuses it.
    pub fn new(text: impl Into<Box<str>>) -> Option<IndexedText> {
        let text = text.into();
        match scan(&text) {
            (ScanOutcome::Fine, index) => Some(IndexedText { text, index }),
            _ => None,
        }
    }

    /// Writes a value down and indexes it, however deep and large it is: only what comes from outside is
    /// bounded.
    pub fn unbounded(value: &Value) -> IndexedText {
        let text = value.to_string();
        let index = index_all(&text);
        IndexedText {
            text: text.into(),
            index,
        }
    }

    /// Copies a value of another text, with its part of the index.
    pub(crate) fn copy_of(text: &str, entries: &[IndexEntry]) -> IndexedText {
        let offset = entries.first().map_or(0, |root| root.start);
        let shifted = entries.iter().map(|entry| IndexEntry {
            start: entry.start - offset,
            end: entry.end - offset,
            // Items of an array have no name.
            name_start: entry.name_start.saturating_sub(offset),
            name_end: entry.name_end.saturating_sub(offset),
            ..*entry
        });
        let mut index: Vec<_> = shifted.collect();
        // The name of the value itself is outside of the copy.
        if let Some(root) = index.first_mut() {
            root.is_name_escaped = false;
        }
        IndexedText {
            text: text.into(),
            index: JsonIndex(index),
        }
    }

    pub fn root(&self) -> JsonRef<'_> {
        JsonRef::new(&self.text, &self.index.0, 0)
    }

    #[cfg(test)]
    pub(crate) fn index_bytes(&self) -> usize {
        self.index.0.capacity() * size_of::<IndexEntry>()
    }
}

impl From<&Value> for IndexedText {
    /// Writes a value down and indexes it. A value that the scan refuses becomes null: nested more than
    /// [`MAX_DEPTH`](crate::MAX_DEPTH) levels deep, or of too many values.
    fn from(value: &Value) -> Self {
        IndexedText::from(value.to_string())
    }
}

impl From<String> for IndexedText {
    /// Indexes a text that a transport has accepted. A text that the scan refuses becomes null.
    fn from(text: String) -> Self {
        IndexedText::new(text).unwrap_or_else(|| JsonRef::NULL.to_indexed())
    }
}

impl Deref for IndexedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for IndexedText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(out)
    }
}
