//! Reads a unified diff line by line. The counts in a hunk's header are a hint, never a bound.

use super::names::{NOTHING, means, named};
use super::{InvalidPatch, MAX_HUNKS, PatchError};

/// A diff of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Diff<'a> {
    /// True if the old side is not a file.
    pub(super) creates: bool,
    pub(super) hunks: Vec<Hunk<'a>>,
    /// True if the lines of the diff itself end with CRLF.
    pub(super) crlf: bool,
}

/// A run of lines of which some change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hunk<'a> {
    /// The first old line according to the header, from 1.
    pub(super) start: usize,
    pub(super) lines: Vec<DiffLine<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiffLine<'a> {
    pub(super) side: DiffSide,
    /// Without its line break; a CR before it is kept.
    pub(super) text: &'a str,
    /// True if a line break follows.
    pub(super) ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffSide {
    Old,
    New,
    Both,
}

impl DiffSide {
    pub(super) fn is_old(self) -> bool {
        self != Self::New
    }

    pub(super) fn is_new(self) -> bool {
        self != Self::Old
    }
}

type Read<T> = Result<T, PatchError>;

/// Lines with their numbers.
struct PatchLines<'a> {
    lines: Vec<&'a str>,
    at: usize,
    /// The number of lines of the text before these.
    before: usize,
}

impl<'a> PatchLines<'a> {
    fn peek(&self, ahead: usize) -> Option<&'a str> {
        self.lines.get(self.at + ahead).copied()
    }

    /// Returns an error at a line.
    fn refuse<T>(&self, at: usize, reason: InvalidPatch) -> Read<T> {
        let line = self.before + at + 1;
        Err(PatchError::Invalid { line, reason })
    }

    fn refuse_here<T>(&self, reason: InvalidPatch) -> Read<T> {
        self.refuse(self.at.min(self.lines.len().saturating_sub(1)), reason)
    }
}

/// Parses a diff of the file at a path.
pub(super) fn parse<'a>(patch: &'a str, path: &str) -> Read<Diff<'a>> {
    let mut lines = inside(patch)?;
    let creates = header(&mut lines, path)?;
    let crlf = lines.peek(0).is_some_and(|line| line.ends_with('\r'));
    let mut hunks = Vec::new();
    while let Some(line) = lines.peek(0) {
        if !line.starts_with("@@") {
            return lines.refuse_here(stray(line));
        }
        if hunks.len() == MAX_HUNKS {
            return lines.refuse_here(InvalidPatch::TooManyHunks);
        }
        hunks.push(hunk(&mut lines)?);
    }
    if hunks.is_empty() {
        return lines.refuse_here(InvalidPatch::NoHunks);
    }
    let mut all = hunks.iter().flat_map(|hunk: &Hunk<'_>| &hunk.lines);
    if all.all(|line| line.side == DiffSide::Both) {
        return lines.refuse_here(InvalidPatch::ChangesNothing);
    }
    Ok(Diff {
        creates,
        hunks,
        crlf,
    })
}

/// Returns the lines of a patch without blank ones around it and without one fence.
fn inside(patch: &str) -> Read<PatchLines<'_>> {
    let mut all: Vec<&str> = patch.split('\n').collect();
    // An empty rest after the last line break is not a line.
    if all.last() == Some(&"") {
        all.pop();
    }
    let blank = |line: &&&str| line.trim().is_empty();
    let before = all.iter().take_while(blank).count();
    let fence = |line: &str| line.starts_with("```");
    let mut lines = PatchLines {
        lines: all.split_off(before),
        at: 0,
        before,
    };
    match lines.peek(0) {
        None => {
            let reason = InvalidPatch::Empty;
            return Err(PatchError::Invalid { line: 1, reason });
        }
        Some(first) if fence(first) => {}
        Some(_) => return Ok(lines),
    }
    let after = lines.lines.iter().rev().take_while(blank).count();
    lines.lines.truncate(lines.lines.len() - after);
    match lines.lines.pop() {
        Some(last) if last.trim_end() == "```" && !lines.lines.is_empty() => {}
        _ => return lines.refuse(0, InvalidPatch::OpenFence),
    }
    lines.lines.remove(0);
    lines.before += 1;
    match lines.lines.is_empty() {
        true => lines.refuse(0, InvalidPatch::Empty),
        false => Ok(lines),
    }
}

/// Reads up to the first hunk: whether the diff makes a new file.
fn header(lines: &mut PatchLines<'_>, path: &str) -> Read<bool> {
    while let Some(line) = lines.peek(0) {
        let line = line.trim_end();
        if let Some(old) = line.strip_prefix("--- ") {
            return names(lines, old, path);
        }
        if let Some(reason) = refuse_line(line, path) {
            return lines.refuse_here(reason);
        }
        lines.at += 1;
    }
    lines.refuse_here(InvalidPatch::NoHunks)
}

/// Returns the reason why a line before the names of the files is refused, or `None` if it is accepted.
fn refuse_line(line: &str, path: &str) -> Option<InvalidPatch> {
    let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    if let Some(names) = line.strip_prefix("diff --git ") {
        // Two names with a space between have no grammar; the lines that follow name them again.
        let is_named = names.contains('"') || names.ends_with(path);
        return (!is_named).then(|| InvalidPatch::OtherFile {
            named: String::from(names),
        });
    }
    if begins(&["diff --cc ", "diff --combined ", "@@@"]) {
        return Some(InvalidPatch::Combined);
    }
    if begins(&[
        "rename ",
        "copy ",
        "similarity index ",
        "dissimilarity index ",
    ]) {
        return Some(InvalidPatch::Renames);
    }
    if begins(&["deleted file mode "]) {
        return Some(InvalidPatch::Deletes);
    }
    if begins(&["old mode ", "new mode "]) {
        return Some(InvalidPatch::ChangesMode);
    }
    if let Some(mode) = line.strip_prefix("new file mode ") {
        return (mode != "100644").then_some(InvalidPatch::ChangesMode);
    }
    if begins(&["GIT binary patch", "Binary files "]) {
        return Some(InvalidPatch::Binary);
    }
    if begins(&["@@", "+++ "]) {
        return Some(InvalidPatch::NoFileNames);
    }
    let ruled = !line.is_empty() && line.bytes().all(|byte| byte == b'=');
    let known = begins(&["diff -", "index ", "Index: "]) || ruled;
    (!known).then_some(InvalidPatch::NotADiff)
}

/// Reads the two lines that name the file.
fn names(lines: &mut PatchLines<'_>, old: &str, path: &str) -> Read<bool> {
    let Some(new) = lines.peek(1).and_then(|line| line.strip_prefix("+++ ")) else {
        return lines.refuse_here(InvalidPatch::NoFileNames);
    };
    let (old, new) = (named(old), named(new));
    if new == NOTHING {
        return lines.refuse(lines.at + 1, InvalidPatch::Deletes);
    }
    let creates = old == NOTHING;
    if !creates && !means(&old, path) {
        return lines.refuse_here(InvalidPatch::OtherFile {
            named: old.into_owned(),
        });
    }
    if !means(&new, path) {
        let named = new.into_owned();
        return lines.refuse(lines.at + 1, InvalidPatch::OtherFile { named });
    }
    lines.at += 2;
    Ok(creates)
}

/// Returns the error for a line that is not the beginning of a hunk.
fn stray(line: &str) -> InvalidPatch {
    let file = ["diff ", "--- ", "Index: "];
    match file.iter().any(|word| line.starts_with(word)) {
        true => InvalidPatch::SeveralFiles,
        false => InvalidPatch::HunkLine,
    }
}

/// Reads one hunk.
fn hunk<'a>(lines: &mut PatchLines<'a>) -> Read<Hunk<'a>> {
    let opened = lines.at;
    let line = lines.peek(0).unwrap_or_default();
    if line.starts_with("@@@") {
        return lines.refuse_here(InvalidPatch::Combined);
    }
    let Some((start, old, new)) = parse_header(line) else {
        return lines.refuse_here(InvalidPatch::HunkHeader);
    };
    lines.at += 1;
    let mut hunk = Hunk {
        start,
        lines: Vec::new(),
    };
    let mut left = LinesLeft { old, new };
    // Empty lines at the end so far: context only if the header counts them.
    let mut empty = 0;
    while let Some(line) = lines.peek(0) {
        if line.trim_end_matches('\r').is_empty() {
            empty += 1;
            lines.at += 1;
            continue;
        }
        let Some(line) = body(lines, line, &left)? else {
            break;
        };
        for _ in 0..std::mem::take(&mut empty) {
            left.take(&mut hunk, blank(lines.lines[opened]));
        }
        match line {
            BodyLine::DiffLine(line) => left.take(&mut hunk, line),
            BodyLine::NoNewline => match hunk.lines.last_mut() {
                Some(last) => last.ended = false,
                None => return lines.refuse_here(InvalidPatch::HunkLine),
            },
        }
        lines.at += 1;
    }
    for _ in 0..empty.min(left.old).min(left.new) {
        left.take(&mut hunk, blank(lines.lines[opened]));
    }
    if hunk.lines.is_empty() {
        return lines.refuse(opened, InvalidPatch::EmptyHunk);
    }
    if unended_inside(&hunk.lines) {
        return lines.refuse(opened, InvalidPatch::NoNewlineInside);
    }
    Ok(hunk)
}

/// Returns an empty line of context whose space was lost, with the line end of the header.
fn blank(header: &str) -> DiffLine<'_> {
    let text = match header.ends_with('\r') {
        true => "\r",
        false => "",
    };
    DiffLine {
        side: DiffSide::Both,
        text,
        ended: true,
    }
}

enum BodyLine<'a> {
    DiffLine(DiffLine<'a>),
    NoNewline,
}

/// The number of lines that follow according to the header.
struct LinesLeft {
    old: usize,
    new: usize,
}

impl LinesLeft {
    fn take<'a>(&mut self, hunk: &mut Hunk<'a>, line: DiffLine<'a>) {
        self.old = self.old.saturating_sub(usize::from(line.side.is_old()));
        self.new = self.new.saturating_sub(usize::from(line.side.is_new()));
        hunk.lines.push(line);
    }
}

/// Parses a line of a hunk. Returns `None` if the hunk is over.
fn body<'a>(lines: &PatchLines<'a>, line: &'a str, left: &LinesLeft) -> Read<Option<BodyLine<'a>>> {
    let begins =
        |ahead: usize, with: &str| lines.peek(ahead).is_some_and(|line| line.starts_with(with));
    // `--- a` and `+++ b` before a hunk are another file, unless this hunk's header counts exactly
    // these two lines as its last ones.
    let counted = left.old == 1 && left.new == 1;
    if begins(0, "--- ") && begins(1, "+++ ") && begins(2, "@@") && !counted {
        return Ok(None);
    }
    let side = match line.as_bytes()[0] {
        b' ' => DiffSide::Both,
        b'-' => DiffSide::Old,
        b'+' => DiffSide::New,
        b'\\' => return Ok(Some(BodyLine::NoNewline)),
        b'@' => return Ok(None),
        _ if stray(line) == InvalidPatch::SeveralFiles => return Ok(None),
        _ => return lines.refuse_here(InvalidPatch::HunkLine),
    };
    Ok(Some(BodyLine::DiffLine(DiffLine {
        side,
        text: &line[1..],
        ended: true,
    })))
}

/// Returns true if a line without a line break is not the last of its side.
fn unended_inside(lines: &[DiffLine<'_>]) -> bool {
    let inside = |on: fn(DiffSide) -> bool| {
        let mut side = lines.iter().filter(|line| on(line.side)).rev().skip(1);
        side.any(|line| !line.ended)
    };
    inside(DiffSide::is_old) || inside(DiffSide::is_new)
}

/// Parses the old line, the old count and the new count of `@@ -1,2 +3,4 @@`. A count that is left
/// out is 1.
fn parse_header(header: &str) -> Option<(usize, usize, usize)> {
    let ranges = header.strip_prefix("@@ -")?;
    let (ranges, _) = ranges.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| {
        let (line, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((plain(line)?, plain(count)?))
    };
    let ((start, old), (_, new)) = (range(old)?, range(new)?);
    Some((start, old, new))
}

/// Parses a number of digits only. One too large for any file becomes the largest.
fn plain(text: &str) -> Option<usize> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(usize::MAX))
}
