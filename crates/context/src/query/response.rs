//! The response of `resolve`, with the member order and the bytes of its frozen specification.

use crate::MAX_ANSWER;
use crate::failure::{BudgetFlaw, Failure};
use crate::format::document::Document;
use crate::query::request::{Query, TokenBudget};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::io::{self, Write};
use std::sync::Arc;

/// The selected documents and a summary of the selection.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ResolveResponse<'q> {
    documents: Vec<SelectedDocument<'q>>,
    selection: DocumentSelection<'q>,
}

/// One selected document. It is shared with the recent documents, because contents are large.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SelectedDocument<'q> {
    pub(crate) document: Arc<Document>,
    pub(crate) score: f32,
    pub(crate) tokens: u64,
    pub(crate) why: DocumentExplanation<'q>,
}

impl Serialize for SelectedDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_struct("SelectedDocument", 6)?;
        members.serialize_field("id", &self.document.id)?;
        members.serialize_field("version", &self.document.version)?;
        members.serialize_field("content", &self.document.content)?;
        members.serialize_field("score", &self.score)?;
        members.serialize_field("tokens", &self.tokens)?;
        members.serialize_field("why", &self.why)?;
        members.end()
    }
}

/// The figures behind a document's score.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(crate) struct DocumentExplanation<'q> {
    pub(crate) query_terms: &'q [String],
    pub(crate) term_matches: u64,
    pub(crate) total_words: u64,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
struct DocumentSelection<'q> {
    query: &'q str,
    budget: u64,
    tokens_used: u64,
    documents_considered: u64,
    documents_selected: u64,
    documents_excluded_by_budget: u64,
}

/// Returns the score of v0: a division in single precision, or zero if there are no words.
pub(crate) fn score(matches: u64, words: u64) -> f32 {
    match words {
        0 => 0.0,
        words => matches as f32 / words as f32,
    }
}

impl<'q> ResolveResponse<'q> {
    pub(crate) fn new(
        query: &'q Query,
        budget: TokenBudget,
        considered: u64,
        documents: Vec<SelectedDocument<'q>>,
    ) -> ResolveResponse<'q> {
        let selected = documents.len() as u64;
        let selection = DocumentSelection {
            query: query.raw(),
            budget: budget.tokens(),
            tokens_used: documents.iter().map(|one| one.tokens).sum(),
            documents_considered: considered,
            documents_selected: selected,
            documents_excluded_by_budget: considered - selected,
        };
        ResolveResponse {
            documents,
            selection,
        }
    }

    #[cfg(test)]
    pub(crate) fn shares_documents_with(&self, other: &ResolveResponse<'_>) -> bool {
        let mut pairs = self.documents.iter().zip(&other.documents);
        pairs.all(|(one, other)| Arc::ptr_eq(&one.document, &other.document))
    }

    /// Serialises the response as one line of JSON.
    pub fn to_line(&self) -> Result<Vec<u8>, Failure> {
        to_json_line(self)
    }
}

/// Serialises a response with white space for people.
pub fn to_pretty_json(answer: &impl Serialize) -> Result<Vec<u8>, Failure> {
    // The limit applies to the compact form.
    to_json_line(answer)?;
    let mut bytes = serde_json::to_vec_pretty(answer)
        .map_err(|_| Failure::Bug("an answer cannot be written"))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Serialises a value as one line of JSON. Fails if it is too large for a response.
pub fn to_json_line(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    line_of(value, MAX_ANSWER)
}

fn line_of(value: &impl Serialize, most: usize) -> Result<Vec<u8>, Failure> {
    let mut out = Bounded {
        bytes: Vec::new(),
        most,
    };
    let too_large = || Failure::Budget(BudgetFlaw::ResponseTooLarge);
    serde_json::to_writer(&mut out, value).map_err(|_| too_large())?;
    out.write_all(b"\n").map_err(|_| too_large())?;
    Ok(out.bytes)
}

/// A buffer with a maximum size.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.bytes.len() + bytes.len() <= self.most {
            true => {
                self.bytes.extend_from_slice(bytes);
                Ok(bytes.len())
            }
            false => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_response_is_refused() {
        assert_eq!(line_of(&["12345"], 10).unwrap(), b"[\"12345\"]\n");
        for value in [&["123456"][..], &["12345", ""]] {
            let refused = line_of(&value, 10).unwrap_err();
            assert!(matches!(
                refused,
                Failure::Budget(BudgetFlaw::ResponseTooLarge)
            ));
        }
    }

    #[test]
    fn scores_are_divided_in_single_precision() {
        assert_eq!(score(1, 0), 0.0);
        assert_eq!(score(1, 3), 0.333_333_34);
        // Numerator and denominator are rounded before the division.
        assert_eq!(score(16_777_217, 16_777_219), 16_777_216.0 / 16_777_220.0);
        assert_eq!(serde_json::to_string(&score(3, 4)).unwrap(), "0.75");
        assert_eq!(
            serde_json::to_string(&score(1, 33_554_432)).unwrap(),
            "2.9802322e-8"
        );
    }
}
