//! HTTP connections: kept alive, pipelined, limited, broken, and closed during a call.

use crate::requests::{call, request, stateless_call, stateless_headers};
use crate::wire::answers::{error, result};
use crate::wire::fixture::{http, poll_until};
use candor_testkit::Http;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn pong() -> (u16, String) {
    (200, result("1", "{}"))
}

/// Returns how many calls of a tool have ended with a code.
fn call_count(server: &Http, tool: &str, code: &str) -> Option<u64> {
    let metrics = server.get("/metrics", &[]).text();
    let name = format!(r#"candor_calls_total{{tool="{tool}",code="{code}"}} "#);
    let count = metrics.lines().find_map(|line| line.strip_prefix(&name))?;
    count.parse().ok()
}

#[test]
fn connection_serves_many_requests() {
    let server = http(&[]);
    let mut connection = server.connect();
    for id in 0..200 {
        let body = request(id.to_string(), "ping", "{}");
        connection.send(server.request("POST", body.as_bytes(), &[]));
        let response = connection.response();
        assert_eq!(response.text(), result(&id.to_string(), "{}"));
        assert_eq!(response.header("connection"), None);
    }
    // Refusals do not end it either, as long as their bodies are read.
    for (method, headers, status) in [
        ("POST", [("Content-Type", "text/plain")], 415),
        ("GET", [("Accept", "text/event-stream")], 405),
        ("POST", [("Host", "evil.example")], 403),
        ("POST", [("MCP-Protocol-Version", "v999")], 400),
        ("POST", [("Accept", "nothing/at-all")], 200),
    ] {
        connection.send(server.request(method, PING.as_bytes(), &headers));
        assert_eq!(connection.response().status, status);
    }
    connection.send(server.request("POST", PING.as_bytes(), &[("Connection", "close")]));
    assert_eq!(connection.response().status, 200);
    assert!(connection.is_closed());
}

#[test]
fn requests_can_be_sent_ahead() {
    let server = http(&[]);
    let mut connection = server.connect();
    let sent: Vec<u8> = (0..50)
        .flat_map(|id| {
            let body = match id % 3 {
                0 => request(id.to_string(), "ping", "{}"),
                1 => call(id.to_string(), "hang", r#"{"ms":2}"#),
                _ => call(id.to_string(), "echo", r#"{"text":"x"}"#),
            };
            server.request("POST", body.as_bytes(), &[])
        })
        .collect();
    connection.send(sent);
    for id in 0..50 {
        let response = connection.response();
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        assert!(response.text().starts_with(&head), "{}", response.text());
    }
}

#[test]
fn expect_continue_is_answered_before_the_body() {
    let server = http(&[]);
    let length = PING.len().to_string();
    let mut connection = server.connect();
    let expecting = [
        ("Expect", "100-continue"),
        ("Content-Length", length.as_str()),
    ];
    connection.send(server.request("POST", b"", &expecting));
    assert_eq!(connection.response().status, 100);
    connection.send(PING);
    let response = connection.response();
    assert_eq!((response.status, response.text()), pong());
    // A request that is refused by its head is refused without its body.
    for (length, header, status) in [
        ("10485761", ("Accept", "*/*"), 413),
        ("100", ("Content-Type", "text/plain"), 415),
        ("100", ("Host", "evil.example"), 403),
    ] {
        let headers = [
            ("Expect", "100-continue"),
            ("Content-Length", length),
            header,
        ];
        let response = server.raw(server.request("POST", b"", &headers));
        assert_eq!(response.status, status);
    }
}

#[test]
fn http_1_0_and_unusual_clients_are_served() {
    let server = http(&[]);
    let old = format!(
        "POST /mcp HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{PING}",
        PING.len()
    );
    let response = server.raw(old);
    assert_eq!((response.status, response.text()), pong());
    let absolute = format!(
        "POST http://localhost/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{PING}",
        PING.len()
    );
    let response = server.raw(absolute);
    assert_eq!((response.status, response.text()), pong());
}

/// Invalid or incomplete HTTP is refused with a body and ends only its own connection.
#[test]
fn broken_connections_do_not_affect_others() {
    let server = http(&[]);
    for (nonsense, expected) in [
        ("nonsense\r\n\r\n", "the head is malformed"),
        ("\0\0\0\0\r\n\r\n", "the head is malformed"),
        ("GET\r\n\r\n", "the head is malformed"),
        ("POST /mcp HTTP/9.9\r\n\r\n", "the head is malformed"),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}", "the head is malformed"),
        ("POST /mcp HTTP/1.1\r\nHost", "the head ended early"),
    ] {
        let mut connection = server.connect();
        connection.send(nonsense);
        connection.finish_sending();
        let response = connection.response();
        let message = format!("Invalid Request: {expected}");
        assert_eq!(
            (response.status, response.text()),
            (400, error("null", -32600, &message)),
            "{nonsense:?}"
        );
        assert_eq!(response.header("connection"), Some("close"));
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert!(connection.is_closed(), "{nonsense:?}");
    }
    let mut connection = server.connect();
    connection.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    let response = connection.response();
    let early = "Invalid Request: the body ended early";
    assert_eq!(
        (response.status, response.text()),
        (400, error("null", -32600, early))
    );
    let response = server.post(PING, &[]);
    assert_eq!((response.status, response.text()), pong());
}

/// Ids belong to their request: the same id can be in flight many times.
#[test]
fn slow_call_blocks_no_other_request() {
    let server = http(&[]);
    let hang = server.request("POST", call("1", "hang", r#"{"ms":500}"#).as_bytes(), &[]);
    let mut slow: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for connection in &mut slow {
        connection.send(&hang);
    }
    let response = server.post(PING, &[]);
    assert_eq!((response.status, response.text()), pong());
    // A cancel has no meaning here: it is accepted, and nothing is cancelled.
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(server.post(cancel, &[]).status, 202);
    let hung = r#"{"content":[{"type":"text","text":"{\"hung_ms\":500}"}],"structuredContent":{"hung_ms":500}}"#;
    for connection in &mut slow {
        assert_eq!(connection.response().text(), result("1", hung));
    }
}

/// Closing the connection cancels calls of the stateless era only, a while after the end of the input.
#[test]
fn closed_connection_cancels_in_the_stateless_era_only() {
    let server = http(&["--conformance"]);
    let send_and_leave = |body: &str, headers: &[(&str, &str)]| {
        let mut connection = server.connect();
        connection.send(server.request("POST", body.as_bytes(), headers));
    };
    let new = stateless_call("1", "hang", r#"{"ms":86400000}"#);
    let headers = stateless_headers("tools/call", Some("hang"));
    send_and_leave(&new, &headers);
    assert_eq!(poll_until(|| call_count(&server, "hang", "cancelled")), 1);
    assert_eq!(call_count(&server, "hang", "ok"), None);

    let old = call("1", "flaky", r#"{"script":["delay 100"]}"#);
    send_and_leave(&old, &[]);
    poll_until(|| call_count(&server, "flaky", "ok"));
    let progress =
        r#"{"name":"test_tool_with_progress","arguments":{},"_meta":{"progressToken":1}}"#;
    let progress = request("1", "tools/call", progress);
    send_and_leave(&progress, &[("Accept", "text/event-stream")]);
    poll_until(|| call_count(&server, "test_tool_with_progress", "ok"));
    for tool in ["flaky", "test_tool_with_progress"] {
        assert_eq!(call_count(&server, tool, "cancelled"), None, "{tool}");
    }
}
