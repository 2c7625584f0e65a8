//! Reads a unified diff line by line. The counts in a hunk's header are a hint, never a bound.

use super::names::{NOTHING, means, named};
use super::{Invalid, MAX_HUNKS, PatchError};

/// A diff of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Diff<'a> {
    /// Whether the old side is no file.
    pub(super) creates: bool,
    pub(super) hunks: Vec<Hunk<'a>>,
    /// Whether the lines of the diff itself end with CRLF.
    pub(super) crlf: bool,
}

/// A run of lines of which some change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hunk<'a> {
    /// The first old line as it is stated, the first line being 1.
    pub(super) start: usize,
    pub(super) lines: Vec<Line<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) side: Side,
    /// Without its line break; a CR before it is kept.
    pub(super) text: &'a str,
    /// Whether a line break follows.
    pub(super) ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Old,
    New,
    Both,
}

impl Side {
    pub(super) fn is_old(self) -> bool {
        self != Self::New
    }

    pub(super) fn is_new(self) -> bool {
        self != Self::Old
    }
}

type Read<T> = Result<T, PatchError>;

/// Lines with their numbers.
struct Lines<'a> {
    lines: Vec<&'a str>,
    at: usize,
    /// How many lines of the text come before these.
    before: usize,
}

impl<'a> Lines<'a> {
    fn peek(&self, ahead: usize) -> Option<&'a str> {
        self.lines.get(self.at + ahead).copied()
    }

    /// A refusal at a place among these lines.
    fn refuse<T>(&self, at: usize, reason: Invalid) -> Read<T> {
        let line = self.before + at + 1;
        Err(PatchError::Invalid { line, reason })
    }

    fn refuse_here<T>(&self, reason: Invalid) -> Read<T> {
        self.refuse(self.at.min(self.lines.len().saturating_sub(1)), reason)
    }
}

/// The diff that a text is, of the file at a path.
pub(super) fn read<'a>(patch: &'a str, path: &str) -> Read<Diff<'a>> {
    let mut lines = inside(patch)?;
    let creates = header(&mut lines, path)?;
    let crlf = lines.peek(0).is_some_and(|line| line.ends_with('\r'));
    let mut hunks = Vec::new();
    while let Some(line) = lines.peek(0) {
        if !line.starts_with("@@") {
            return lines.refuse_here(stray(line));
        }
        if hunks.len() == MAX_HUNKS {
            return lines.refuse_here(Invalid::TooManyHunks);
        }
        hunks.push(hunk(&mut lines)?);
    }
    if hunks.is_empty() {
        return lines.refuse_here(Invalid::NoHunks);
    }
    let mut all = hunks.iter().flat_map(|hunk: &Hunk<'_>| &hunk.lines);
    if all.all(|line| line.side == Side::Both) {
        return lines.refuse_here(Invalid::ChangesNothing);
    }
    Ok(Diff {
        creates,
        hunks,
        crlf,
    })
}

/// The lines of a patch without blank ones around it and without one fence.
fn inside(patch: &str) -> Read<Lines<'_>> {
    let mut all: Vec<&str> = patch.split('\n').collect();
    // What follows the last line break is no line.
    if all.last() == Some(&"") {
        all.pop();
    }
    let blank = |line: &&&str| line.trim().is_empty();
    let before = all.iter().take_while(blank).count();
    let fence = |line: &str| line.starts_with("```");
    let mut lines = Lines {
        lines: all.split_off(before),
        at: 0,
        before,
    };
    match lines.peek(0) {
        None => {
            let reason = Invalid::Empty;
            return Err(PatchError::Invalid { line: 1, reason });
        }
        Some(first) if fence(first) => {}
        Some(_) => return Ok(lines),
    }
    let after = lines.lines.iter().rev().take_while(blank).count();
    lines.lines.truncate(lines.lines.len() - after);
    match lines.lines.pop() {
        Some(last) if last.trim_end() == "```" && !lines.lines.is_empty() => {}
        _ => return lines.refuse(0, Invalid::OpenFence),
    }
    lines.lines.remove(0);
    lines.before += 1;
    match lines.lines.is_empty() {
        true => lines.refuse(0, Invalid::Empty),
        false => Ok(lines),
    }
}

/// Reads up to the first hunk: whether the diff makes a new file.
fn header(lines: &mut Lines<'_>, path: &str) -> Read<bool> {
    while let Some(line) = lines.peek(0) {
        let line = line.trim_end();
        if let Some(old) = line.strip_prefix("--- ") {
            return names(lines, old, path);
        }
        if let Some(reason) = unfit(line, path) {
            return lines.refuse_here(reason);
        }
        lines.at += 1;
    }
    lines.refuse_here(Invalid::NoHunks)
}

/// Why a line before the names of the files is refused, where it is.
fn unfit(line: &str, path: &str) -> Option<Invalid> {
    let begins = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
    if let Some(names) = line.strip_prefix("diff --git ") {
        // Two names with a space between have no grammar; the lines that follow name them again.
        let told = names.contains('"') || names.ends_with(path);
        return (!told).then(|| Invalid::OtherFile {
            named: String::from(names),
        });
    }
    if begins(&["diff --cc ", "diff --combined ", "@@@"]) {
        return Some(Invalid::Combined);
    }
    if begins(&[
        "rename ",
        "copy ",
        "similarity index ",
        "dissimilarity index ",
    ]) {
        return Some(Invalid::Renames);
    }
    if begins(&["deleted file mode "]) {
        return Some(Invalid::Deletes);
    }
    if begins(&["old mode ", "new mode "]) {
        return Some(Invalid::ChangesMode);
    }
    if let Some(mode) = line.strip_prefix("new file mode ") {
        return (mode != "100644").then_some(Invalid::ChangesMode);
    }
    if begins(&["GIT binary patch", "Binary files "]) {
        return Some(Invalid::Binary);
    }
    if begins(&["@@", "+++ "]) {
        return Some(Invalid::NoFileNames);
    }
    let ruled = !line.is_empty() && line.bytes().all(|byte| byte == b'=');
    let known = begins(&["diff -", "index ", "Index: "]) || ruled;
    (!known).then_some(Invalid::NotADiff)
}

/// Reads the two lines that name the file.
fn names(lines: &mut Lines<'_>, old: &str, path: &str) -> Read<bool> {
    let Some(new) = lines.peek(1).and_then(|line| line.strip_prefix("+++ ")) else {
        return lines.refuse_here(Invalid::NoFileNames);
    };
    let (old, new) = (named(old), named(new));
    if new == NOTHING {
        return lines.refuse(lines.at + 1, Invalid::Deletes);
    }
    let creates = old == NOTHING;
    if !creates && !means(&old, path) {
        return lines.refuse_here(Invalid::OtherFile {
            named: old.into_owned(),
        });
    }
    if !means(&new, path) {
        let named = new.into_owned();
        return lines.refuse(lines.at + 1, Invalid::OtherFile { named });
    }
    lines.at += 2;
    Ok(creates)
}

/// What a line is that stands where a hunk should begin.
fn stray(line: &str) -> Invalid {
    let file = ["diff ", "--- ", "Index: "];
    match file.iter().any(|word| line.starts_with(word)) {
        true => Invalid::SeveralFiles,
        false => Invalid::HunkLine,
    }
}

/// Reads one hunk.
fn hunk<'a>(lines: &mut Lines<'a>) -> Read<Hunk<'a>> {
    let opened = lines.at;
    let line = lines.peek(0).unwrap_or_default();
    if line.starts_with("@@@") {
        return lines.refuse_here(Invalid::Combined);
    }
    let Some((start, old, new)) = stated(line) else {
        return lines.refuse_here(Invalid::HunkHeader);
    };
    lines.at += 1;
    let mut hunk = Hunk {
        start,
        lines: Vec::new(),
    };
    let mut left = Left { old, new };
    // Lines without even a space at the end so far: context only where the header counts them.
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
            Body::Line(line) => left.take(&mut hunk, line),
            Body::NoNewline => match hunk.lines.last_mut() {
                Some(last) => last.ended = false,
                None => return lines.refuse_here(Invalid::HunkLine),
            },
        }
        lines.at += 1;
    }
    for _ in 0..empty.min(left.old).min(left.new) {
        left.take(&mut hunk, blank(lines.lines[opened]));
    }
    if hunk.lines.is_empty() {
        return lines.refuse(opened, Invalid::EmptyHunk);
    }
    if unended_inside(&hunk.lines) {
        return lines.refuse(opened, Invalid::NoNewlineInside);
    }
    Ok(hunk)
}

/// An empty line of context whose space was lost, ended like the header.
fn blank(header: &str) -> Line<'_> {
    let text = match header.ends_with('\r') {
        true => "\r",
        false => "",
    };
    Line {
        side: Side::Both,
        text,
        ended: true,
    }
}

enum Body<'a> {
    Line(Line<'a>),
    NoNewline,
}

/// How many lines are still to come, if the header is right.
struct Left {
    old: usize,
    new: usize,
}

impl Left {
    fn take<'a>(&mut self, hunk: &mut Hunk<'a>, line: Line<'a>) {
        self.old = self.old.saturating_sub(usize::from(line.side.is_old()));
        self.new = self.new.saturating_sub(usize::from(line.side.is_new()));
        hunk.lines.push(line);
    }
}

/// A line of a hunk; nothing where the hunk is over.
fn body<'a>(lines: &Lines<'a>, line: &'a str, left: &Left) -> Read<Option<Body<'a>>> {
    let begins =
        |ahead: usize, with: &str| lines.peek(ahead).is_some_and(|line| line.starts_with(with));
    // `--- a` and `+++ b` before a hunk are another file, unless the header says that this hunk ends
    // with just these two lines.
    let counted = left.old == 1 && left.new == 1;
    if begins(0, "--- ") && begins(1, "+++ ") && begins(2, "@@") && !counted {
        return Ok(None);
    }
    let side = match line.as_bytes()[0] {
        b' ' => Side::Both,
        b'-' => Side::Old,
        b'+' => Side::New,
        b'\\' => return Ok(Some(Body::NoNewline)),
        b'@' => return Ok(None),
        _ if stray(line) == Invalid::SeveralFiles => return Ok(None),
        _ => return lines.refuse_here(Invalid::HunkLine),
    };
    Ok(Some(Body::Line(Line {
        side,
        text: &line[1..],
        ended: true,
    })))
}

/// Whether a line without a line break is not the last of its side.
fn unended_inside(lines: &[Line<'_>]) -> bool {
    let inside = |on: fn(Side) -> bool| {
        let mut side = lines.iter().filter(|line| on(line.side)).rev().skip(1);
        side.any(|line| !line.ended)
    };
    inside(Side::is_old) || inside(Side::is_new)
}

/// The old line, the old count and the new count of `@@ -1,2 +3,4 @@`; a count that is left out is 1.
fn stated(header: &str) -> Option<(usize, usize, usize)> {
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

/// A number of digits alone; one too large for any file is as good as the largest.
fn plain(text: &str) -> Option<usize> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(usize::MAX))
}
