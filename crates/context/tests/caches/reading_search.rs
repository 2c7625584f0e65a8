//! A search over several caches gives what a search over one cache of all their documents gives.

use crate::fixture::CacheFixture;
use crate::reading::{catalogue, search_request};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use std::path::PathBuf;

const WORDS: [&str; 12] = [
    "merge", "merged", "undo", "revert", "branch", "the", "commit", "Commits", "a_b", "x.y", "fox",
    "naïve",
];

fn paragraph() -> impl Strategy<Value = String> {
    let words = proptest::collection::vec(select(&WORDS[..]), 1..60);
    let heading = proptest::option::weighted(0.4, select(&WORDS[..]));
    (heading, words).prop_map(|(heading, words)| {
        let heading = heading
            .map(|word| format!("## {word}\n\n"))
            .unwrap_or_default();
        format!("{heading}{}\n\n", words.join(" "))
    })
}

/// Some caches, each of some documents.
fn sources() -> impl Strategy<Value = Vec<Vec<String>>> {
    let document = proptest::collection::vec(paragraph(), 0..12).prop_map(|all| all.concat());
    let documents = proptest::collection::vec(document, 0..6);
    proptest::collection::vec(documents, 1..5)
}

/// Returns the passages of an answer, with the name of the cache before the id.
fn passages(answer: &impl serde::Serialize) -> Vec<Value> {
    let value = serde_json::to_value(answer).unwrap();
    let passages = value["passages"].as_array().unwrap().clone();
    let joined = |mut passage: Value| {
        let cache = passage["cache"].as_str().unwrap().to_owned();
        let id = passage["id"].as_str().unwrap().to_owned();
        let members = passage.as_object_mut().unwrap();
        members.shift_remove("cache");
        members["id"] = match cache == "union" {
            true => json!(id),
            false => json!(format!("{cache}/{id}")),
        };
        passage
    };
    passages.into_iter().map(joined).collect()
}

#[test]
fn search_over_several_caches_equals_search_over_their_union() {
    let config = ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let query = proptest::collection::vec(select(&WORDS[..]), 1..5);
    proptest!(config, |(sources in sources(), query in query, budget in 0u64..900, stored: bool)| {
        let mut union = CacheFixture::new();
        union.passages = stored;
        let mut paths: Vec<PathBuf> = Vec::new();
        let mut fixtures = Vec::new();
        for (cache, documents) in sources.iter().enumerate() {
            let mut fixture = CacheFixture::new();
            // Some have an index of passages, others build it in memory.
            fixture.passages = stored == (cache % 2 == 0);
            for (number, content) in documents.iter().enumerate() {
                fixture.put(&format!("{number}.md"), content);
                union.put(&format!("c{cache}/{number}.md"), content);
            }
            let name = format!("c{cache}");
            fixture.build_at(&name, false).unwrap();
            paths.push(fixture.path(&name));
            fixtures.push(fixture);
        }
        union.build_at("union", false).unwrap();
        let request = search_request(&query.join(" "), budget, None);
        let several = catalogue(&paths).search(&request).unwrap();
        let one = catalogue(&[union.path("union")]).search(&request).unwrap();
        prop_assert_eq!(passages(&several), passages(&one));
        let figures = |answer: &candor_context::SearchAnswer| {
            let all = &answer.selection;
            (all.tokens_used, all.passages_considered, all.passages_selected)
        };
        prop_assert_eq!(figures(&several), figures(&one));
        let names: Vec<_> = several.selection.caches.iter().map(|one| one.cache.as_str()).collect();
        prop_assert!(names.is_sorted());
    });
}

/// The answer for one cache has the passages of `context passages`, byte for byte.
#[test]
fn search_of_one_cache_has_the_same_passages_as_before() {
    let fixture = CacheFixture::with(&[
        ("a.md", "# Fox\n\nthe quick brown fox\n"),
        ("b.md", "foxes and dogs\n"),
    ]);
    fixture.build().unwrap();
    let request = search_request("fox", 100, None);
    let answer = catalogue(&[fixture.cache()]).search(&request).unwrap();
    let before = fixture
        .reader()
        .unwrap()
        .passages(&request.query, request.budget)
        .unwrap();
    let found: Vec<_> = answer
        .passages
        .iter()
        .map(|found| found.passage.clone())
        .collect();
    assert_eq!(found, before.passages);
    assert_eq!(answer.selection.caches[0].index, before.selection.index);
    let json = serde_json::to_string(&answer).unwrap();
    insta::assert_snapshot!(json.replace(&before.selection.index, "INDEX"), @r##"{"passages":[{"cache":"cache","id":"a.md","version":"sha256:eea0db2ba236a1f2d40a304644ef874c25696d7674997e775e42447af2a4e383","range":[0,26],"lines":[1,3],"heading":["Fox"],"content":"# Fox\n\nthe quick brown fox","score":119275,"tokens":7,"why":{"terms":[{"term":"fox","tf":3,"weight":119275}]}},{"cache":"cache","id":"b.md","version":"sha256:39bbd0737dbc9d6ce3648bde7ef5db2b28628ec74db57bc734e7c3e975d74a3f","range":[0,14],"lines":[1,1],"heading":[],"content":"foxes and dogs","score":100491,"tokens":4,"why":{"terms":[{"term":"fox","tf":1,"weight":100491}]}}],"selection":{"query":"fox","budget":100,"tokenizer":"bytes4","tokens_used":11,"caches":[{"cache":"cache","cache_version":"sha256:4ca3ba2b6243fdfca2b242252306624d3de9474e0e1055628c96f9a1f8b0f98f","index":"INDEX"}],"passages_considered":2,"passages_selected":2}}"##);
    insta::assert_snapshot!(answer.to_markdown(), @r"
    ### a.md:1-3
    Fox

    # Fox

    the quick brown fox

    ### b.md:1-1

    foxes and dogs

    2 of 2 passages, 11 of 100 tokens
    ");
    insta::assert_snapshot!(answer.to_text(), @r"
    # Fox

    the quick brown fox

    foxes and dogs
    ");
    insta::assert_snapshot!(answer.to_paths(), @r"
    a.md:1-3
    b.md:1-1
    ");
    let nothing = search_request("zebra", 100, None);
    let nothing = catalogue(&[fixture.cache()]).search(&nothing).unwrap();
    insta::assert_snapshot!(nothing.to_markdown(), @r"
    No passage matches.
    0 of 0 passages, 0 of 100 tokens
    ");
    let small = search_request("fox", 2, None);
    let small = catalogue(&[fixture.cache()]).search(&small).unwrap();
    insta::assert_snapshot!(small.to_markdown(), @r"
    No passage that matches fits the budget.
    0 of 2 passages, 0 of 2 tokens
    ");
    assert_eq!(
        (nothing.to_text(), nothing.to_paths()),
        (String::new(), String::new())
    );
}
