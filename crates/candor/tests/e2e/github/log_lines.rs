//! The log on stderr: one line for every failure, and no other line.

use crate::fixture::LIMIT;
use crate::github::fixture::GithubFixture;
use crate::github::requests::GithubCalls;
use crate::requests::{Transport, call};
use candor_testkit::Exit;
use insta::assert_snapshot;
use serde_json::json;

/// Messages that fail in different ways, with some that succeed or are not answered.
fn messages() -> Vec<String> {
    let text_of = |text: &str| text.to_owned();
    vec![
        text_of(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#,
        ),
        text_of(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        text_of("{"),
        text_of("[]"),
        text_of("{}"),
        text_of(r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#),
        text_of(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#),
        text_of(r#"{"jsonrpc":"2.0","id":3,"method":"no/such"}"#),
        text_of(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call"}"#),
        text_of(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":7}}"#),
        text_of(
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"fetch","arguments":{"repo":"a/b","repo":"a/b"}}}"#,
        ),
        call(5, "raed_file", json!({ "repo": "sample/hello" })),
        call(5, "x\\\" code=0 msg=\\\"y\\n", json!({})),
        call(
            6,
            "read_file",
            json!({ "repo": "sample/hello", "path": "README.md" }),
        ),
        call(7, "read_file", json!({ "repo": "sample/hello" })),
        call(
            8,
            "read_file",
            json!({ "repo": "sample/hello", "path": "a\"b\nc" }),
        ),
        call(
            9,
            "merge_pull_request",
            json!({ "repo": "Sample/Hello", "prNumber": 2, "sha": "0123456" }),
        ),
        call(
            10,
            "merge_pull_request",
            json!({ "repo": "sample/hello", "prNumber": 3 }),
        ),
        call(
            11,
            "get_checks_for_sha",
            json!({ "repo": "not a repo", "sha": "XYZ" }),
        ),
        call(12, "fetch", json!([1])),
    ]
}

#[test]
fn each_failure_on_stdio_has_one_line() {
    let [by_default, as_results] = ["auto", "result"].map(|form| {
        let fixture = GithubFixture::new();
        let mut server = fixture.stdio(&["--allow-writes", "--failures", form]);
        let mut failures = 0;
        for message in messages() {
            if message.contains("notifications/") {
                server.send_line(message);
                continue;
            }
            let answer = server.send_message(&message);
            let failed = answer.contains(r#""error":"#) || answer.contains(r#""isError":true"#);
            failures += usize::from(failed);
        }
        assert_eq!(server.end(), (vec![], Exit::Code(0)));
        let log = server.process().whole_stderr(LIMIT);
        assert_eq!(log.lines().count(), failures);
        log
    });
    assert_eq!(by_default, as_results);
    assert_snapshot!(by_default, @r#"
    jsonrpc_error tool=- code=-32700 repo=- pr=- sha=- state=- msg="Parse error"
    jsonrpc_error tool=- code=-32600 repo=- pr=- sha=- state=- msg="Invalid Request: batches are not supported"
    jsonrpc_error tool=- code=-32600 repo=- pr=- sha=- state=- msg="Invalid Request: jsonrpc must be \"2.0\""
    jsonrpc_error tool=- code=-32600 repo=- pr=- sha=- state=- msg="Invalid Request: jsonrpc must be \"2.0\""
    jsonrpc_error tool=- code=-32601 repo=- pr=- sha=- state=- msg="Method not found: no/such"
    jsonrpc_error tool=- code=-32602 repo=- pr=- sha=- state=- msg="Invalid params: params is missing"
    jsonrpc_error tool=- code=-32602 repo=- pr=- sha=- state=- msg="Invalid params: params.name must be a string"
    jsonrpc_error tool=- code=-32600 repo=- pr=- sha=- state=- msg="Invalid Request: a member name twice in one object"
    jsonrpc_error tool=- code=-32602 repo=- pr=- sha=- state=- msg="Unknown tool: raed_file"
    jsonrpc_error tool=- code=-32602 repo=- pr=- sha=- state=- msg="Unknown tool: x\" code=0 msg=\"y\\u{a}"
    jsonrpc_error tool=read_file code=-32602 repo=sample/hello pr=- sha=- state=- msg="Validation errors: must have required property 'path'"
    jsonrpc_error tool=read_file code=-32002 repo=sample/hello pr=- sha=- state=- msg="Not found: the path a\"b\\u{a}c does not exist, or the token cannot see it"
    jsonrpc_error tool=merge_pull_request code=-32006 repo=Sample/Hello pr=2 sha=0123456 state=dirty msg="Head SHA does not match: the pull request has another head than expected"
    jsonrpc_error tool=merge_pull_request code=-32005 repo=sample/hello pr=3 sha=- state=draft msg="Pull request #3 is not mergeable: it is a draft"
    jsonrpc_error tool=get_checks_for_sha code=-32602 repo=- pr=- sha=- state=- msg="Validation errors: must match pattern \"^[a-zA-Z0-9._-]+/[a-zA-Z0-9._-]+$\"; must match pattern \"^[a-f0-9]{7,40}$\""
    jsonrpc_error tool=fetch code=-32602 repo=- pr=- sha=- state=- msg="Validation errors: must be object"
    "#);
}

/// The same over HTTP. A request that is refused before its message is read has no line: clients open with
/// one.
#[test]
fn each_failure_over_http_has_one_line() {
    let fixture = GithubFixture::new();
    let token = fixture.write("token", "t\n");
    let mut server = fixture.http(&["--bearer-file", &token]);
    let right = ("Authorization", "Bearer t");
    let status_of = |message: &str, headers: &[(&str, &str)]| server.post(message, headers).status;
    assert_eq!(status_of("{}", &[]), 401);
    assert_eq!(
        status_of("{}", &[right, ("Origin", "http://evil.example")]),
        403
    );
    assert_eq!(
        status_of("{}", &[right, ("Content-Type", "text/plain")]),
        415
    );
    let get = |path: &str, headers: &[(&str, &str)]| server.get(path, headers).status;
    assert_eq!(get("/mcp", &[right, ("Accept", "text/event-stream")]), 405);
    assert_eq!(get("/nothing", &[right]), 404);
    assert_eq!(server.raw("DELETE /mcp HTTP/1.1\r\n\r\n").status, 403);
    assert_eq!(server.raw("nonsense\r\n\r\n").status, 400);
    let length = ("Content-Length", "10485761");
    let large = server.request("POST", b"", &[right, length]);
    assert_eq!(server.raw(large).status, 413);
    assert_eq!(status_of("{", &[right]), 400);
    assert_eq!(status_of("[]", &[right]), 400);
    assert_eq!(
        status_of(r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, &[right]),
        200
    );
    assert_eq!(
        status_of(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, &[right]),
        200
    );
    assert_eq!(
        status_of(&call(1, "fetch", json!({ "repo": "a/b" })), &[right]),
        200
    );
    assert_eq!(
        status_of(
            &call(1, "fetch", json!({ "repo": "sample/hello" })),
            &[right]
        ),
        200
    );
    assert_eq!(server.get("/health", &[]).status, 200);
    server.signal("TERM");
    assert_eq!(server.process().exit_within(LIMIT), Some(Exit::Code(0)));
    let log = server.process().whole_stderr(LIMIT);
    let log = log.replace(&server.address().to_string(), "ADDRESS");
    assert_snapshot!(log, @r#"
    github tools listening on http://ADDRESS/mcp
    jsonrpc_error tool=- code=-32700 repo=- pr=- sha=- state=- msg="Parse error"
    jsonrpc_error tool=- code=-32600 repo=- pr=- sha=- state=- msg="Invalid Request: batches are not supported"
    jsonrpc_error tool=- code=-32601 repo=- pr=- sha=- state=- msg="Method not found: no/such"
    jsonrpc_error tool=fetch code=-32002 repo=a/b pr=- sha=- state=- msg="Not found: the repository does not exist, or the token cannot see it"
    "#);
}

/// Some clients show every line on stderr as a failure.
#[test]
fn successful_calls_log_nothing() {
    let fixture = GithubFixture::empty();
    let mut server = fixture.stdio(&["--allow-writes"]);
    server.call_ok("fetch", json!({ "repo": "sample/hello" }));
    assert_eq!(server.end(), (vec![], Exit::Code(0)));
    assert_eq!(server.process().whole_stderr(LIMIT), "");
}
