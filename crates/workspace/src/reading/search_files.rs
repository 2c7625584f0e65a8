//! Searching the lines of files.

use super::file_filter::FileFilter;
use super::tree_walk::{MAX_WALK_DEPTH, Truncation, WalkStart};
use super::{ReadError, WorkspaceReader, display_path};
use crate::state::is_log_path;
use candor_disk::DiskFile;
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::io::{self, Read};
use std::path::Path;

/// Matches in one answer.
pub const MAX_MATCHES: usize = 200;

/// Characters of a matching line in an answer.
pub const MATCH_CHARS: usize = 300;

/// The number of characters before the match in a line that is cut.
const LEAD_CHARS: usize = 100;

/// The longest file that is searched.
pub const MAX_SEARCHED_FILE: u64 = 5 * 1024 * 1024;

/// The longest line that is searched: a pattern cannot be interrupted within a line.
pub const MAX_SEARCHED_LINE: usize = 16 * 1024;

/// Files that one call searches.
pub const MAX_SEARCHED_FILES: u64 = 50_000;

/// Bytes that one call searches.
pub const MAX_SEARCHED_BYTES: u64 = 512 * 1024 * 1024;

/// Characters that a pattern may have.
pub const MAX_PATTERN_CHARS: usize = 1_000;

/// The maximum size of a compiled pattern, and of its cache, in bytes.
const MAX_PATTERN_BYTES: usize = 256 * 1024;

/// The maximum nesting of a pattern.
const MAX_PATTERN_DEPTH: u32 = 64;

/// Characters of a complaint about a pattern.
const COMPLAINT_CHARS: usize = 1_000;

/// The arguments of `search_files`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SearchRequest {
    /// A regular expression, matched within lines.
    pub pattern: String,
    /// Only files that match: by name if the glob has no slash, else by path from the root.
    #[serde(default)]
    pub glob: Option<String>,
    /// The directory to search, or one file, which is searched even if it does not match the glob.
    /// The default is the root.
    #[serde(default)]
    pub path: Option<String>,
    /// True if the case of letters means nothing.
    #[serde(default)]
    pub ignore_case: bool,
}

/// The lines that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchAnswer {
    /// Lines that match, in the order of paths.
    pub matches: Vec<LineMatch>,
    /// Files that were searched.
    pub files: u64,
    /// Files that were not, and why.
    pub skipped: SkippedFiles,
    /// The reason why this may be incomplete; null if it is complete.
    pub truncated: Option<Truncation>,
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineMatch {
    /// The file, from the root.
    pub path: String,
    /// The number of the line, counted from one.
    pub line: u64,
    /// The character of the line that the first match begins at, counted from one.
    pub column: u64,
    /// The line without its ending; where `cut`, the part of it around the first match.
    pub text: String,
    /// True if `text` is only a part of the line.
    #[serde(skip_serializing_if = "is_false")]
    pub cut: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The numbers of files that were not searched, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SkippedFiles {
    /// They are not to be read.
    pub denied: u64,
    /// Files and directories that a `.gitignore` names.
    pub ignored: u64,
    /// They contain a NUL.
    pub binary: u64,
    /// They are longer than [`MAX_SEARCHED_FILE`].
    pub too_large: u64,
    /// They have a line longer than [`MAX_SEARCHED_LINE`]: only the lines before it were searched.
    pub long_line: u64,
    /// Files and directories that could not be read.
    pub unreadable: u64,
    /// The files of the audit log, which `read_audit_log` reads.
    #[serde(skip_serializing_if = "is_zero")]
    pub protected: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl WorkspaceReader<'_> {
    /// Searches files for lines that match a pattern.
    pub fn search_files(&self, request: &SearchRequest) -> Result<SearchAnswer, ReadError> {
        let filter = FileFilter::new(request.glob.as_deref())?;
        let matcher = matcher(request)?;
        let start = self.start(request.path.as_deref())?;
        let mut search = Search::new(&matcher, self.stop);
        match start {
            WalkStart::File(typed, _) => {
                let (file, real) = self.open(&typed)?;
                let size = file.len()?;
                search.file(&real, size, OffsetReader { file, at: 0 });
                Ok(search.answer(0, None))
            }
            WalkStart::Directory(real) => {
                let mut walk = self.walk(&real, MAX_WALK_DEPTH)?;
                while search.cut.is_none() {
                    let Some(item) = walk.next() else { break };
                    if item.ignored {
                        search.skipped.ignored += 1;
                        continue;
                    }
                    if item.kind != FileType::RegularFile || !filter.takes(&item.path) {
                        continue;
                    }
                    if is_log_path(&item.path) {
                        search.skipped.protected += 1;
                        continue;
                    }
                    if self.deny.denies(&item.path) {
                        search.skipped.denied += 1;
                        continue;
                    }
                    match walk.open(&item) {
                        Some((file, size)) => search.file(&item.path, size, file),
                        None => search.skipped.unreadable += 1,
                    }
                }
                Ok(search.answer(walk.unreadable, walk.cut))
            }
        }
    }
}

fn matcher(request: &SearchRequest) -> Result<RegexMatcher, ReadError> {
    let pattern = &request.pattern;
    if pattern.is_empty() {
        return Err(ReadError::Pattern("it is empty".to_owned()));
    }
    if pattern.chars().count() > MAX_PATTERN_CHARS {
        let why = format!("it is longer than {MAX_PATTERN_CHARS} characters");
        return Err(ReadError::Pattern(why));
    }
    RegexMatcherBuilder::new()
        .case_insensitive(request.ignore_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .nest_limit(MAX_PATTERN_DEPTH)
        .build(pattern)
        .map_err(|error| {
            ReadError::Pattern(error.to_string().chars().take(COMPLAINT_CHARS).collect())
        })
}

/// A search that is under way.
struct Search<'a> {
    matcher: &'a RegexMatcher,
    searcher: Searcher,
    stop: &'a dyn Fn() -> bool,
    matches: Vec<LineMatch>,
    files: u64,
    bytes: u64,
    skipped: SkippedFiles,
    cut: Option<Truncation>,
}

impl<'a> Search<'a> {
    fn new(matcher: &'a RegexMatcher, stop: &'a dyn Fn() -> bool) -> Search<'a> {
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_SEARCHED_LINE))
            .build();
        Search {
            matcher,
            searcher,
            stop,
            matches: Vec::new(),
            files: 0,
            bytes: 0,
            skipped: SkippedFiles::default(),
            cut: None,
        }
    }

    fn file(&mut self, path: &Path, size: u64, file: impl Read) {
        if size > MAX_SEARCHED_FILE {
            self.skipped.too_large += 1;
            return;
        }
        if self.files == MAX_SEARCHED_FILES || self.bytes + size > MAX_SEARCHED_BYTES {
            self.cut = Some(Truncation::Work);
            return;
        }
        self.files += 1;
        self.bytes += size;
        let before = self.matches.len();
        let stopped = Cell::new(false);
        let reader = Stoppable {
            file: file.take(MAX_SEARCHED_FILE),
            stop: self.stop,
            stopped: &stopped,
        };
        let mut sink = MatchCollector {
            matcher: self.matcher,
            path: display_path(path).0,
            matches: &mut self.matches,
            is_binary: false,
        };
        let searched = self.searcher.search_reader(self.matcher, reader, &mut sink);
        match searched {
            _ if sink.is_binary => {
                self.matches.truncate(before);
                self.files -= 1;
                self.skipped.binary += 1;
            }
            Err(_) if stopped.get() => self.cut = Some(Truncation::Time),
            // The searcher's own error, the only one without a number, is that a line is too long.
            Err(error) if error.raw_os_error().is_none() => self.skipped.long_line += 1,
            Err(_) => {
                self.files -= 1;
                self.skipped.unreadable += 1;
            }
            Ok(()) => {}
        }
        if self.matches.len() > MAX_MATCHES {
            self.matches.truncate(MAX_MATCHES);
            self.cut = Some(Truncation::Answer);
        }
    }

    fn answer(mut self, unreadable: u64, cut: Option<Truncation>) -> SearchAnswer {
        self.skipped.unreadable += unreadable;
        SearchAnswer {
            matches: self.matches,
            files: self.files,
            skipped: self.skipped,
            truncated: self.cut.or(cut),
        }
    }
}

/// A file that is read in small parts, so that the call can be stopped between them.
struct Stoppable<'a, R> {
    file: io::Take<R>,
    stop: &'a dyn Fn() -> bool,
    stopped: &'a Cell<bool>,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        const LITTLE: usize = 16 * 1024;
        if (self.stop)() {
            self.stopped.set(true);
            return Err(io::ErrorKind::TimedOut.into());
        }
        let little = bytes.len().min(LITTLE);
        self.file.read(&mut bytes[..little])
    }
}

/// A file of the disk, read from its beginning.
struct OffsetReader<F> {
    file: F,
    at: u64,
}

impl<F: DiskFile> Read for OffsetReader<F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(bytes, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Collects the matching lines of one file.
struct MatchCollector<'a> {
    matcher: &'a RegexMatcher,
    path: String,
    matches: &'a mut Vec<LineMatch>,
    is_binary: bool,
}

impl Sink for MatchCollector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let line = found.bytes();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let first = self.matcher.find(line).ok().flatten();
        let (column, text, cut) = part(line, first.map_or(0, |first| first.start()));
        self.matches.push(LineMatch {
            path: self.path.clone(),
            line: found.line_number().unwrap_or(0),
            column,
            text,
            cut,
        });
        // One more than an answer contains, to detect that there are more.
        Ok(self.matches.len() <= MAX_MATCHES)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}

/// Returns the number of the character at a byte, the part of the line around it, and whether the
/// line is longer.
fn part(line: &[u8], at: usize) -> (u64, String, bool) {
    let before = String::from_utf8_lossy(&line[..at.min(line.len())])
        .chars()
        .count();
    let text = String::from_utf8_lossy(line);
    let column = before as u64 + 1;
    let count = text.chars().count();
    if count <= MATCH_CHARS {
        return (column, text.into_owned(), false);
    }
    let begin = before.saturating_sub(LEAD_CHARS).min(count - MATCH_CHARS);
    (
        column,
        text.chars().skip(begin).take(MATCH_CHARS).collect(),
        true,
    )
}

#[cfg(test)]
mod tests;
