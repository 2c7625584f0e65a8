//! The rules of v0, written as simply as possible: every word of every document is compared. Selection
//! by index must give the same bytes. For tests and benchmarks.

use crate::format::document::Document;
use crate::index::words::tokens;
use crate::query::request::{Query, TokenBudget};
use crate::query::response::{DocumentExplanation, ResolveResponse, SelectedDocument, score};
use std::sync::Arc;

/// Answers a query by comparing every word.
pub fn oracle<'q>(
    documents: &[Document],
    query: &'q Query,
    budget: TokenBudget,
) -> ResolveResponse<'q> {
    let mut order: Vec<_> = documents.iter().map(|one| judge(one, query)).collect();
    order.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then_with(|| one.document.id.as_bytes().cmp(other.document.id.as_bytes()))
    });
    let mut left = budget.tokens();
    order.retain(|one| {
        let fits = one.tokens <= left;
        left -= if fits { one.tokens } else { 0 };
        fits
    });
    ResolveResponse::new(query, budget, documents.len() as u64, order)
}

fn judge<'q>(document: &Document, query: &'q Query) -> SelectedDocument<'q> {
    let lower = document.content.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let count = |word: &&str| query.terms().iter().filter(|term| term == word).count() as u64;
    let term_matches = words.iter().map(count).sum();
    let total_words = words.len() as u64;
    SelectedDocument {
        document: Arc::new(document.clone()),
        score: score(term_matches, total_words),
        tokens: tokens(document.content.len() as u64),
        why: DocumentExplanation {
            query_terms: query.terms(),
            term_matches,
            total_words,
        },
    }
}
