//! Searches the text files of the default branch, in the order of their paths, within a time and a number
//! of matches.

use super::history::page;
use super::repository_root::OpenRepository;
use super::tree::kind;
use super::url;
use crate::search_model::shown_match;
use crate::{
    CodeMatch, CodePage, CodeQuery, CodeResult, Failure, ItemKind, MAX_FILE_MATCHES, Paging,
    Revision,
};
use candor_guard::Deadline;
use git2::{Odb, Oid};
use std::time::Duration;

/// The time of a search.
pub const SEARCH_TIME: Duration = Duration::from_secs(2);

/// The maximum number of matches of a search.
pub const MAX_MATCHES: usize = 1000;

/// The maximum size of a file that is searched.
pub const MAX_SEARCHED_BYTES: u64 = 1024 * 1024;

/// Splits a query into words and phrases, in lower case. A quote that is not closed is one of a word.
pub(super) fn terms(query: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let mut rest = query;
    while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
        rest = &rest[start..];
        let phrase = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let (term, behind) = match phrase {
            Some((phrase, behind)) => (phrase, behind),
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        if !term.is_empty() {
            terms.push(term.to_lowercase());
        }
        rest = behind;
    }
    terms
}

/// Returns the lines of a text that contain a term, if every term occurs in the text.
fn matches(text: &str, terms: &[String]) -> Option<Vec<CodeMatch>> {
    let mut missing: Vec<&String> = terms.iter().collect();
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let lower = line.to_lowercase();
        missing.retain(|term| !lower.contains(term.as_str()));
        let first = terms
            .iter()
            .filter_map(|term| lower.find(term.as_str()))
            .min();
        if let Some(first) = first.filter(|_| found.len() < MAX_FILE_MATCHES) {
            let at = lower[..first].chars().count();
            found.push(CodeMatch {
                line: Some(number as u64 + 1),
                text: shown_match(line, at),
            });
        }
    }
    (missing.is_empty() && !found.is_empty()).then_some(found)
}

/// A search in one tree.
struct CodeSearch<'a> {
    opened: &'a OpenRepository,
    odb: &'a Odb<'a>,
    terms: Vec<String>,
    prefix: &'a str,
    until: Deadline,
    at: String,
    results: Vec<CodeResult>,
    matches: usize,
    incomplete: bool,
}

impl CodeSearch<'_> {
    fn is_over(&mut self) -> bool {
        self.incomplete |= self.until.passed() || self.matches >= MAX_MATCHES;
        self.incomplete
    }

    /// Searches every file below a tree. Files come in the byte order of their paths, as in a tree.
    fn run(&mut self, root: Oid) -> Result<(), Failure> {
        let mut open = vec![(String::new(), self.opened.tree_at(self.odb, root)?, 0)];
        while let Some((parent, tree, next)) = open.last_mut() {
            let Some(entry) = tree.get(*next).map(|entry| entry.to_owned()) else {
                open.pop();
                continue;
            };
            *next += 1;
            let Ok(name) = std::str::from_utf8(entry.name_bytes()) else {
                continue;
            };
            let path = match parent.as_str() {
                "" => name.to_owned(),
                parent => format!("{parent}/{name}"),
            };
            if self.is_over() {
                return Ok(());
            }
            match kind(&entry) {
                ItemKind::Dir if overlap(&format!("{path}/"), self.prefix) => {
                    let below = self.opened.tree_at(self.odb, entry.id())?;
                    open.push((path, below, 0));
                }
                ItemKind::File if path.starts_with(self.prefix) => self.search(path, entry.id())?,
                _ => {}
            }
        }
        Ok(())
    }

    fn search(&mut self, path: String, id: Oid) -> Result<(), Failure> {
        if self.opened.blob_size(self.odb, id)? > MAX_SEARCHED_BYTES {
            return Ok(());
        }
        let bytes = self.opened.blob(self.odb, id, &path, MAX_SEARCHED_BYTES)?;
        let Ok(text) = String::from_utf8(bytes) else {
            return Ok(());
        };
        if text.contains('\0') {
            return Ok(());
        }
        let Some(mut matches) = matches(&text, &self.terms) else {
            return Ok(());
        };
        matches.truncate(MAX_MATCHES - self.matches);
        self.matches += matches.len();
        self.results.push(CodeResult {
            url: url::blob(&self.opened.location.name, &self.at, &path),
            path,
            matches,
        });
        Ok(())
    }
}

/// Returns true if one text begins with the other.
fn overlap(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

impl OpenRepository {
    pub(super) fn search_code(
        &self,
        query: &CodeQuery,
        until: Deadline,
        paging: Paging,
    ) -> Result<CodePage, Failure> {
        let (commit, at) = self.commit(&Revision::Default)?;
        let odb = self.odb()?;
        let mut search = CodeSearch {
            opened: self,
            odb: &odb,
            terms: terms(&query.text),
            prefix: query.path.as_deref().unwrap_or_default(),
            until,
            at,
            results: Vec::new(),
            matches: 0,
            incomplete: false,
        };
        // A query of blanks and quotes finds nothing.
        if !search.terms.is_empty() {
            search.run(commit.tree_id())?;
        }
        let total_count = search.results.len() as u64;
        let (results, more) = page(search.results.into_iter(), paging);
        Ok(CodePage {
            results,
            total_count,
            incomplete: search.incomplete,
            at: search.at,
            more,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_phrases_are_told_apart() {
        assert_eq!(terms(" Foo  \"a B\"bar "), ["foo", "a b", "bar"]);
        assert_eq!(terms("say \"hi"), ["say", "\"hi"]);
        assert_eq!(terms("\"\" \t"), [""; 0]);
    }

    #[test]
    fn every_word_must_occur_somewhere_in_the_file() {
        let text = "fn Alpha() {}\n\nlet beta = alpha();\n";
        let lines = |query: &str| -> Option<Vec<u64>> {
            let found = matches(text, &terms(query))?;
            Some(found.into_iter().filter_map(|one| one.line).collect())
        };
        assert_eq!(lines("alpha"), Some(vec![1, 3]));
        assert_eq!(lines("ALPHA beta"), Some(vec![1, 3]));
        assert_eq!(lines("\"beta = alpha\""), Some(vec![3]));
        assert_eq!(lines("alpha gamma"), None);
    }

    #[test]
    fn matches_are_bounded_in_number_and_length() {
        let found = matches(&"word\n".repeat(9), &terms("word")).unwrap();
        assert_eq!(found.len(), MAX_FILE_MATCHES);
        let long = format!("{}word{}", "ü".repeat(1000), "x".repeat(1000));
        let found = matches(&long, &terms("word")).unwrap();
        assert_eq!(found[0].text.chars().count(), crate::MAX_MATCH_CHARS);
        assert!(found[0].text.contains("word"));
    }
}
