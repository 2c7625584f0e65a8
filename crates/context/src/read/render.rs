//! The forms of output: Markdown, the contents alone, and paths with lines.

use crate::MAX_ANSWER;
use crate::query::response::to_json_line;
use crate::read::answers::{
    DocumentAnswer, FoundPassage, LevelEntry, ListAnswer, ListedCache, SearchAnswer,
};
use crate::read::failure::ReadFailure;
use serde::Serialize;
use std::fmt::Write as _;

impl SearchAnswer {
    /// Returns the passages for people and models, each below its path, and a summary.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        for found in &self.passages {
            let passage = &found.passage;
            let [from, to] = passage.lines;
            append_heading(&mut text, &self.path(found), [from.into(), to.into()]);
            if !passage.heading.is_empty() {
                text.push_str(&passage.heading.join(" > "));
                text.push('\n');
            }
            append_content(&mut text, &passage.content);
        }
        let selection = &self.selection;
        if self.passages.is_empty() {
            text.push_str(match selection.passages_considered {
                _ if selection.caches.is_empty() => "There is no cache yet.\n",
                0 => "No passage matches.\n",
                _ => "No passage that matches fits the budget.\n",
            });
        }
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{} of {} passages, {} of {} tokens",
            selection.passages_selected,
            selection.passages_considered,
            selection.tokens_used,
            selection.budget
        );
        text
    }

    /// Returns the contents alone, separated by empty lines.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (at, found) in self.passages.iter().enumerate() {
            if at > 0 {
                text.push('\n');
            }
            append_line(&mut text, &found.passage.content);
        }
        text
    }

    /// Returns the path and the lines of each passage.
    pub fn to_paths(&self) -> String {
        let line = |found: &FoundPassage| {
            let path = self.path(found);
            let [from, to] = found.passage.lines;
            format!("{path}:{from}-{to}\n")
        };
        self.passages.iter().map(line).collect()
    }

    /// Returns the path of a passage, without the cache if only one was asked.
    fn path(&self, found: &FoundPassage) -> String {
        match self.selection.caches.len() {
            0 | 1 => found.passage.id.clone(),
            _ => format!("{}/{}", found.cache, found.passage.id),
        }
    }
}

impl DocumentAnswer {
    /// Returns the part for people and models: its path, the content, and how to read on.
    pub fn to_markdown(&self) -> String {
        let mut text = String::with_capacity(self.content.len() + 256);
        match self.lines {
            Some(lines) => append_heading(&mut text, &self.path(), lines),
            None => _ = writeln!(text, "### {}", self.path()),
        }
        append_content(&mut text, &self.content);
        let (tokens, budget) = (self.tokens, self.budget);
        let _ = match self.lines {
            Some([from, to]) => write!(
                text,
                "lines {from}-{to} of {}, {tokens} of {budget} tokens",
                self.total_lines
            ),
            None => write!(text, "no lines, 0 of {budget} tokens"),
        };
        if let Some([from, to]) = self.next {
            let _ = write!(text, "; to read on: range [{from},{to}]");
        }
        text.push('\n');
        text
    }

    /// Returns the bytes of the part.
    pub fn to_text(&self) -> String {
        self.content.clone()
    }

    /// Returns the path and the lines of the part.
    pub fn to_paths(&self) -> String {
        match self.lines {
            Some([from, to]) => format!("{}:{from}-{to}\n", self.path()),
            None => format!("{}\n", self.path()),
        }
    }

    /// Returns the path of the document, without the cache if only one was asked.
    fn path(&self) -> String {
        match self.one_cache {
            true => self.id.clone(),
            false => format!("{}/{}", self.cache, self.id),
        }
    }
}

impl ListAnswer {
    /// Returns the names of the caches, or the paths of the entries, one a line.
    pub fn to_paths(&self) -> String {
        match self {
            ListAnswer::Caches(all) => {
                let line = |cache: &ListedCache| format!("{}\n", cache.cache);
                all.caches.iter().map(line).collect()
            }
            ListAnswer::Level(level) => {
                let line = |entry: &LevelEntry| match entry {
                    LevelEntry::Folder { name, .. } => format!("{}{name}\n", level.under),
                    LevelEntry::Document { id, .. } => format!("{id}\n"),
                };
                level.entries.iter().map(line).collect()
            }
        }
    }
}

fn append_heading(text: &mut String, path: &str, [from, to]: [u64; 2]) {
    let _ = writeln!(text, "### {path}:{from}-{to}");
}

/// Appends an empty line, the content and an empty line.
fn append_content(text: &mut String, content: &str) {
    text.push('\n');
    append_line(text, content);
    text.push('\n');
}

/// Appends the content, and a newline if it does not end in one.
fn append_line(text: &mut String, content: &str) {
    text.push_str(content);
    if !content.is_empty() && !content.ends_with('\n') {
        text.push('\n');
    }
}

/// Serialises an answer as one line of JSON. Fails if it is too large.
pub(crate) fn json_line(answer: &impl Serialize) -> Result<Vec<u8>, ReadFailure> {
    to_json_line(answer).map_err(|_| ReadFailure::AnswerTooLarge)
}

/// Refuses a text form that is too large.
pub(crate) fn bounded_text(text: String) -> Result<String, ReadFailure> {
    match text.len() <= MAX_ANSWER {
        true => Ok(text),
        false => Err(ReadFailure::AnswerTooLarge),
    }
}

/// A form of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputForm {
    /// The object on one line.
    Json,
    /// The object, indented.
    Pretty,
    Markdown,
    /// The contents alone.
    Text,
    /// Paths and lines.
    Paths,
}

impl OutputForm {
    /// Returns the bytes of a search in this form.
    pub fn write_search(self, answer: &SearchAnswer) -> Result<Vec<u8>, ReadFailure> {
        self.write(
            answer,
            [&|| answer.to_markdown(), &|| answer.to_text(), &|| {
                answer.to_paths()
            }],
        )
    }

    /// Returns the bytes of a document in this form.
    pub fn write_document(self, answer: &DocumentAnswer) -> Result<Vec<u8>, ReadFailure> {
        self.write(
            answer,
            [&|| answer.to_markdown(), &|| answer.to_text(), &|| {
                answer.to_paths()
            }],
        )
    }

    /// Returns the bytes of a list in this form. Only `Json`, `Pretty` and `Paths` differ.
    pub fn write_list(self, answer: &ListAnswer) -> Result<Vec<u8>, ReadFailure> {
        let paths: &dyn Fn() -> String = &|| answer.to_paths();
        self.write(answer, [paths, paths, paths])
    }

    fn write(
        self,
        answer: &impl Serialize,
        [markdown, text, paths]: [&dyn Fn() -> String; 3],
    ) -> Result<Vec<u8>, ReadFailure> {
        // Every form is refused if the object is too large, as a tool would refuse it.
        let line = json_line(answer)?;
        let form = match self {
            OutputForm::Json => return Ok(line),
            OutputForm::Pretty => {
                let mut text = serde_json::to_string_pretty(answer)
                    .map_err(|_| ReadFailure::Bug("an answer cannot be written"))?;
                text.push('\n');
                return Ok(text.into_bytes());
            }
            OutputForm::Markdown => markdown(),
            OutputForm::Text => text(),
            OutputForm::Paths => paths(),
        };
        drop(line);
        bounded_text(form).map(String::into_bytes)
    }
}
