//! The examples of the specification, byte for byte.

use crate::fixture::server::fixture;
use crate::fixture::valid_arguments::{changed, without};
use serde_json::{Value, json};

#[tokio::test]
async fn example_of_a_missing_query() {
    let answer = fixture().call_tool("search", json!({})).await;
    let expected = concat!(
        r#"{"code":-32602,"message":"Validation errors: must have required property 'query'","#,
        r#""data":{"tool":"search","validation_errors":[{"#,
        r#""message":"must have required property 'query'","#,
        r#""path":"root","keyword":"required","params":{"missingProperty":"query"},"value":{}}],"#,
        r#""timestamp":"2025-10-12T15:49:21.049Z"}}"#
    );
    assert_eq!(answer.text(), expected);
}

/// Every message that the specification prints, with arguments that bring it.
#[tokio::test]
async fn common_errors_have_their_one_sentence() {
    let repo = r#"must match pattern "^[a-zA-Z0-9._-]+/[a-zA-Z0-9._-]+$""#;
    let long = "must NOT be longer than 256 characters";
    let allowed = "must be equal to one of the allowed values";
    let cases = [
        (
            "search",
            without(changed("search", "page", json!(1)), "query"),
            "must have required property 'query'",
        ),
        ("fetch", json!({ "repo": "invalid" }), repo),
        ("fetch", json!({ "repo": "" }), repo),
        ("fetch", json!({ "repo": "a/b/c" }), repo),
        ("fetch", json!({ "repo": "owner/" }), repo),
        ("fetch", json!({ "repo": "/repo" }), repo),
        ("fetch", json!({ "repo": "in valid/repo" }), repo),
        ("fetch", json!({ "repo": "https://github.com/a/b" }), repo),
        ("search", json!({ "query": "q".repeat(257) }), long),
        (
            "create_pull_request",
            changed("create_pull_request", "title", json!("t".repeat(257))),
            long,
        ),
        (
            "search",
            json!({ "query": "q", "invalid": true }),
            "must NOT have additional properties",
        ),
        (
            "list_pull_requests",
            json!({ "repo": "a/b", "state": "merged" }),
            allowed,
        ),
        (
            "search",
            json!({ "query": "q", "page": "1" }),
            "must be integer",
        ),
        ("search", json!({ "query": "q", "page": 0 }), "must be >= 1"),
        (
            "search",
            json!({ "query": "q", "per_page": 101 }),
            "must be <= 100",
        ),
        (
            "search",
            json!({ "query": "" }),
            "must NOT have fewer than 1 characters",
        ),
        (
            "read_file",
            json!({ "repo": "a/b", "path": "" }),
            "must NOT have fewer than 1 characters",
        ),
        (
            "read_file",
            json!({ "repo": "a/b", "path": "p".repeat(501) }),
            "must NOT be longer than 500 characters",
        ),
        (
            "get_tree",
            json!({ "repo": "a/b", "branch": "" }),
            r#"must match pattern "^[a-zA-Z0-9._/-]+$""#,
        ),
        (
            "get_checks_for_sha",
            json!({ "repo": "a/b", "sha": "abcdef" }),
            r#"must match pattern "^[a-f0-9]{7,40}$""#,
        ),
    ];
    let fixture = fixture();
    for (tool, arguments, expected) in cases {
        let answer = fixture.call_tool(tool, arguments.clone()).await;
        let expected = format!("Validation errors: {expected}");
        assert_eq!(answer.message(), expected, "{tool} {arguments}");
        assert_eq!(answer.code(), -32602);
        let hint = json!([{ "path": "/repo", "hint": "give `repo` as 'owner/name'" }]);
        let is_one_part = ["invalid", ""]
            .iter()
            .any(|repo| arguments["repo"] == *repo);
        let expected = is_one_part.then_some(&hint);
        assert_eq!(hints(&answer.error()), expected, "{arguments}");
    }
}

fn hints(error: &Value) -> Option<&Value> {
    error["data"].get("hints")
}

/// The limits that the specification prints, at their edge and one beyond it.
#[tokio::test]
async fn every_printed_limit_is_exact() {
    let limits = [
        ("search", "query", 256),
        ("list_directory", "path", 500),
        ("read_file", "path", 500),
        ("create_pull_request", "title", 256),
        ("create_pull_request", "body", 10_000),
        ("update_pull_request", "title", 256),
        ("update_pull_request", "body", 10_000),
        ("commit_files", "message", 256),
        ("merge_pull_request", "commit_title", 256),
        ("merge_pull_request", "commit_message", 10_000),
        ("get_commits", "branch", 100),
        ("create_pull_request", "base", 100),
    ];
    let fixture = fixture();
    for (tool, member, most) in limits {
        let of = |length| changed(tool, member, json!("a".repeat(length)));
        fixture.call_tool(tool, of(most)).await.value();
        let answer = fixture.call_tool(tool, of(most + 1)).await;
        let expected = format!("Validation errors: must NOT be longer than {most} characters");
        assert_eq!(answer.message(), expected, "{tool} {member}");
    }
}
