//! Searches an index for the passages that match a query best and fit a token budget.
//!
//! A repeated term of a query counts once, and stop words count only if there is nothing else. A passage is considered if
//! it contains one of the terms. Considered passages are sorted by descending score, then by number, and selected
//! greedily: passages that do not fit are skipped.

use super::analyser::Analyser;
use super::score::{Idf, Norm, weight};

/// The posting lists and sizes of an index, in memory or on disk.
///
/// A search keeps the lists of all its terms in memory: at most eight bytes for every entry of the index.
pub(crate) trait PassageLists {
    type Error;
    /// Returns the number of passages. They are numbered from 0, by document id and then by position.
    fn passages(&self) -> u32;
    /// Returns the sum of the lengths of all passages.
    fn total_length(&self) -> u64;
    /// Returns a passage's length in terms.
    fn length(&self, passage: u32) -> u32;
    /// Returns a passage's tokens.
    fn tokens(&self, passage: u32) -> u32;
    /// Visits every passage that contains the term, in ascending order, with the frequency. Returns their number.
    fn postings(&self, term: &str, visit: &mut dyn FnMut(u32, u32)) -> Result<u32, Self::Error>;
}

/// The outcome of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchOutcome {
    /// The selected passages, best first.
    pub hits: Vec<PassageHit>,
    /// The number of passages that contain at least one of the query's terms.
    pub considered: u64,
    /// The tokens of the selected passages.
    pub tokens_used: u64,
}

/// A selected passage with its score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassageHit {
    pub passage: u32,
    /// The sum of the weights, in millionths.
    pub score: u64,
    /// Its tokens, as the index has them.
    pub tokens: u32,
    /// The query's terms that it contains, by descending weight, then by their bytes.
    pub terms: Vec<TermWeight>,
}

/// The contribution of a term to a score.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TermWeight {
    pub term: String,
    /// Its frequency in the passage, with headings.
    pub tf: u32,
    /// Its weight, in millionths.
    pub weight: u64,
}

/// Finds the best matches of `query` within `budget` tokens.
pub(crate) fn search<L: PassageLists>(
    lists: &L,
    query: &str,
    budget: u64,
) -> Result<SearchOutcome, L::Error> {
    let terms = terms(lists, query)?;
    let mut norms = NormTable::new(lists);
    let mut candidates = candidates(lists, &terms, &mut norms);
    let considered = candidates.len() as u64;
    let mut hits = Vec::new();
    let left = take(&mut candidates, budget, |chosen| {
        hits.push(PassageHit {
            passage: chosen.passage,
            score: chosen.score,
            tokens: chosen.tokens,
            terms: Vec::new(),
        });
    });
    explain(&mut hits, &terms, &mut norms);
    Ok(SearchOutcome {
        hits,
        considered,
        tokens_used: budget - left,
    })
}

/// A term of the query with its list.
struct QueryTerm {
    text: String,
    idf: Idf,
    postings: Vec<(u32, u32)>,
}

/// Returns the query's terms in the order of their first occurrence, without those that no passage contains.
fn terms<L: PassageLists>(lists: &L, query: &str) -> Result<Vec<QueryTerm>, L::Error> {
    let mut terms = Vec::new();
    for text in query_terms(query) {
        let mut postings = Vec::new();
        lists.postings(&text, &mut |passage, tf| postings.push((passage, tf)))?;
        if !postings.is_empty() {
            let holding = u32::try_from(postings.len()).unwrap_or(u32::MAX);
            let idf = Idf::new(lists.passages(), holding);
            terms.push(QueryTerm {
                text,
                idf,
                postings,
            });
        }
    }
    Ok(terms)
}

/// Returns the different terms of a query in the order of their first occurrence, and stop words only if there is
/// nothing else.
fn query_terms(query: &str) -> Vec<String> {
    let mut analyser = Analyser::new();
    let mut terms = Vec::new();
    analyser.terms(query, |term| terms.push(term));
    if terms.iter().any(|term| !term.stop) {
        terms.retain(|term| !term.stop);
    }
    // A new analyser numbers terms in the order of their first occurrence.
    let mut numbers: Vec<u32> = terms.iter().map(|term| term.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let text = |number: u32| analyser.named(number).text.to_owned();
    numbers.into_iter().map(text).collect()
}

/// A passage that contains a term of the query.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    score: u64,
    passage: u32,
    tokens: u32,
}

impl Candidate {
    /// Returns the sort key: passages are selected in ascending order.
    fn rank(&self) -> (std::cmp::Reverse<u64>, u32) {
        (std::cmp::Reverse(self.score), self.passage)
    }
}

fn candidates<L: PassageLists>(
    lists: &L,
    terms: &[QueryTerm],
    norms: &mut NormTable<'_, L>,
) -> Vec<Candidate> {
    let mut scores = vec![0u64; lists.passages() as usize];
    let mut matched = Vec::new();
    for term in terms {
        for &(passage, tf) in &term.postings {
            let Some(score) = scores.get_mut(passage as usize) else {
                continue;
            };
            // A weight is never 0, so a passage with a score of 0 is new.
            if *score == 0 {
                matched.push(passage);
            }
            *score = score.saturating_add(weight(term.idf, tf, norms.of(passage)));
        }
    }
    let candidate = |passage: u32| Candidate {
        score: scores.get(passage as usize).copied().unwrap_or(0),
        passage,
        tokens: lists.tokens(passage),
    };
    matched.into_iter().map(candidate).collect()
}

/// Selects candidates greedily, best first. Returns the rest of the budget.
///
/// Only the best are sorted, in batches that double. Candidates that no longer fit are dropped unsorted, so that many
/// matches take linear time.
fn take(candidates: &mut Vec<Candidate>, budget: u64, mut chosen: impl FnMut(&Candidate)) -> u64 {
    let mut left = budget;
    let mut batch = 64;
    loop {
        candidates.retain(|candidate| u64::from(candidate.tokens) <= left);
        if candidates.is_empty() {
            return left;
        }
        let best = batch.min(candidates.len());
        if best < candidates.len() {
            candidates.select_nth_unstable_by_key(best - 1, Candidate::rank);
        }
        let mut head: Vec<Candidate> = candidates.drain(..best).collect();
        head.sort_unstable_by_key(Candidate::rank);
        for candidate in head {
            if u64::from(candidate.tokens) <= left {
                left -= u64::from(candidate.tokens);
                chosen(&candidate);
            }
        }
        batch *= 2;
    }
}

/// Adds to every hit the terms that it contains, with their weights.
///
/// The shorter one of the hits and a term's list is iterated, and the longer one is searched, so that neither many terms
/// nor many hits take more time than the lists are long.
fn explain<L: PassageLists>(
    hits: &mut [PassageHit],
    terms: &[QueryTerm],
    norms: &mut NormTable<'_, L>,
) {
    let mut positions: Vec<(u32, usize)> = (0..)
        .zip(&*hits)
        .map(|(at, hit)| (hit.passage, at))
        .collect();
    positions.sort_unstable();
    for term in terms {
        let mut add = |at: usize, passage: u32, tf: u32| {
            if let Some(hit) = hits.get_mut(at) {
                hit.terms.push(TermWeight {
                    term: term.text.clone(),
                    tf,
                    weight: weight(term.idf, tf, norms.of(passage)),
                });
            }
        };
        if positions.len() < term.postings.len() {
            for (passage, at) in &positions {
                if let Some((passage, tf)) = held(&term.postings, *passage) {
                    add(*at, passage, tf);
                }
            }
        } else {
            for (passage, tf) in &term.postings {
                if let Some((passage, at)) = held(&positions, *passage) {
                    add(at, passage, *tf);
                }
            }
        }
    }
    for hit in hits {
        hit.terms.sort_unstable_by(|one, other| {
            (other.weight, &one.term).cmp(&(one.weight, &other.term))
        });
    }
}

/// Returns the entry of a passage in a list that is sorted by passage.
fn held<T: Copy>(list: &[(u32, T)], passage: u32) -> Option<(u32, T)> {
    let at = list.binary_search_by_key(&passage, |entry| entry.0).ok()?;
    list.get(at).copied()
}

/// Norms by length. Passages are short, so there are few different lengths, and each norm is computed once.
struct NormTable<'a, L> {
    lists: &'a L,
    known: Vec<Option<Norm>>,
}

impl<'a, L: PassageLists> NormTable<'a, L> {
    const KNOWN: usize = 4096;

    fn new(lists: &'a L) -> Self {
        NormTable {
            lists,
            known: vec![None; Self::KNOWN],
        }
    }

    fn of(&mut self, passage: u32) -> Norm {
        let length = self.lists.length(passage);
        let (passages, total) = (self.lists.passages(), self.lists.total_length());
        let new = || Norm::new(length, passages, total);
        match self.known.get_mut(length as usize) {
            Some(known) => *known.get_or_insert_with(new),
            None => new(),
        }
    }
}

#[cfg(test)]
mod tests;
