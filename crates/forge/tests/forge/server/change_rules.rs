//! The rules of `commit_changes` that its flat schema does not state, and the order of its calls.

use crate::fixture::server::fixture;
use crate::fixture::valid_arguments::changed;
use serde_json::{Value, json};

fn changes(changes: Value) -> Value {
    changed("commit_changes", "changes", changes)
}

fn pair(keyword: &str, path: &str) -> (String, String) {
    (keyword.to_owned(), path.to_owned())
}

#[tokio::test]
async fn each_operation_has_its_own_members() {
    let fixture = fixture();
    for (change, expected) in [
        (json!({ "op": "write", "path": "a" }), vec!["required"]),
        (
            json!({ "op": "write", "path": "a", "content": "", "to": "b", "old_text": "x" }),
            vec!["additionalProperties", "additionalProperties"],
        ),
        (
            json!({ "op": "edit", "path": "a" }),
            vec!["required", "required"],
        ),
        (
            json!({ "op": "edit", "path": "a", "old_text": "x", "new_text": "", "content": "" }),
            vec!["additionalProperties"],
        ),
        (
            json!({ "op": "delete", "path": "a", "executable": true }),
            vec!["additionalProperties"],
        ),
        (json!({ "op": "move", "path": "a" }), vec!["required"]),
        (
            json!({ "op": "move", "path": "a", "to": "b", "encoding": "utf8" }),
            vec!["required"],
        ),
        (json!({ "op": "chmod", "path": "a" }), vec!["required"]),
    ] {
        let answer = fixture
            .call_tool("commit_changes", changes(json!([change])))
            .await;
        let expected: Vec<_> = expected
            .into_iter()
            .map(|word| pair(word, "/changes/0"))
            .collect();
        assert_eq!(answer.violations(), expected, "{change}");
    }
    let answer = fixture
        .call_tool(
            "commit_changes",
            changes(json!([{ "op": "delete", "path": "a", "content": "" }])),
        )
        .await;
    insta::assert_snapshot!(answer.text());
    assert_eq!(fixture.backend_calls(), Vec::<String>::new());
    assert_eq!(fixture.logged(), Vec::<String>::new());
}

#[tokio::test]
async fn path_is_used_once_also_as_target() {
    let all = changes(json!([
        { "op": "delete", "path": "a" },
        { "op": "move", "path": "b", "to": "a" },
        { "op": "write", "path": "b", "content": "!", "encoding": "base64" },
        { "op": "delete", "path": "A" }
    ]));
    let answer = fixture().call_tool("commit_changes", all).await;
    let expected = [
        pair("uniquePath", "/changes/1/to"),
        pair("uniquePath", "/changes/2/path"),
        pair("contentEncoding", "/changes/2/content"),
    ];
    assert_eq!(answer.violations(), expected);
}

#[tokio::test]
async fn hundred_changes_are_the_most() {
    let fixture = fixture();
    let many = |count: usize| -> Value {
        (0..count)
            .map(|n| json!({ "op": "delete", "path": format!("f{n}") }))
            .collect()
    };
    fixture
        .call_tool("commit_changes", changes(many(100)))
        .await
        .value();
    let answer = fixture
        .call_tool("commit_changes", changes(many(101)))
        .await;
    assert_eq!(answer.violations(), [pair("maxItems", "/changes")]);
    let short = changed("commit_changes", "expected_head", json!("abcdef"));
    let answer = fixture.call_tool("commit_changes", short).await;
    assert_eq!(answer.violations(), [pair("pattern", "/expected_head")]);
}

/// The log of writes has operations and sizes, and never the content.
#[tokio::test]
async fn attempt_is_recorded_without_content() {
    let fixture = fixture();
    let all = changes(json!([
        { "op": "write", "path": "a", "content": "secret" },
        { "op": "edit", "path": "b", "old_text": "secret", "new_text": "secrets" },
        { "op": "move", "path": "c", "to": "d" }
    ]));
    fixture.call_tool("commit_changes", all).await.value();
    let logged = fixture.logged();
    assert_eq!(logged.len(), 2);
    assert!(
        logged.iter().all(|line| !line.contains("secret")),
        "{logged:?}"
    );
    let expected = r#""changes":[{"op":"write","path":"a","to":null,"bytes":6},{"op":"edit","path":"b","to":null,"bytes":7},{"op":"move","path":"c","to":"d","bytes":null}]"#;
    assert!(logged[0].contains(expected), "{}", logged[0]);
}
