//! Search compared with an oracle, and its rules one by one.

use super::super::document_terms::document_terms;
use super::super::memory_index::MemoryIndex;
use super::super::syntax::Syntax;
use super::*;
use crate::tokenizer::Tokenizer;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Scores and sorts all passages, then selects.
fn oracle(contents: &[String], query: &str, budget: u64) -> SearchOutcome {
    let mut passages: Vec<(BTreeMap<String, u32>, u32, u32)> = Vec::new();
    for content in contents {
        let first = passages.len();
        let mut terms: BTreeMap<u32, BTreeMap<String, u32>> = BTreeMap::new();
        let facts = document_terms(
            content,
            Syntax::Markdown,
            Tokenizer::Bytes4,
            &mut Analyser::new(),
            |ordinal, term, tf| {
                terms
                    .entry(ordinal)
                    .or_default()
                    .insert(term.text.to_owned(), tf);
            },
        );
        for (ordinal, facts) in (0..).zip(facts) {
            let terms = terms.remove(&ordinal).unwrap_or_default();
            passages.push((terms, facts.length, facts.tokens));
        }
        assert!(passages.len() >= first);
    }
    let count = passages.len() as u32;
    let total = passages.iter().map(|passage| u64::from(passage.1)).sum();
    let terms = query_terms(query);
    let mut hits = Vec::new();
    for (number, (held, length, tokens)) in (0..).zip(&passages) {
        let mut term_scores = Vec::new();
        for term in &terms {
            let Some(tf) = held.get(term) else { continue };
            let holding = passages
                .iter()
                .filter(|passage| passage.0.contains_key(term));
            let idf = Idf::new(count, holding.count() as u32);
            term_scores.push(TermWeight {
                term: term.clone(),
                tf: *tf,
                weight: weight(idf, *tf, Norm::new(*length, count, total)),
            });
        }
        if !term_scores.is_empty() {
            term_scores.sort_by_key(|term| (Reverse(term.weight), term.term.clone()));
            let score = term_scores.iter().map(|term| term.weight).sum();
            let hit = PassageHit {
                passage: number,
                score,
                tokens: *tokens,
                terms: term_scores,
            };
            hits.push((hit, u64::from(*tokens)));
        }
    }
    let considered = hits.len() as u64;
    hits.sort_by_key(|(hit, _)| (Reverse(hit.score), hit.passage));
    let mut left = budget;
    hits.retain(|(_, tokens)| match left.checked_sub(*tokens) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    });
    SearchOutcome {
        hits: hits.into_iter().map(|(hit, _)| hit).collect(),
        considered,
        tokens_used: budget - left,
    }
}

fn contents() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![
        4 => "[a-e]",
        2 => Just("the".to_owned()),
        1 => Just("# heading b\n\n".to_owned()),
        1 => Just("\n\n".to_owned()),
        1 => Just("filling ".repeat(60)),
        1 => Just("camelCase".to_owned()),
    ];
    let text = proptest::collection::vec(word, 0..40).prop_map(|words| words.join(" "));
    proptest::collection::vec(text, 0..20)
}

proptest! {
    #[test]
    fn search_agrees_with_the_oracle(
        contents in contents(),
        query in "([a-e] |the |fill |camel |heading ){0,6}",
        budget in prop_oneof![0u64..200, 0u64..5000, Just(u64::MAX)],
    ) {
        let index = MemoryIndex::new(contents.iter().map(String::as_str));
        prop_assert_eq!(index.search(&query, budget), oracle(&contents, &query, budget));
    }
}

#[test]
fn many_matches_are_taken_in_order() {
    // More than one batch, with ties and with passages that stop fitting.
    let contents: Vec<String> = (0..1000)
        .map(|number| format!("apple {}", "pear ".repeat(number * 7 % 50)))
        .collect();
    let index = MemoryIndex::new(contents.iter().map(String::as_str));
    for budget in [0, 1, 2, 99, 1_000, 10_000, u64::MAX] {
        assert_eq!(
            index.search("apple", budget),
            oracle(&contents, "apple", budget)
        );
    }
}

#[test]
fn ties_go_to_the_earlier_passage() {
    let index = MemoryIndex::new(["same words", "same words", "same words"]);
    let outcome = index.search("word", 100);
    let order: Vec<u32> = outcome.hits.iter().map(|hit| hit.passage).collect();
    assert_eq!(order, [0, 1, 2]);
}

#[test]
fn passage_beyond_the_budget_is_skipped() {
    let long = format!("apple apple {}", "pear ".repeat(100));
    let index = MemoryIndex::new([long.as_str(), "apple and more"]);
    let outcome = index.search("apple", 10);
    assert_eq!(outcome.hits.len(), 1);
    assert_eq!(outcome.hits[0].passage, 1);
    assert_eq!((outcome.considered, outcome.tokens_used), (2, 4));
}

#[test]
fn query_without_a_match_selects_nothing() {
    let index = MemoryIndex::new(["some text", ""]);
    for query in ["", "the", "?!", "absent"] {
        let outcome = index.search(query, 1000);
        assert_eq!(
            (outcome.hits.len(), outcome.considered, outcome.tokens_used),
            (0, 0, 0)
        );
    }
    assert_eq!(MemoryIndex::new([]).search("some", 1000).considered, 0);
}

#[test]
fn repeated_query_term_counts_once() {
    assert_eq!(
        query_terms("Running the runs, running: a walk runs"),
        ["run", "walk"]
    );
    assert_eq!(query_terms("if this, if that"), ["if", "this", "that"]);
    assert!(query_terms("").is_empty());
}

#[test]
fn query_of_stop_words_matches_headings() {
    let index = MemoryIndex::new(["# this\n\nA keyword.", "# that\n\nIt is this."]);
    let outcome = index.search("this", 1000);
    assert_eq!(outcome.considered, 1);
    assert_eq!(outcome.hits[0].terms[0].term, "this");
    assert_eq!(index.search("this keyword", 1000).hits[0].terms.len(), 1);
}

#[test]
fn many_terms_with_a_large_budget_take_linear_time() {
    // Searching every term in every hit would take minutes here.
    let contents: Vec<String> = (0..2000).map(|number| format!("every w{number}")).collect();
    let index = MemoryIndex::new(contents.iter().map(String::as_str));
    let query: String = (0..9000)
        .map(|number| format!("w{} ", number % 3000))
        .collect();
    let outcome = index.search(&format!("every {query}"), u64::MAX);
    assert_eq!(outcome.hits.len(), 2000);
    assert!(outcome.hits.iter().all(|hit| hit.terms.len() == 2));
}
