//! Every row of the page's table of keywords that a tool's schema has: the whole entry.

use crate::fixture::server::{ServerFixture, fixture};
use crate::fixture::valid_arguments::{changed, for_tool, without};
use serde_json::{Value, json};

async fn data(fixture: &ServerFixture, tool: &str, arguments: Value) -> Value {
    let answer = fixture.call_tool(tool, arguments).await;
    let error = answer.error();
    assert_eq!(error["code"], -32602, "{error}");
    error["data"].clone()
}

/// The only entry of an answer, as its bytes.
async fn entry(fixture: &ServerFixture, tool: &str, arguments: Value) -> String {
    let data = data(fixture, tool, arguments).await;
    let entries = data["validation_errors"].as_array().unwrap();
    assert_eq!(entries.len(), 1, "{data}");
    assert_eq!(data["tool"], tool);
    assert_eq!(data["timestamp"], "2025-10-12T15:49:21.049Z");
    entries[0].to_string()
}

#[tokio::test]
async fn each_row_has_its_message_and_its_params() {
    let text = |member, value| changed("commit_files", member, value);
    let file = |file: Value| text("files", json!([file]));
    let rows = [
        (
            "update_pull_request",
            without(for_tool("update_pull_request"), "repo"),
            r#"{"message":"must have required property 'repo'","path":"root","keyword":"required","params":{"missingProperty":"repo"},"value":{"prNumber":7,"title":"Purr","body":"Why","state":"closed","draft":false}}"#,
        ),
        (
            "fetch",
            changed("fetch", "unheard", json!(1)),
            r#"{"message":"must NOT have additional properties","path":"root","keyword":"additionalProperties","params":{"additionalProperty":"unheard"},"value":{"repo":"octo/cat","unheard":1}}"#,
        ),
        (
            "commit_files",
            text("message", json!(5)),
            r#"{"message":"must be string","path":"/message","keyword":"type","params":{"type":"string"},"value":5}"#,
        ),
        (
            "get_branches",
            changed("get_branches", "page", json!("2")),
            r#"{"message":"must be integer","path":"/page","keyword":"type","params":{"type":"integer"},"value":"2"}"#,
        ),
        (
            "create_pull_request",
            changed("create_pull_request", "draft", json!("yes")),
            r#"{"message":"must be boolean","path":"/draft","keyword":"type","params":{"type":"boolean"},"value":"yes"}"#,
        ),
        (
            "commit_files",
            text("files", json!({})),
            r#"{"message":"must be array","path":"/files","keyword":"type","params":{"type":"array"},"value":{}}"#,
        ),
        (
            "commit_files",
            file(json!("a")),
            r#"{"message":"must be object","path":"/files/0","keyword":"type","params":{"type":"object"},"value":"a"}"#,
        ),
        (
            "commit_files",
            text("message", json!("")),
            r#"{"message":"must NOT have fewer than 1 characters","path":"/message","keyword":"minLength","params":{"limit":1},"value":""}"#,
        ),
        (
            "get_checks_for_sha",
            changed("get_checks_for_sha", "sha", json!("ABCDEF0")),
            r#"{"message":"must match pattern \"^[a-f0-9]{7,40}$\"","path":"/sha","keyword":"pattern","params":{"pattern":"^[a-f0-9]{7,40}$"},"value":"ABCDEF0"}"#,
        ),
        (
            "merge_pull_request",
            changed("merge_pull_request", "merge_method", json!("octopus")),
            r#"{"message":"must be equal to one of the allowed values","path":"/merge_method","keyword":"enum","params":{"allowedValues":["merge","squash","rebase"]},"value":"octopus"}"#,
        ),
        (
            "search",
            changed("search", "page", json!(0)),
            r#"{"message":"must be >= 1","path":"/page","keyword":"minimum","params":{"comparison":">=","limit":1},"value":0}"#,
        ),
        (
            "search",
            changed("search", "per_page", json!(101)),
            r#"{"message":"must be <= 100","path":"/per_page","keyword":"maximum","params":{"comparison":"<=","limit":100},"value":101}"#,
        ),
        (
            "commit_files",
            text("files", json!([])),
            r#"{"message":"must NOT have fewer than 1 items","path":"/files","keyword":"minItems","params":{"limit":1},"value":[]}"#,
        ),
        (
            "update_pull_request",
            json!({ "repo": "octo/cat", "prNumber": 7 }),
            r#"{"message":"must NOT have fewer than 3 properties","path":"root","keyword":"minProperties","params":{"limit":3},"value":{"repo":"octo/cat","prNumber":7}}"#,
        ),
        (
            "get_tree",
            json!({ "repo": "octo/cat", "branch": "a", "ref": "b" }),
            r#"{"message":"must NOT be valid","path":"root","keyword":"not","params":{},"value":{"repo":"octo/cat","branch":"a","ref":"b"}}"#,
        ),
    ];
    let fixture = fixture();
    for (tool, arguments, expected) in rows {
        assert_eq!(entry(&fixture, tool, arguments).await, expected);
    }
}

#[tokio::test]
async fn large_value_is_replaced_by_type_and_size() {
    let fixture = fixture();
    let long = changed("search", "query", json!("q".repeat(600)));
    assert_eq!(
        entry(&fixture, "search", long).await,
        r#"{"message":"must NOT be longer than 256 characters","path":"/query","keyword":"maxLength","params":{"limit":256},"value":{"omitted":"string","bytes":602}}"#
    );
    let file = |n| json!({ "path": format!("f{n}"), "content": "" });
    let many: Value = (0..21).map(file).collect();
    let bytes = many.to_string().len();
    assert_eq!(
        entry(
            &fixture,
            "commit_files",
            changed("commit_files", "files", many)
        )
        .await,
        format!(
            r#"{{"message":"must NOT have more than 20 items","path":"/files","keyword":"maxItems","params":{{"limit":20}},"value":{{"omitted":"array","bytes":{bytes}}}}}"#
        )
    );
}

/// Hints stand apart from the frozen members, and only where there is something to say.
#[tokio::test]
async fn hints_are_given_for_near_names_and_rules() {
    let fixture = fixture();
    let hint = async |tool, arguments| data(&fixture, tool, arguments).await["hints"].to_string();
    let both = json!({ "repo": "octo/cat", "branch": "a", "ref": "b" });
    assert_eq!(
        hint("get_tree", both).await,
        r#"[{"path":"root","hint":"give `branch` or `ref`, not both"}]"#
    );
    let near = json!({ "repo": "octo/cat", "state": "opened" });
    assert_eq!(
        hint("list_pull_requests", near).await,
        r#"[{"path":"/state","hint":"did you mean 'open'?"}]"#
    );
    let camel = json!({ "query": "q", "perPage": 5 });
    assert_eq!(
        hint("search", camel).await,
        r#"[{"path":"root","hint":"did you mean 'per_page' instead of 'perPage'?"}]"#
    );
    let snake = json!({ "repo": "octo/cat", "pr_number": 7 });
    assert_eq!(
        hint("get_pr_mergeability", snake).await,
        r#"[{"path":"root","hint":"'pr_number' was given: did you mean 'prNumber'?"},{"path":"root","hint":"did you mean 'prNumber' instead of 'pr_number'?"}]"#
    );
    let unlike = json!({ "repo": "octo/cat", "unheard": 7 });
    assert_eq!(hint("fetch", unlike).await, "null");
}
