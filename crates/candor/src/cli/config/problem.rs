//! The errors of a configuration file, with their positions.

use super::file::{ConfigFile, position};
use super::passwords::masked;
use crate::host::{print_error, print_hint, print_note};
use candor_secrets::redact;
use candor_workspace::visible_text;
use std::io::{self, Write};
use std::ops::Range;

/// The most problems that are shown.
pub const MAX_CONFIG_PROBLEMS: usize = 20;

/// The most characters that are shown of a part of a line: before the mark, marked, and after it.
const MAX_PART: usize = 60;

/// The most characters of a name or a value in a message.
const MAX_SHOWN: usize = 64;

/// One thing that is wrong.
#[derive(Debug)]
pub(super) struct ConfigProblem {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl ConfigProblem {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> ConfigProblem {
        ConfigProblem {
            span,
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn with_hint(mut self, hint: Option<String>) -> ConfigProblem {
        self.hint = hint;
        self
    }

    /// Returns the message with the place, and the line that it is about.
    fn rendered(&self, file: &ConfigFile) -> String {
        let (line, column) = position(&file.text, self.span.start);
        let text = file.text.lines().nth(line - 1).unwrap_or_default();
        let (before, rest) = text.split_at(offset(text, column - 1));
        let (marked, after) = rest.split_at(offset(rest, self.marked_chars(&file.text)));
        // A distant part of a long line is left out.
        let before = last_chars(&shown_part(before), MAX_PART);
        let marked = first_chars(&shown_part(marked), MAX_PART);
        let after = first_chars(&shown_part(after), MAX_PART);
        let number = line.to_string();
        let gutter = " ".repeat(number.len() + 1);
        let padding = " ".repeat(before.chars().count());
        let marks = "^".repeat(marked.chars().count().max(1));
        let source = format!("{number} | {before}{marked}{after}");
        format!(
            "{}\n{gutter}--> {}:{line}:{column}\n{gutter}|\n{}\n{gutter}| {padding}{marks}",
            self.message,
            file.path.display(),
            source.trim_end(),
        )
    }

    /// Returns how many characters of the first line are marked.
    fn marked_chars(&self, text: &str) -> usize {
        let marked = text.get(self.span.clone()).unwrap_or_default();
        marked.lines().next().unwrap_or_default().chars().count()
    }
}

/// Returns the offset of a character, or the length of the text.
fn offset(text: &str, chars: usize) -> usize {
    let found = text.char_indices().nth(chars);
    found.map_or(text.len(), |(offset, _)| offset)
}

/// Returns a part of a line without secrets and with every character visible.
fn shown_part(part: &str) -> String {
    let part = part.replace('\t', " ");
    visible_text(&redact(&masked(&part)))
}

fn first_chars(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

fn last_chars(text: &str, most: usize) -> String {
    let skipped = text.chars().count().saturating_sub(most);
    text.chars().skip(skipped).collect()
}

/// Returns a name or a value of the file for a message.
pub(super) fn shown(text: &str) -> String {
    let text = masked(text);
    let text = redact(&text);
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(MAX_SHOWN).collect();
    let more = if chars.next().is_some() { "…" } else { "" };
    visible_text(&start) + more
}

/// Returns the offsets of the line that contains an offset.
fn line_around(text: &str, offset: usize) -> Range<usize> {
    let offset = text.floor_char_boundary(offset);
    let start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    let end = text[offset..]
        .find('\n')
        .map_or(text.len(), |end| offset + end);
    start..end + 1
}

/// Removes problems of lines whose syntax is wrong: they follow from it.
pub(super) fn without_repetitions(
    mut problems: Vec<ConfigProblem>,
    syntax: &[ConfigProblem],
    text: &str,
) -> Vec<ConfigProblem> {
    let syntax = &syntax[..syntax.len().min(MAX_CONFIG_PROBLEMS)];
    let wrong_lines = syntax
        .iter()
        .map(|problem| line_around(text, problem.span.start));
    let wrong_lines: Vec<_> = wrong_lines.collect();
    problems.retain(|problem| {
        // A file of which a part cannot be read may have anything there.
        let is_missing = problem.span.is_empty() && !syntax.is_empty();
        let is_on = |line: &Range<usize>| line.contains(&problem.span.start);
        !is_missing && !wrong_lines.iter().any(is_on)
    });
    problems
}

/// Everything that is wrong in a file.
#[derive(Debug)]
pub(in crate::cli) struct ConfigProblems {
    file: ConfigFile,
    problems: Vec<ConfigProblem>,
}

impl ConfigProblems {
    pub(super) fn new(file: ConfigFile, mut problems: Vec<ConfigProblem>) -> ConfigProblems {
        problems.sort_by_key(|problem| problem.span.start);
        ConfigProblems { file, problems }
    }

    /// Prints the problems on stderr, in their order in the file.
    pub(in crate::cli) fn print(&self) {
        for (index, problem) in self.problems.iter().take(MAX_CONFIG_PROBLEMS).enumerate() {
            if index > 0 {
                // If stderr is closed, the message cannot be shown anywhere else.
                let _ = writeln!(io::stderr());
            }
            print_error(&problem.rendered(&self.file));
            if let Some(hint) = &problem.hint {
                print_hint(hint);
            }
        }
        let more = self.problems.len().saturating_sub(MAX_CONFIG_PROBLEMS);
        if more > 0 {
            print_note(&format!("{more} more errors are not shown"));
        }
    }
}
