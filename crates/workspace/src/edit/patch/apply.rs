//! Finds the position of every hunk in the old text and builds the new text.

use super::parse::{Diff, DiffLine, DiffSide, Hunk};
use super::{MAX_RESULT, PatchError, PatchMismatch};
use crate::edit::lines::{LineEnds, around, number, starts};
use crate::edit::nearest::{NearbyLine, nearest};
use memchr::memmem::Finder;

/// Applies a diff and returns the new text of the file.
pub(super) fn apply(old: Option<&str>, diff: Diff<'_>) -> Result<String, PatchError> {
    let fresh = |hunk: &Hunk<'_>| hunk.lines.iter().all(|line| line.side == DiffSide::New);
    let reason = match old {
        Some(_) if diff.creates => Some(PatchMismatch::FileExists),
        None if !diff.hunks.iter().all(fresh) => Some(PatchMismatch::NoFile),
        _ => None,
    };
    if let Some(reason) = reason {
        return Err(misfit(0, reason, Vec::new()));
    }
    let old = old.unwrap_or_default();
    let file = OldText::new(old, &diff);
    let mut changes = Vec::with_capacity(diff.hunks.len());
    for (index, hunk) in diff.hunks.iter().enumerate() {
        let (reason, nearest) = match file.locate(hunk) {
            Ok(line) => {
                changes.push(HunkChange::of(index, hunk, line));
                continue;
            }
            Err(refused) => refused,
        };
        return Err(misfit(index, reason, nearest));
    }
    changes.sort_by_key(|change| (change.from, change.to));
    file.written(&changes)
}

fn misfit(hunk: usize, reason: PatchMismatch, nearest: Vec<NearbyLine>) -> PatchError {
    PatchError::DoesNotApply {
        hunk,
        reason,
        nearest,
    }
}

/// The part of a hunk between its first and its last change, with its position in the old text.
struct HunkChange<'a> {
    hunk: usize,
    /// The first old line, from 0.
    from: usize,
    /// The old line after the last one.
    to: usize,
    lines: &'a [DiffLine<'a>],
}

impl<'a> HunkChange<'a> {
    fn of(index: usize, hunk: &'a Hunk<'a>, line: usize) -> Self {
        let context = |line: &&DiffLine<'_>| line.side == DiffSide::Both;
        let before = hunk.lines.iter().take_while(context).count();
        let rest = &hunk.lines[before..];
        let after = rest.iter().rev().take_while(context).count();
        let lines = &rest[..rest.len() - after];
        let from = line + before;
        let to = from + lines.iter().filter(|line| line.side.is_old()).count();
        Self {
            hunk: index,
            from,
            to,
            lines,
        }
    }
}

/// The old text, prepared for searches.
struct OldText<'a> {
    text: &'a str,
    starts: Vec<usize>,
    /// The text between line breaks, so that only whole lines are found.
    framed: String,
    style: LineStyle,
}

/// Converts lines of the patch to the line ends of the file.
#[derive(Clone, Copy)]
struct LineStyle {
    /// A CR at the end of the patch's lines belongs to the patch.
    strip: bool,
    end: &'static str,
}

impl LineStyle {
    fn of(text: &str, diff: &Diff<'_>) -> Self {
        let ends = LineEnds::of(text);
        let mut lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
        let bare = !lines.any(|line| line.text.ends_with('\r'));
        match ends {
            LineEnds::Crlf if bare || diff.crlf => Self {
                strip: true,
                end: "\r\n",
            },
            LineEnds::None if diff.crlf => Self {
                strip: true,
                end: "\r\n",
            },
            LineEnds::Lf if diff.crlf => Self {
                strip: true,
                end: "\n",
            },
            _ => Self {
                strip: false,
                end: "\n",
            },
        }
    }

    fn write(self, line: &DiffLine<'_>, out: &mut String) {
        let text = line.text;
        out.push_str(match self.strip {
            true => text.strip_suffix('\r').unwrap_or(text),
            false => text,
        });
        if line.ended {
            out.push_str(self.end);
        }
    }
}

impl<'a> OldText<'a> {
    fn new(text: &'a str, diff: &Diff<'_>) -> Self {
        let style = LineStyle::of(text, diff);
        let mut framed = String::with_capacity(text.len() + 3);
        framed.push('\n');
        framed.push_str(text);
        if !framed.ends_with('\n') {
            framed.push_str(style.end);
        }
        Self {
            text,
            starts: starts(text),
            framed,
            style,
        }
    }

    /// Finds the line at which the old lines of a hunk begin, counted from 0.
    fn locate(&self, hunk: &Hunk<'_>) -> Result<usize, (PatchMismatch, Vec<NearbyLine>)> {
        let mut wanted = String::from("\n");
        let mut ended = true;
        for line in hunk.lines.iter().filter(|line| line.side.is_old()) {
            self.style.write(line, &mut wanted);
            ended = line.ended;
        }
        if wanted.len() == 1 {
            return match self.text.is_empty() {
                true => Ok(0),
                false => Err((PatchMismatch::NoContext, Vec::new())),
            };
        }
        if !ended {
            return self.at_end(&wanted);
        }
        // Line n begins behind the line break that is just before it, and the frame's shifts both by one.
        let stated = self.starts.get(hunk.start.saturating_sub(1));
        if let Some(&start) = stated
            && self.framed.as_bytes()[start..].starts_with(wanted.as_bytes())
        {
            return Ok(hunk.start.saturating_sub(1));
        }
        let finder = Finder::new(&wanted);
        let framed = self.framed.as_bytes();
        let Some(first) = finder.find(framed) else {
            return Err((PatchMismatch::NotFound, nearest(self.text, &wanted)));
        };
        let next = finder
            .find(&framed[first + 1..])
            .map(|next| next + first + 1);
        match next {
            None => Ok(self.line(first)),
            Some(next) => {
                let near = |at| NearbyLine::new(number(self.text, at), around(self.text, at));
                Err((PatchMismatch::NotUnique, vec![near(first), near(next)]))
            }
        }
    }

    /// Finds lines of which the last has no line break. They can only be at the end of the file.
    fn at_end(&self, wanted: &str) -> Result<usize, (PatchMismatch, Vec<NearbyLine>)> {
        let whole = &self.framed[..self.text.len() + 1];
        match whole.strip_suffix(wanted) {
            Some(before) => Ok(self.line(before.len())),
            None => Err((PatchMismatch::NotFound, nearest(self.text, wanted))),
        }
    }

    /// Returns the number of the line that begins at an offset, counted from 0.
    fn line(&self, start: usize) -> usize {
        self.starts.partition_point(|&line| line < start)
    }

    /// Returns the text of a range of old lines.
    fn lines(&self, from: usize, to: usize) -> &'a str {
        let offset = |line: usize| self.starts.get(line).copied().unwrap_or(self.text.len());
        &self.text[offset(from)..offset(to)]
    }

    fn written(&self, changes: &[HunkChange<'_>]) -> Result<String, PatchError> {
        let mut out = String::with_capacity(self.text.len());
        let mut done = 0;
        // The hunk that claims that the file ends here.
        let mut ended_by = None;
        let mut inserted = None;
        for change in changes {
            let again = change.from == change.to && inserted == Some(change.from);
            if change.from < done || again {
                return Err(misfit(change.hunk, PatchMismatch::Overlaps, Vec::new()));
            }
            self.put(&mut out, self.lines(done, change.from), ended_by)?;
            for line in change.lines.iter().filter(|line| line.side.is_new()) {
                let mut text = String::new();
                self.style.write(line, &mut text);
                self.put(&mut out, &text, ended_by)?;
                if !line.ended {
                    ended_by = Some(change.hunk);
                }
            }
            done = change.to;
            inserted = (change.from == change.to).then_some(change.to);
        }
        self.put(&mut out, self.lines(done, self.starts.len()), ended_by)?;
        match changes.last() {
            Some(last) if out.len() > MAX_RESULT => {
                Err(misfit(last.hunk, PatchMismatch::TooLarge, Vec::new()))
            }
            _ => Ok(out),
        }
    }

    /// Adds lines. A last line of the old text without a line break gets one if more lines follow.
    fn put(&self, out: &mut String, text: &str, ended_by: Option<usize>) -> Result<(), PatchError> {
        if text.is_empty() {
            return Ok(());
        }
        if let Some(hunk) = ended_by {
            return Err(misfit(hunk, PatchMismatch::NotAtEnd, Vec::new()));
        }
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(self.style.end);
        }
        out.push_str(text);
        Ok(())
    }
}
