//! The data of a search in the files of one repository.

use serde::Serialize;

/// A query for the files of one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeQuery {
    /// Words, and phrases in quotes. All of them must occur.
    pub text: String,
    /// The beginning of the paths to search.
    pub path: Option<String>,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodeMatch {
    /// From 1. `None` if the backend does not know it.
    pub line: Option<u64>,
    pub text: String,
}

/// A file that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodeResult {
    /// From the root of the repository.
    pub path: String,
    pub url: String,
    pub matches: Vec<CodeMatch>,
}

/// A page of files that match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodePage {
    /// In the byte order of paths on the local backend.
    pub results: Vec<CodeResult>,
    /// The number of files that were found.
    pub total_count: u64,
    /// True if the search ended before it was complete.
    pub incomplete: bool,
    /// The branch that was searched.
    pub at: String,
    /// True if there is a next page.
    pub more: bool,
}

/// The maximum number of matches of a file in an answer.
pub const MAX_FILE_MATCHES: usize = 5;

/// The maximum number of characters of a match.
pub const MAX_MATCH_CHARS: usize = 300;

/// Returns a match as an answer has it: without the end of its line, and cut to its maximum around the
/// character at which it begins.
pub(crate) fn shown_match(line: &str, at: usize) -> String {
    /// Characters that are kept before the match.
    const BEFORE: usize = 50;
    let line = line.trim_end_matches(['\n', '\r']);
    let characters = line.chars().count();
    let begin = match characters > MAX_MATCH_CHARS {
        true => at.saturating_sub(BEFORE).min(characters - MAX_MATCH_CHARS),
        false => 0,
    };
    line.chars().skip(begin).take(MAX_MATCH_CHARS).collect()
}
