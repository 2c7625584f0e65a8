//! The token is shown to GitHub and to nobody else: not by `Debug`, not by an error, not in a log.

use crate::fixture::github::{
    CANARY, GithubFixture, expect_error_response, expect_failure, repo, settings,
};
use candor_forge::Forge as _;
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::json;
use std::io;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// GitHub, or a proxy before it, echoes the token.
#[tokio::test]
async fn echoed_tokens_are_redacted() {
    let fixture = GithubFixture::reading().await;
    let line = "GET /repos/octo/hello";
    let other = "github_pat_0123456789abcdefghij";
    let echo = format!("Bad credentials {CANARY}, {other}");
    let errors = json!([{ CANARY: echo, "code": "custom" }]);
    fixture.respond(
        line,
        ScriptedResponse::json(401, &json!({ "message": echo })),
    );
    let refused = expect_error_response(fixture.forge.repository(&fixture.context, &repo()).await);
    assert_eq!(
        refused.message.as_deref(),
        Some("Bad credentials [redacted], [redacted]")
    );
    let body = json!({ "message": "Validation Failed", "errors": errors });
    fixture.respond(line, ScriptedResponse::json(422, &body));
    let refused = expect_error_response(fixture.forge.repository(&fixture.context, &repo()).await);
    assert_eq!(
        refused.errors.as_deref(),
        Some(
            &json!([{ "[redacted]": "Bad credentials [redacted], [redacted]", "code": "custom" }])
        )
    );
    // The cut must not leave the beginning of a token.
    let long = format!("{}{CANARY}", "x".repeat(990));
    fixture.respond(
        line,
        ScriptedResponse::json(403, &json!({ "message": long })),
    );
    let refused = expect_error_response(fixture.forge.repository(&fixture.context, &repo()).await);
    assert!(refused.message.unwrap().ends_with("x[redacted]"));
    fixture.assert_complete();
}

#[tokio::test]
async fn token_is_sent_to_the_server_only() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    tracing::info!("the log is written");
    let fixture = GithubFixture::reading().await;
    let shown = format!("{:?} {:#?}", fixture.forge, settings(fixture.server.url()));
    assert!(!shown.contains("canary"), "{shown}");
    let line = "GET /repos/octo/hello";
    let responses = [
        ScriptedResponse::json(401, &json!({ "message": "Bad credentials" })),
        ScriptedResponse::new(200, &[], b"<html>"),
        ScriptedResponse::new(302, &[("location", "http://127.0.0.1:9/")], b""),
        ScriptedResponse::Part(b"garbage\r\n\r\n".to_vec()),
    ];
    for respond in responses {
        fixture.respond(line, respond);
        expect_failure(fixture.forge.repository(&fixture.context, &repo()).await);
    }
    // That the server did see it, `assert_complete` asserts.
    fixture.assert_complete();
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("the log is written"));
    assert!(!log.contains(CANARY), "{log}");
}
