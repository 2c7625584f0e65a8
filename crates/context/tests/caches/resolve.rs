//! Responses have the bytes of the oracle, for any corpus, query and budget.

use crate::fixture::{CacheFixture, document, oracle_response};
use crate::generated;
use candor_context::{Document, MAX_BUDGET, Query, Reader, TokenBudget};
use proptest::prelude::*;
use serde_json::Value;

/// Returns budgets at which the response changes, and their neighbours; about `most` of them.
fn boundaries(documents: &[Document], query: &str, most: usize) -> Vec<u64> {
    let everything = oracle_response(documents, query, MAX_BUDGET);
    let everything: Value = serde_json::from_slice(&everything).unwrap();
    let mut sum = 0;
    let mut budgets = vec![0, MAX_BUDGET];
    for one in everything["documents"].as_array().unwrap() {
        let tokens = one["tokens"].as_u64().unwrap();
        sum += tokens;
        budgets.extend([tokens, sum.saturating_sub(1), sum, sum + 1]);
    }
    budgets.sort_unstable();
    budgets.dedup();
    let step = budgets.len().div_ceil(most).max(1);
    budgets.into_iter().step_by(step).collect()
}

fn check_against_oracle(reader: &mut Reader<'_>, documents: &[Document], query: &str, budget: u64) {
    let request = Query::new(query).unwrap();
    let answer = reader
        .resolve(&request, TokenBudget::new(budget).unwrap())
        .unwrap();
    let (answer, plain) = (
        answer.to_line().unwrap(),
        oracle_response(documents, query, budget),
    );
    assert!(
        answer == plain,
        "query {query:?}, budget {budget}\n  engine: {}\n  plain:  {}",
        String::from_utf8_lossy(&answer),
        String::from_utf8_lossy(&plain)
    );
}

fn fixture(sources: &[(String, String)]) -> (CacheFixture, Vec<Document>) {
    let fixture = CacheFixture::new();
    for (path, content) in sources {
        fixture.put(path, content);
    }
    fixture.build().unwrap();
    let of = |(path, content): &(String, String)| document(path, content);
    (fixture, sources.iter().map(of).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn response_agrees_with_the_oracle(
        sources in generated::sources(40),
        queries in proptest::collection::vec(generated::query(), 1..5),
    ) {
        let (fixture, documents) = fixture(&sources);
        let mut reader = fixture.reader().unwrap();
        for query in &queries {
            for budget in boundaries(&documents, query, 40) {
                check_against_oracle(&mut reader, &documents, query, budget);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn response_from_many_documents_agrees_with_the_oracle(
        sources in generated::sources(400),
        queries in proptest::collection::vec(generated::query(), 4),
    ) {
        let (fixture, documents) = fixture(&sources);
        let mut reader = fixture.reader().unwrap();
        for query in &queries {
            for budget in boundaries(&documents, query, 12) {
                check_against_oracle(&mut reader, &documents, query, budget);
            }
        }
    }
}

/// A few thousand small documents: three levels in the tree of sizes, lists outside the dictionary, and
/// several dictionary blocks.
#[test]
fn response_from_thousands_of_documents_agrees_with_the_oracle() {
    let sources: Vec<_> = (0..4200usize)
        .map(|number| {
            let content = match number % 7 {
                0 => String::new(),
                1 => format!("common w{number}"),
                2 => format!(
                    "Common common w{} {}",
                    number % 50,
                    "long ".repeat(number % 90)
                ),
                _ => format!("w{number} w{} rare{}", number / 3, number % 1000),
            };
            (format!("d{}/{number}.md", number % 10), content)
        })
        .collect();
    let (fixture, documents) = fixture(&sources);
    let mut reader = fixture.reader().unwrap();
    for query in [
        "common",
        "w7 common w8 w4199",
        "rare7 rare7 long",
        "nothing",
        "w0",
    ] {
        for budget in [0, 1, 3, 50, 777, 20_000, MAX_BUDGET] {
            check_against_oracle(&mut reader, &documents, query, budget);
        }
    }
}

/// Numbers beyond the exact range of single precision are rounded, then divided.
#[test]
fn matches_beyond_two_to_the_24_are_divided_in_single_precision() {
    let sources: Vec<_> = [1023, 1025]
        .into_iter()
        .map(|times| (format!("{times}.md"), "a ".repeat(times) + "b c"))
        .collect();
    let (fixture, documents) = fixture(&sources);
    let mut reader = fixture.reader().unwrap();
    let query = "a ".repeat(16_411) + "b";
    check_against_oracle(&mut reader, &documents, &query, MAX_BUDGET);
}

#[test]
fn word_longer_than_any_query_counts() {
    let long = "x".repeat(200_000);
    let most = "y".repeat(65_536);
    let sources = [
        (String::from("a.md"), format!("{long} y {long}")),
        (String::from("b.md"), format!("{most} y")),
    ];
    let (fixture, documents) = fixture(&sources);
    let mut reader = fixture.reader().unwrap();
    for query in ["y", &most, &"Y".repeat(65_536), &"İ".repeat(32_768)] {
        check_against_oracle(&mut reader, &documents, query, MAX_BUDGET);
    }
}

#[test]
fn empty_cache_selects_nothing() {
    let (fixture, documents) = fixture(&[]);
    let mut reader = fixture.reader().unwrap();
    check_against_oracle(&mut reader, &documents, "a", 0);
    let answer = fixture.query("a", 5).unwrap();
    assert_eq!(
        String::from_utf8(answer).unwrap(),
        r#"{"documents":[],"selection":{"query":"a","budget":5,"tokens_used":0,"documents_considered":0,"documents_selected":0,"documents_excluded_by_budget":0}}
"#
    );
}

#[test]
fn pretty_form_differs_only_in_white_space() {
    let sources = [
        (
            String::from("a.md"),
            String::from("a \" \\ \n\u{1}\u{7f}é 🦀"),
        ),
        (String::from("b.md"), String::new()),
    ];
    let (fixture, _) = fixture(&sources);
    let query = Query::new("A  a").unwrap();
    let mut reader = fixture.reader().unwrap();
    let answer = reader
        .resolve(&query, TokenBudget::new(9).unwrap())
        .unwrap();
    assert_eq!(
        String::from_utf8(candor_context::to_pretty_json(&answer).unwrap()).unwrap(),
        r#"{
  "documents": [
    {
      "id": "a.md",
      "version": "sha256:VERSION",
      "content": "a \" \\ \n\u0001é 🦀",
      "score": 0.4,
      "tokens": 4,
      "why": {
        "query_terms": [
          "a",
          "a"
        ],
        "term_matches": 2,
        "total_words": 5
      }
    },
    {
      "id": "b.md",
      "version": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "content": "",
      "score": 0.0,
      "tokens": 0,
      "why": {
        "query_terms": [
          "a",
          "a"
        ],
        "term_matches": 0,
        "total_words": 0
      }
    }
  ],
  "selection": {
    "query": "A  a",
    "budget": 9,
    "tokens_used": 4,
    "documents_considered": 2,
    "documents_selected": 2,
    "documents_excluded_by_budget": 0
  }
}
"#
        .replace(
            "sha256:VERSION",
            &candor_context::Digest::of(sources[0].1.as_bytes()).to_string()
        )
        .replace("\\u0001é", "\\u0001\u{7f}é")
    );
}
