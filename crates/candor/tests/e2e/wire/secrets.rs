//! A token appears in no answer, log or metric, whether it is right, wrong, misplaced or in a panic.

use crate::requests::call;
use crate::wire::fixture::http;
use std::fs;
use std::time::Duration;

const CANARY: &str = "canary-5f3a9c";

#[test]
fn token_appears_in_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, CANARY).unwrap();
    let mut server = http(&["--bearer-file", file.to_str().unwrap(), "--log", "trace"]);
    let right = format!("Bearer {CANARY}");
    let nearly = format!("Bearer {CANARY}x");
    let echo = call("1", "echo", r#"{"text":"x"}"#);
    let panic = call("2", "panic", "{}");
    let mut output = String::new();
    for (body, token) in [
        (echo.as_str(), right.as_str()),
        (&echo, &nearly),
        (&panic, &right),
        ("{", &right),
        ("{}", "Basic dXNlcg=="),
    ] {
        output += &server.post(body, &[("Authorization", token)]).text();
    }
    output += &server.get("/metrics", &[("Authorization", &right)]).text();
    output += &server.get("/health", &[]).text();
    output += &server.get("/nothing", &[("Authorization", &nearly)]).text();
    // Refusals before a message is read are logged without anything of the request.
    for nonsense in [
        format!("{CANARY}\r\n\r\n"),
        format!("GET /{CANARY}\u{1} HTTP/1.1\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{CANARY}\r\n\r\n"),
        format!("GET /{CANARY} HTTP/1.1\r\nHost: {CANARY}\r\n\r\n"),
        format!("POST /mcp?{} HTTP/1.1\r\n\r\n", CANARY.repeat(1_000)),
        format!("POST /mcp HTTP/1.1\r\nX: {}\r\n\r\n", CANARY.repeat(10_000)),
    ] {
        let response = server.raw(nonsense);
        assert!(response.status >= 400);
        assert!(
            response
                .text()
                .starts_with(r#"{"jsonrpc":"2.0","id":null,"error":"#)
        );
        output += &response.text();
    }
    server.signal("TERM");
    assert!(
        server
            .process()
            .exit_within(Duration::from_secs(20))
            .is_some()
    );
    output += &server.process().whole_stderr(Duration::from_secs(5));
    assert!(output.contains("candor_calls_total"), "{output}");
    assert!(
        output.contains("call failed"),
        "the log was not read: {output}"
    );
    assert!(
        output.contains("a request was refused before it was read"),
        "{output}"
    );
    assert!(!output.contains(CANARY), "{output}");
}
