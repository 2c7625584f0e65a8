//! The two rules that no schema can state: reported like the others, before policy and before any record.

use crate::fixture::server::{FixtureOptions, fixture, repos};
use crate::fixture::valid_arguments::changed;
use serde_json::{Value, json};

fn files(files: Value) -> Value {
    changed("commit_files", "files", files)
}

#[tokio::test]
async fn repeated_path_is_refused() {
    let fixture = fixture();
    let twice = files(json!([
        { "path": "a", "content": "1" },
        { "path": "b", "content": "2" },
        { "path": "a", "content": "3" }
    ]));
    let expected = concat!(
        r#"{"code":-32602,"message":"Validation errors: must NOT repeat a path","#,
        r#""data":{"tool":"commit_files","validation_errors":[{"#,
        r#""message":"must NOT repeat a path","path":"/files/2/path","keyword":"uniquePath","#,
        r#""params":{"i":2,"j":0},"value":"a"}],"timestamp":"2025-10-12T15:49:21.049Z","#,
        r#""hints":[{"path":"/files/2/path","hint":"files/0 has the same path: give each path once"}]}}"#
    );
    assert_eq!(
        fixture.call_tool("commit_files", twice).await.text(),
        expected
    );
    assert_eq!(fixture.backend_calls(), Vec::<String>::new());
    assert_eq!(fixture.logged(), Vec::<String>::new());
}

#[tokio::test]
async fn base64_that_does_not_decode_is_refused() {
    let fixture = fixture();
    for content in ["a", "aGk", "aGk=\n", "-_8=", "a b=", "====", "aGl="] {
        let one = json!([{ "path": "a", "content": content, "encoding": "base64" }]);
        let answer = fixture.call_tool("commit_files", files(one)).await;
        assert_eq!(answer.message(), "Validation errors: must be valid base64");
        let place = (
            String::from("contentEncoding"),
            String::from("/files/0/content"),
        );
        assert_eq!(answer.violations(), [place], "{content:?}");
    }
    assert_eq!(fixture.backend_calls(), Vec::<String>::new());
    assert_eq!(fixture.logged(), Vec::<String>::new());
}

#[tokio::test]
async fn both_rules_are_reported_together() {
    let all = files(json!([
        { "path": "a", "content": "!", "encoding": "base64" },
        { "path": "A", "content": "!" },
        { "path": "a", "content": "!", "encoding": "base64" }
    ]));
    let answer = fixture().call_tool("commit_files", all).await;
    let report: Vec<_> = answer
        .violations()
        .into_iter()
        .map(|(word, at)| word + " " + &at)
        .collect();
    assert_eq!(
        report,
        [
            "contentEncoding /files/0/content",
            "uniquePath /files/2/path",
            "contentEncoding /files/2/content",
        ]
    );
}

#[tokio::test]
async fn argument_rules_run_before_the_allow_list() {
    let forbidden = FixtureOptions::default()
        .with(|options| options.config.repos = repos(&["other/*"]))
        .fixture();
    let file = json!({ "path": "a", "content": "!", "encoding": "base64" });
    let answer = forbidden
        .call_tool("commit_files", files(json!([file])))
        .await;
    assert_eq!(answer.code(), -32602);
    let file = json!({ "path": "a", "content": "!" });
    let answer = forbidden
        .call_tool("commit_files", files(json!([file])))
        .await;
    assert_eq!(answer.code(), -32001);
}

#[tokio::test]
async fn refused_arguments_use_no_limit() {
    let fixture = fixture();
    let wrong = files(json!([{ "path": "a", "content": "!", "encoding": "base64" }]));
    for _ in 0..40 {
        assert_eq!(
            fixture
                .call_tool("commit_files", wrong.clone())
                .await
                .code(),
            -32602
        );
    }
    let right = files(json!([{ "path": "a", "content": "" }]));
    fixture.call_tool("commit_files", right).await.value();
}
