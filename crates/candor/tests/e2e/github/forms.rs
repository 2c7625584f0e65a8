//! The form of failures: whole answers of both eras, for every choice of `--failures`.

use crate::github::fixture::GithubFixture;
use crate::requests::{call, mask_times, stateless_call};
use candor_testkit::Http;
use insta::assert_snapshot;
use serde_json::{Value, json};

/// A failed call of each era.
fn answers(server: &Http, tool: &str, arguments: &Value) -> [String; 2] {
    let older = server.post(call(1, tool, arguments), &[]);
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ];
    let newer = server.post(stateless_call(1, tool, arguments), &headers);
    [older, newer].map(|response| format!("{} {}", response.status, mask_times(&response.text())))
}

fn conflict() -> Value {
    json!({ "repo": "sample/hello", "prNumber": 2 })
}

#[test]
fn each_era_has_its_own_form_by_default() {
    let fixture = GithubFixture::new();
    let server = fixture.http(&["--allow-writes"]);
    let [older, newer] = answers(&server, "merge_pull_request", &conflict());
    assert_snapshot!(older, @r#"200 {"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"Pull request #2 is not mergeable: it conflicts with its base branch","data":{"tool":"merge_pull_request","timestamp":"<when>","mergeable_state":"dirty","conflicts":[{"path":"README.md","kind":"content"}],"fault":{"class":"policy","retry":"after_change","retry_after_ms":null,"effect":"none","remedy":"Bring the head branch up to date with its base, resolve the conflicts, then merge."}}}}"#);
    assert_snapshot!(newer, @r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"Pull request #2 is not mergeable: it conflicts with its base branch; nothing was changed; do not retry unchanged: Bring the head branch up to date with its base, resolve the conflicts, then merge.\n{\"code\":-32005,\"message\":\"Pull request #2 is not mergeable: it conflicts with its base branch\",\"data\":{\"tool\":\"merge_pull_request\",\"timestamp\":\"<when>\",\"mergeable_state\":\"dirty\",\"conflicts\":[{\"path\":\"README.md\",\"kind\":\"content\"}],\"fault\":{\"class\":\"policy\",\"retry\":\"after_change\",\"retry_after_ms\":null,\"effect\":\"none\",\"remedy\":\"Bring the head branch up to date with its base, resolve the conflicts, then merge.\"}}}"}],"isError":true}}"#);
    let [older, newer] = answers(&server, "search", &json!({}));
    assert_snapshot!(older, @r#"200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Validation errors: must have required property 'query'","data":{"tool":"search","validation_errors":[{"message":"must have required property 'query'","path":"root","keyword":"required","params":{"missingProperty":"query"},"value":{}}],"timestamp":"<when>"}}}"#);
    assert_snapshot!(newer, @r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"`query` is required; nothing was changed; do not retry unchanged: Correct every field named in `validation_errors`; `tools/list` has the schema.\n{\"code\":-32602,\"message\":\"Validation errors: must have required property 'query'\",\"data\":{\"tool\":\"search\",\"validation_errors\":[{\"message\":\"must have required property 'query'\",\"path\":\"root\",\"keyword\":\"required\",\"params\":{\"missingProperty\":\"query\"},\"value\":{}}],\"timestamp\":\"<when>\"}}"}],"isError":true}}"#);
}

#[test]
fn one_form_can_be_chosen_for_all() {
    let fixture = GithubFixture::new();
    let of = |form: &str| {
        let server = fixture.http(&["--allow-writes", "--failures", form]);
        let conflict = answers(&server, "merge_pull_request", &conflict());
        let missing = answers(&server, "search", &json!({}));
        [conflict, missing]
    };
    let [[older, newer], [_, none]] = of("jsonrpc");
    assert_eq!(older, newer);
    assert_snapshot!(older, @r#"200 {"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"Pull request #2 is not mergeable: it conflicts with its base branch","data":{"tool":"merge_pull_request","timestamp":"<when>","mergeable_state":"dirty","conflicts":[{"path":"README.md","kind":"content"}],"fault":{"class":"policy","retry":"after_change","retry_after_ms":null,"effect":"none","remedy":"Bring the head branch up to date with its base, resolve the conflicts, then merge."}}}}"#);
    assert_snapshot!(none, @r#"200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Validation errors: must have required property 'query'","data":{"tool":"search","validation_errors":[{"message":"must have required property 'query'","path":"root","keyword":"required","params":{"missingProperty":"query"},"value":{}}],"timestamp":"<when>"}}}"#);
    let [[older, newer], [none, _]] = of("result");
    // Every result of the stateless era has this member.
    assert_eq!(older, newer.replace(r#""resultType":"complete","#, ""));
    assert_snapshot!(older, @r#"200 {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Pull request #2 is not mergeable: it conflicts with its base branch; nothing was changed; do not retry unchanged: Bring the head branch up to date with its base, resolve the conflicts, then merge.\n{\"code\":-32005,\"message\":\"Pull request #2 is not mergeable: it conflicts with its base branch\",\"data\":{\"tool\":\"merge_pull_request\",\"timestamp\":\"<when>\",\"mergeable_state\":\"dirty\",\"conflicts\":[{\"path\":\"README.md\",\"kind\":\"content\"}],\"fault\":{\"class\":\"policy\",\"retry\":\"after_change\",\"retry_after_ms\":null,\"effect\":\"none\",\"remedy\":\"Bring the head branch up to date with its base, resolve the conflicts, then merge.\"}}}"}],"isError":true}}"#);
    assert_snapshot!(none, @r#"200 {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`query` is required; nothing was changed; do not retry unchanged: Correct every field named in `validation_errors`; `tools/list` has the schema.\n{\"code\":-32602,\"message\":\"Validation errors: must have required property 'query'\",\"data\":{\"tool\":\"search\",\"validation_errors\":[{\"message\":\"must have required property 'query'\",\"path\":\"root\",\"keyword\":\"required\",\"params\":{\"missingProperty\":\"query\"},\"value\":{}}],\"timestamp\":\"<when>\"}}"}],"isError":true}}"#);
}

/// An unknown tool is a failure of the request, not of a tool, in every form.
#[test]
fn unknown_tool_is_always_an_error() {
    let fixture = GithubFixture::new();
    for form in ["auto", "jsonrpc", "result"] {
        let server = fixture.http(&["--failures", form]);
        let [older, newer] = answers(&server, "raed_file", &json!({}));
        assert_eq!(older, newer, "{form}");
        assert!(older.contains(r#""error":{"code":-32602,"message":"Unknown tool: raed_file","data":{"tool":"raed_file","validation_errors":[],"timestamp":"<when>","hints":[{"#), "{older}");
    }
}
