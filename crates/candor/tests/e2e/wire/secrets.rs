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
    let mut seen = String::new();
    for (body, token) in [
        (echo.as_str(), right.as_str()),
        (&echo, &nearly),
        (&panic, &right),
        ("{", &right),
        ("{}", "Basic dXNlcg=="),
    ] {
        seen += &server.post(body, &[("Authorization", token)]).text();
    }
    seen += &server.get("/metrics", &[("Authorization", &right)]).text();
    seen += &server.get("/health", &[]).text();
    seen += &server.get("/nothing", &[("Authorization", &nearly)]).text();
    server.signal("TERM");
    assert!(
        server
            .process()
            .exit_within(Duration::from_secs(20))
            .is_some()
    );
    seen += &server.process().whole_stderr(Duration::from_secs(5));
    assert!(seen.contains("candor_calls_total"), "{seen}");
    assert!(seen.contains("call failed"), "the log was not read: {seen}");
    assert!(!seen.contains(CANARY), "{seen}");
}
