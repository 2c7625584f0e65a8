//! Reads a document, or a part of it, within a token budget.

use crate::cache::{Cache, CacheAccessError};
use crate::format::document::Document;
use crate::passages::{Syntax, title};
use crate::query::request::TokenBudget;
use crate::read::answers::DocumentAnswer;
use crate::read::catalogue::{Catalogue, NamedCache, find_named};
use crate::read::failure::{ReadFailure, UnknownDocument};
use crate::read::near::NearIds;
use crate::read::text_parts::{count_lines, fitting, lines_of, range_of_lines};
use crate::read::violations::{one, violation};
use crate::serve::answer_room::{AnswerSpace, rendering_bytes};
use crate::tokenizer::Tokenizer;
use candor_fault::Violation;
use serde_json::json;
use std::ops::Range;

/// A request for a document.
#[derive(Debug, Clone)]
pub struct DocumentRequest {
    pub id: String,
    /// The name of the cache; `None` if the only one that has the id is meant.
    pub cache: Option<String>,
    pub part: DocumentPart,
    /// The version that the caller knows.
    pub version: Option<String>,
    pub budget: TokenBudget,
}

/// A part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentPart {
    Whole,
    /// Lines from 1 on, both included.
    Lines(u64, u64),
    /// Bytes, the second offset excluded.
    Range(u64, u64),
}

impl Catalogue {
    /// Reads a document, or a part of it.
    pub fn get(&self, request: &DocumentRequest) -> Result<DocumentAnswer, ReadFailure> {
        self.get_within(request, &AnswerSpace::unlimited())
    }

    /// Reads like [`Catalogue::get`], after claiming the space of the answer.
    pub(crate) fn get_within(
        &self,
        request: &DocumentRequest,
        space: &AnswerSpace,
    ) -> Result<DocumentAnswer, ReadFailure> {
        let caches = self.caches()?;
        let cache = match &request.cache {
            Some(name) => find_named(&caches, name)?,
            None => self.holder(&caches, &request.id)?,
        };
        let mut answer = self.query(cache, |open| read(open, cache, request, space))??;
        answer.one_cache = request.cache.is_some() || caches.len() == 1;
        Ok(answer)
    }

    /// Returns the only cache that has a document with this id.
    fn holder<'c>(
        &self,
        caches: &'c [NamedCache],
        id: &str,
    ) -> Result<&'c NamedCache, ReadFailure> {
        if let [only] = caches {
            return Ok(only);
        }
        let mut holders = Vec::new();
        for cache in caches {
            if self.query(cache, |open| Ok(open.contents()?.ids.find(id).is_some()))? {
                holders.push(cache);
            }
        }
        match holders.as_slice() {
            [holder] => Ok(holder),
            [] => Err(self.unknown_document(caches, id)?),
            several => Err(ReadFailure::Ambiguous {
                id: id.to_owned(),
                caches: several.iter().map(|cache| cache.name.clone()).collect(),
            }),
        }
    }

    /// Returns the failure of an id that no document of any cache has.
    fn unknown_document(
        &self,
        caches: &[NamedCache],
        id: &str,
    ) -> Result<ReadFailure, ReadFailure> {
        let mut near = NearIds::new(id);
        for cache in caches {
            let contents = self.query(cache, Cache::contents)?;
            near.add(&cache.name, &contents.ids);
        }
        Ok(ReadFailure::UnknownDocument(UnknownDocument {
            cache: None,
            asked: id.to_owned(),
            near: near.into_found(),
        }))
    }
}

/// Reads a part of a document of an open cache. The inner failure is final.
fn read(
    open: &Cache,
    cache: &NamedCache,
    request: &DocumentRequest,
    space: &AnswerSpace,
) -> Result<Result<DocumentAnswer, ReadFailure>, CacheAccessError> {
    let contents = open.contents()?;
    let Some(number) = contents.ids.find(&request.id) else {
        let mut near = NearIds::new(&request.id);
        near.add(&cache.name, &contents.ids);
        return Ok(Err(ReadFailure::UnknownDocument(UnknownDocument {
            cache: Some(cache.name.clone()),
            asked: request.id.clone(),
            near: near.into_found(),
        })));
    };
    // The answer contains the part as text, too.
    let file = open.file_bytes(number);
    let part = file.min(most_bytes(request)).saturating_mul(2);
    if let Err(no_room) = space.claim(rendering_bytes(part, file)) {
        return Ok(Err(no_room.into()));
    }
    let document = open.document(number, &mut Vec::new())?;
    if document.id != request.id {
        return Err(CacheAccessError::Changed);
    }
    let current = document.version.to_string();
    if let Some(expected) = request.version.as_ref().filter(|one| **one != current) {
        return Ok(Err(ReadFailure::OtherVersion {
            cache: cache.name.clone(),
            id: request.id.clone(),
            expected: expected.clone(),
            current,
        }));
    }
    let tokenizer = open.tokenizer();
    Ok(
        part_of(&document, request, tokenizer).map(|part| DocumentAnswer {
            cache: cache.name.clone(),
            cache_version: open.version().to_string(),
            id: document.id.clone(),
            version: current,
            source: document.source.clone(),
            title: title(&document.content, Syntax::of(&document.id)),
            lines: part.lines,
            range: offsets(&part.range),
            total_lines: part.total_lines,
            total_bytes: document.content.len() as u64,
            content: document.content[part.range.clone()].to_owned(),
            tokens: part.tokens,
            tokenizer: tokenizer.name().to_owned(),
            next: (part.range.end < part.asked.end)
                .then(|| offsets(&(part.range.end..part.asked.end))),
            budget: request.budget.tokens(),
            one_cache: false,
        }),
    )
}

/// Returns an estimate of the most bytes that the budget of a request admits. A token rarely has more.
fn most_bytes(request: &DocumentRequest) -> u64 {
    request.budget.tokens().saturating_mul(8)
}

fn offsets(range: &Range<usize>) -> [u64; 2] {
    [range.start as u64, range.end as u64]
}

/// The part of a document that is returned.
struct ReturnedPart {
    /// The part that was asked for.
    asked: Range<usize>,
    /// The beginning of it, as far as it fits the budget.
    range: Range<usize>,
    tokens: u64,
    lines: Option<[u64; 2]>,
    total_lines: u64,
}

fn part_of(
    document: &Document,
    request: &DocumentRequest,
    tokenizer: Tokenizer,
) -> Result<ReturnedPart, ReadFailure> {
    let text = &document.content;
    let total_lines = count_lines(text);
    let asked = match request.part {
        DocumentPart::Whole => 0..text.len(),
        DocumentPart::Lines(from, to) => range_of_lines(text, from, to)
            .ok_or_else(|| ReadFailure::Arguments(one(wrong_lines([from, to], total_lines))))?,
        DocumentPart::Range(from, to) => checked_range(text, from, to)
            .map_err(|reason| ReadFailure::Arguments(one(wrong_range([from, to], reason, text))))?,
    };
    let budget = request.budget.tokens();
    let part = &text[asked.clone()];
    let (length, tokens) = match tokenizer.count_at_most(part, budget) {
        Ok(tokens) => (part.len(), tokens),
        Err(guess) => {
            let fits = |length: usize| tokenizer.count_at_most(&part[..length], budget).is_ok();
            let length = fitting(part, guess, fits);
            (length, tokenizer.count(&part[..length]))
        }
    };
    let range = asked.start..asked.start + length;
    Ok(ReturnedPart {
        lines: lines_of(text, &range),
        asked,
        range,
        tokens,
        total_lines,
    })
}

fn checked_range(text: &str, from: u64, to: u64) -> Result<Range<usize>, &'static str> {
    let offset = |at: u64| usize::try_from(at).ok().filter(|at| *at <= text.len());
    let (Some(from), Some(to)) = (offset(from), offset(to)) else {
        return Err("reaches beyond the document");
    };
    if to < from {
        return Err("ends before it begins");
    }
    match text.is_char_boundary(from) && text.is_char_boundary(to) {
        true => Ok(from..to),
        false => Err("begins or ends inside a character"),
    }
}

fn wrong_lines([from, to]: [u64; 2], total: u64) -> Violation {
    let (message, expected) = match to < from {
        true => (
            format!("must be the first line and then the last, but {from} comes after {to}"),
            format!("the first line and then the last, such as [{to},{from}]"),
        ),
        false => (
            format!(
                "must be lines of the document, but they begin behind the last line; total_lines is {total}"
            ),
            format!("lines of the document, whose total_lines is {total}"),
        ),
    };
    Violation {
        params: json!({ "total_lines": total }).into(),
        ..violation("lines", "lines", message, &json!([from, to]), expected)
    }
}

fn wrong_range(range: [u64; 2], reason: &str, text: &str) -> Violation {
    let total = text.len();
    Violation {
        params: json!({ "total_bytes": total }).into(),
        ..violation(
            "range",
            "range",
            format!("must be a range of the document, but it {reason}; total_bytes is {total}"),
            &json!(range),
            format!("offsets between characters of the document, whose total_bytes is {total}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;
    use proptest::prelude::*;

    fn document(content: &str) -> Document {
        Document {
            id: String::from("a.md"),
            version: Digest::of(content.as_bytes()),
            source: String::from("A.md"),
            content: content.to_owned(),
        }
    }

    fn request(part: DocumentPart, budget: u64) -> DocumentRequest {
        DocumentRequest {
            id: String::from("a.md"),
            cache: None,
            part,
            version: None,
            budget: TokenBudget::new(budget).unwrap(),
        }
    }

    /// Reads a part and everything after it by the ranges of the rests. Returns the pieces.
    fn read_on(
        document: &Document,
        part: DocumentPart,
        budget: u64,
        tokenizer: Tokenizer,
    ) -> Vec<String> {
        let mut pieces = Vec::new();
        let mut part = part;
        loop {
            let read = part_of(document, &request(part, budget), tokenizer).unwrap();
            let piece = &document.content[read.range.clone()];
            let lines = read.lines.unwrap_or([0, 0]);
            let all: Vec<&str> = document.content.split_inclusive('\n').collect();
            if !piece.is_empty() {
                // The lines are those that the piece touches.
                let touched: String = all[lines[0] as usize - 1..lines[1] as usize].concat();
                assert!(touched.contains(piece));
            }
            pieces.push(piece.to_owned());
            if read.range.end == read.asked.end {
                return pieces;
            }
            assert!(!piece.is_empty(), "every step goes on");
            part = DocumentPart::Range(read.range.end as u64, read.asked.end as u64);
        }
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            3 => Just(String::from("\n")),
            1 => Just(String::from("\r\n")),
            3 => "[ab é漢🦊]{0,40}",
            1 => "\\PC{0,20}",
            1 => any::<char>().prop_map(String::from),
        ];
        proptest::collection::vec(piece, 0..25).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn reading_on_gives_the_document_back(text in text(), budget in 1u64..20, o200k: bool) {
            let tokenizer = Tokenizer::ALL[usize::from(o200k)];
            let document = document(&text);
            let pieces = read_on(&document, DocumentPart::Whole, budget, tokenizer);
            prop_assert_eq!(pieces.concat(), text.clone());
            let mut rest = text.as_str();
            for piece in &pieces {
                // A character is never split, even if it is more than the budget.
                let is_one = piece.chars().count() == 1 && tokenizer == Tokenizer::O200k;
                prop_assert!(tokenizer.count(piece) <= budget || is_one);
                // A line that fits is not left to the next answer.
                let longer = rest.split_inclusive('\n').next().unwrap_or("");
                let whole = piece.len() == rest.len() || piece.ends_with('\n');
                prop_assert!(whole || tokenizer.count(longer) > budget);
                if piece.ends_with('\n') && piece.len() < rest.len() && !is_one {
                    let next = rest[piece.len()..].split_inclusive('\n').next().unwrap_or("");
                    let longer = &rest[..piece.len() + next.len()];
                    prop_assert!(tokenizer.count(longer) > budget);
                }
                rest = &rest[piece.len()..];
            }
            let total = count_lines(&text);
            if total > 0 {
                let (from, to) = (1 + budget % total, 1 + (budget * 7) % total);
                let (from, to) = (from.min(to), from.max(to));
                let lines = text.split_inclusive('\n');
                let expected: String = lines.skip(from as usize - 1).take((to - from + 1) as usize).collect();
                let pieces = read_on(&document, DocumentPart::Lines(from, to), budget, tokenizer);
                prop_assert_eq!(pieces.concat(), expected);
            }
        }

        #[test]
        fn wrong_ranges_are_refused(text in text(), from in 0u64..60, to in 0u64..60) {
            let document = document(&text);
            let right = text.get(from as usize..to as usize).is_some() && from <= to;
            let read = part_of(&document, &request(DocumentPart::Range(from, to), 1000), Tokenizer::Bytes4);
            prop_assert_eq!(read.is_ok(), right);
            let total = count_lines(&text);
            let right = from >= 1 && from <= to && from <= total;
            let read = part_of(&document, &request(DocumentPart::Lines(from, to), 1000), Tokenizer::Bytes4);
            prop_assert_eq!(read.is_ok(), right);
        }
    }
}
