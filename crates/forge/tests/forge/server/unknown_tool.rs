//! A tool that is not there: the same code in every form, with the nearest name.

use crate::fixture::server::{FixtureOptions, call, fixture, in_form};
use candor_street::{Era, FailureForm};
use serde_json::{Value, json};

#[tokio::test]
async fn unknown_tool_is_answered_with_the_nearest_name() {
    let fixture = fixture();
    let answer = fixture
        .call_tool("raed_file", json!({ "repo": "octo/cat" }))
        .await;
    let expected = concat!(
        r#"{"code":-32602,"message":"Unknown tool: raed_file","#,
        r#""data":{"tool":"raed_file","validation_errors":[],"#,
        r#""timestamp":"2025-10-12T15:49:21.049Z","#,
        r#""hints":[{"path":"root","hint":"did you mean 'read_file'?"}]}}"#
    );
    assert_eq!(answer.text(), expected);
    let answer = fixture.call_tool("xyzzy", Value::Null).await;
    let expected = concat!(
        r#"{"code":-32602,"message":"Unknown tool: xyzzy","#,
        r#""data":{"tool":"xyzzy","validation_errors":[],"timestamp":"2025-10-12T15:49:21.049Z"}}"#
    );
    assert_eq!(answer.text(), expected);
    assert_eq!(fixture.backend_calls(), Vec::<String>::new());
}

#[tokio::test]
async fn unknown_tool_is_a_protocol_error_in_every_form_and_era() {
    for failures in [FailureForm::Auto, FailureForm::Jsonrpc, FailureForm::Result] {
        let fixture = in_form(failures).fixture();
        for era in [Era::Handshake, Era::Stateless] {
            let mut call = call("xyzzy", json!({}));
            call.era = era;
            let answer = fixture.answer_call(call).await;
            assert!(
                answer.text().starts_with(r#"{"code":-32602,"#),
                "{answer:?}"
            );
        }
    }
}

#[tokio::test]
async fn long_or_hostile_name_is_escaped_and_truncated() {
    let fixture = fixture();
    let answer = fixture.call_tool("a\n\u{202e}\"b", json!({})).await;
    assert_eq!(answer.message(), "Unknown tool: a\\u{a}\\u{202e}\"b");
    let answer = fixture.call_tool(&"x".repeat(65), json!({})).await;
    assert_eq!(
        answer.message(),
        format!("Unknown tool: {}…", "x".repeat(63))
    );
    let answer = fixture.call_tool(&"x".repeat(64), json!({})).await;
    assert_eq!(
        answer.message(),
        format!("Unknown tool: {}", "x".repeat(64))
    );
}

#[tokio::test]
async fn extended_tools_are_unknown_unless_enabled() {
    let plain = FixtureOptions::default()
        .with(|options| options.config.extended = false)
        .fixture();
    for tool in ["create_branch", "get_pull_request"] {
        let answer = plain
            .call_tool(tool, crate::fixture::valid_arguments::for_tool(tool))
            .await;
        assert_eq!(answer.message(), format!("Unknown tool: {tool}"));
    }
    assert_eq!(plain.backend_calls(), Vec::<String>::new());
}
