//! Progress: lines on stdio and events over HTTP, only for clients that request it.

use crate::requests::{call, request, stateless_headers};
use crate::wire::answers::result;
use crate::wire::fixture::{http, stdio};

const TOOL: &str = "test_tool_with_progress";
const DONE: &str = r#"{"content":[{"type":"text","text":"Progress was reported."}]}"#;
const DONE_STATELESS: &str =
    r#"{"resultType":"complete","content":[{"type":"text","text":"Progress was reported."}]}"#;

fn request_with_token(token: &str) -> String {
    let params =
        format!(r#"{{"name":"{TOOL}","arguments":{{}},"_meta":{{"progressToken":{token}}}}}"#);
    request("1", "tools/call", &params)
}

fn reports(token: &str) -> Vec<String> {
    let report = |progress: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress},"total":100.0}}}}"#
        )
    };
    ["0.0", "50.0", "100.0"].map(report).to_vec()
}

#[test]
fn reports_come_before_the_answer_on_stdio() {
    let mut server = stdio(&["--conformance"]);
    for token in [
        "\"p-1\"",
        "7",
        "\"\"",
        "0",
        r#""\u0041""#,
        "12345678901234567890",
    ] {
        server.send_line(request_with_token(token));
        let lines: Vec<_> = (0..4).map(|_| server.line().unwrap()).collect();
        let mut expected = reports(token);
        expected.push(result("1", DONE));
        assert_eq!(lines, expected);
    }
    // An invalid progress token requests no progress.
    for token in ["null", "true", "{}", "[]", "1.5"] {
        assert_eq!(
            server.ask(request_with_token(token)),
            result("1", DONE),
            "{token}"
        );
    }
    assert_eq!(server.ask(call("1", TOOL, "{}")), result("1", DONE));
    assert_eq!(server.end().0.len(), 0);
}

#[test]
fn events_are_sent_only_if_they_are_accepted() {
    let server = http(&["--conformance"]);
    let mut expected = reports("\"p\"");
    expected.push(result("1", DONE));
    let stream: String = expected
        .iter()
        .map(|message| format!("event: message\ndata: {message}\n\n"))
        .collect();
    for accept in [
        "text/event-stream",
        "application/json, text/event-stream",
        "text/event-stream, application/json",
        "application/json,text/event-stream;q=0.9",
        "TEXT/EVENT-STREAM",
        "text/event-stream; q=0.001 ,*/*",
    ] {
        let response = server.post(request_with_token("\"p\""), &[("Accept", accept)]);
        assert_eq!(
            (response.status, response.text()),
            (200, stream.clone()),
            "{accept}"
        );
        assert_eq!(response.header("content-type"), Some("text/event-stream"));
        assert_eq!(response.header("cache-control"), Some("no-store"));
    }
    for accept in [
        None,
        Some("*/*"),
        Some("application/json"),
        Some("text/*"),
        Some(""),
        Some("text/event-streams"),
        Some("application/json, text/event-stream;q=0"),
        Some("application/json, text/event-stream; q=0.000"),
    ] {
        let headers: Vec<_> = accept
            .map(|accept| ("Accept", accept))
            .into_iter()
            .collect();
        let response = server.post(request_with_token("\"p\""), &headers);
        assert_eq!(
            (response.status, response.text()),
            (200, result("1", DONE)),
            "{accept:?}"
        );
        assert_eq!(response.header("content-type"), Some("application/json"));
    }
    let twice = [
        ("Accept", "application/json"),
        ("Accept", "text/event-stream"),
    ];
    assert_eq!(
        server.post(request_with_token("\"p\""), &twice).text(),
        stream
    );
}

#[test]
fn call_without_progress_is_plain_json() {
    let server = http(&["--conformance"]);
    let accept = [("Accept", "application/json, text/event-stream")];
    let plain = |body: String, expected: String| {
        let response = server.post(body, &accept);
        assert_eq!((response.status, response.text()), (200, expected));
        assert_eq!(response.header("content-type"), Some("application/json"));
    };
    plain(call("1", TOOL, "{}"), result("1", DONE));
    let silent = r#"{"name":"hang","arguments":{"ms":30},"_meta":{"progressToken":1}}"#;
    let hung = r#"{"content":[{"type":"text","text":"{\"hung_ms\":30}"}],"structuredContent":{"hung_ms":30}}"#;
    plain(request("1", "tools/call", silent), result("1", hung));
    let at_once = r#"{"name":"test_simple_text","arguments":{},"_meta":{"progressToken":1}}"#;
    let text =
        r#"{"content":[{"type":"text","text":"This is a simple text response for testing."}]}"#;
    plain(request("1", "tools/call", at_once), result("1", text));
    plain(
        request("1", "ping", r#"{"_meta":{"progressToken":1}}"#),
        result("1", "{}"),
    );
}

#[test]
fn events_are_sent_in_the_stateless_era() {
    let server = http(&["--conformance"]);
    let meta = r#"{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let params = format!(r#"{{"name":"{TOOL}","arguments":{{}},"_meta":{meta}}}"#);
    let sent = request("1", "tools/call", &params);
    let mut headers = stateless_headers("tools/call", Some(TOOL));
    let response = server.post(&sent, &headers);
    assert_eq!(response.text(), result("1", DONE_STATELESS));
    headers.push(("Accept", "text/event-stream"));
    let mut expected = reports("\"p\"");
    expected.push(result("1", DONE_STATELESS));
    assert_eq!(server.post(&sent, &headers).messages(), expected);
}

/// An event stream ends, and the connection can be used again.
#[test]
fn connection_outlives_its_event_streams() {
    let server = http(&["--conformance"]);
    let mut connection = server.connect();
    let request_bytes = server.request(
        "POST",
        request_with_token("1").as_bytes(),
        &[("Accept", "text/event-stream")],
    );
    for _ in 0..3 {
        connection.send(&request_bytes);
        assert_eq!(connection.response().messages().len(), 4);
    }
    // Sent in one piece: the second request is served after the first stream.
    connection.send([request_bytes.clone(), request_bytes].concat());
    assert_eq!(connection.response().messages().len(), 4);
    assert_eq!(connection.response().messages().len(), 4);
}
