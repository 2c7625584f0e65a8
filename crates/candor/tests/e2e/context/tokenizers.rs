//! `--tokenizer`: the counts of a cache are those of its tokenizer, in every answer.

use crate::context::fixture::ContextFixture;
use crate::context::reading::{ask, fail, serve};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

/// Long words, several scripts, an emoji of three tokens, `\r\n`, and no newline at the end.
const TEXT: &str = "# Internationalization\n\nantidisestablishmentarianism 12345678\r\n日本語 한국어 🦊🦩\n\n\n\n    indented\nthe last line";

/// The caches `caches/bytes` and `caches/tokens` of the same sources.
fn fixture() -> ContextFixture {
    let fixture = ContextFixture::empty();
    fixture.write("docs/a.md", TEXT);
    fixture.write("docs/in/b.md", "# Other\n\ninternationalization\n");
    fs::create_dir(fixture.path("caches")).unwrap();
    fixture.build("docs", "caches/bytes");
    fixture.run_ok(&[
        "build",
        "--sources",
        "docs",
        "--cache",
        "caches/tokens",
        "--tokenizer",
        "o200k",
    ]);
    fixture
}

fn json_of(fixture: &ContextFixture, arguments: &[&str]) -> Value {
    serde_json::from_str(&fixture.run_ok(arguments)).unwrap()
}

#[test]
fn every_answer_counts_with_the_tokenizer_of_the_cache() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches"]);
    let caches = ask(&mut server, "context_list", &json!({}));
    let caches = &caches["structuredContent"]["caches"];
    let sizes = |at: usize| {
        (
            caches[at]["tokenizer"].clone(),
            caches[at]["tokens"].clone(),
        )
    };
    assert_eq!(
        sizes(0),
        (json!("bytes4"), json!(TEXT.len().div_ceil(4) + 8))
    );
    assert_eq!(sizes(1).0, "o200k");
    let mut check = |name: &str, tokenizer: &str| {
        let path = format!("caches/{name}");
        let arguments = json!({ "id": "a.md", "cache": name });
        let got = ask(&mut server, "context_get", &arguments);
        let got = &got["structuredContent"];
        assert_eq!(
            (&got["tokenizer"], &got["content"]),
            (&json!(tokenizer), &json!(TEXT))
        );
        assert_eq!(
            *got,
            json_of(&fixture, &["get", "--id", "a.md", "--cache", &path])
        );
        // At the count and one below.
        let tokens = got["tokens"].as_u64().unwrap();
        for (budget, is_whole) in [(tokens, true), (tokens - 1, false)] {
            let arguments = json!({ "id": "a.md", "cache": name, "budget": budget });
            let part = ask(&mut server, "context_get", &arguments);
            let part = &part["structuredContent"];
            assert_eq!(part["next"].is_null(), is_whole);
            assert!(part["tokens"].as_u64().unwrap() <= budget);
        }
        let arguments = json!({ "query": "internationalization", "caches": [name] });
        let found = ask(&mut server, "context_search", &arguments);
        let found = &found["structuredContent"];
        assert_eq!(found["selection"]["tokenizer"], tokenizer);
        assert_eq!(
            *found,
            json_of(
                &fixture,
                &["search", "internationalization", "--cache", &path]
            )
        );
        let level = ask(&mut server, "context_list", &json!({ "cache": name }));
        let level = level["structuredContent"]["entries"][0]["tokens"].clone();
        (tokens, level)
    };
    let (bytes, listed) = check("bytes", "bytes4");
    assert_eq!(
        (bytes, listed),
        (TEXT.len().div_ceil(4) as u64, json!(bytes))
    );
    let (tokens, listed) = check("tokens", "o200k");
    assert_ne!(tokens, bytes);
    // Lists have the tokens of the passages, which leave out white space around them.
    assert!(listed.as_u64().unwrap() <= tokens && listed.as_u64().unwrap() + 3 >= tokens);
    server.end();
}

#[test]
fn reading_on_with_a_vocabulary_gives_every_byte() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches"]);
    for budget in [1, 2, 3, 4, 5, 7, 12, 30, 1000] {
        let mut arguments = json!({ "id": "a.md", "cache": "tokens", "budget": budget });
        let mut read = String::new();
        loop {
            let result = ask(&mut server, "context_get", &arguments);
            let answer = &result["structuredContent"];
            let content = answer["content"].as_str().unwrap();
            let tokens = answer["tokens"].as_u64().unwrap();
            // A character is never split.
            assert!(tokens <= budget || content.chars().count() == 1, "{answer}");
            read += content;
            if answer["next"].is_null() {
                break;
            }
            arguments["range"] = answer["next"].clone();
            arguments["version"] = answer["version"].clone();
        }
        assert_eq!(read, TEXT, "{budget}");
    }
    server.end();
}

#[test]
fn caches_with_different_tokenizers_are_not_searched_together() {
    let fixture = fixture();
    let mut server = serve(&fixture, &["caches"]);
    assert_snapshot!(fail(&mut server, "context_search", json!({ "query": "other" })), @r#"invalid_arguments: `caches` must be caches with one tokenizer, and was ["bytes","tokens"] (tokens are counted in `bytes` by bytes4, `tokens` by o200k); nothing was changed; do not retry unchanged: Correct every violation; tools/list has the schema."#);
    let both = json!({ "query": "other", "caches": ["tokens", "bytes"] });
    let told = fail(&mut server, "context_search", both);
    assert!(
        told.starts_with("invalid_arguments: `caches` must be caches with one tokenizer"),
        "{told}"
    );
    // Everything else works with both.
    ask(
        &mut server,
        "context_get",
        &json!({ "id": "a.md", "cache": "bytes" }),
    );
    for cache in ["bytes", "tokens"] {
        let one = json!({ "query": "other", "caches": [cache] });
        let found = ask(&mut server, "context_search", &one);
        assert_eq!(found["structuredContent"]["passages"][0]["id"], "in/b.md");
    }
    server.end();
    assert_snapshot!(fixture.run_err(1, &["search", "other", "--cache", "caches"]), @r"
    error: The arguments are not right
      caches: must be caches with one tokenizer; tokens are counted in `bytes` by bytes4, `tokens` by o200k
    hint: search fewer caches with --cache, or build all of them with one --tokenizer
    ");
}

#[test]
fn cache_without_an_index_counts_bytes() {
    let fixture = fixture();
    fixture.remove("caches/tokens/passages.idx");
    let got = json_of(
        &fixture,
        &["get", "--id", "a.md", "--cache", "caches/tokens"],
    );
    assert_eq!(got["tokenizer"], "bytes4");
    assert_eq!(got["tokens"], TEXT.len().div_ceil(4));
    // An update writes the index again, with the recorded tokenizer.
    fixture.run_ok(&["update", "--cache", "caches/tokens"]);
    let got = json_of(
        &fixture,
        &["get", "--id", "a.md", "--cache", "caches/tokens"],
    );
    assert_eq!(got["tokenizer"], "o200k");
}

#[test]
fn wrong_tokenizers_are_usage_errors() {
    let fixture = fixture();
    let build = ["build", "--sources", "docs", "--cache", "c", "--tokenizer"];
    assert_snapshot!(fixture.run_err(1, &[&build[..], &["o200k_base"]].concat()), @r"
    error: invalid value 'o200k_base' for '--tokenizer <NAME>'
      [possible values: bytes4, o200k]

      tip: a similar value exists: 'o200k'

    For more information, try '--help'.
    ");
    fixture.run_err(1, &[&build[..], &["o200k", "--no-passages"]].concat());
    assert!(!fixture.path("c").exists());
}
