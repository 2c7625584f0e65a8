//! A tool that is not there: the same code in every form, with the nearest name.

use crate::house::{Plan, call, house, in_form};
use candor_street::{Era, FailureForm};
use serde_json::{Value, json};

#[tokio::test]
async fn an_unknown_tool_is_named_with_its_nearest() {
    let house = house();
    let said = house.ask("raed_file", json!({ "repo": "octo/cat" })).await;
    let wanted = concat!(
        r#"{"code":-32602,"message":"Unknown tool: raed_file","#,
        r#""data":{"tool":"raed_file","validation_errors":[],"#,
        r#""timestamp":"2025-10-12T15:49:21.049Z","#,
        r#""hints":[{"path":"root","hint":"did you mean 'read_file'?"}]}}"#
    );
    assert_eq!(said.text(), wanted);
    let said = house.ask("xyzzy", Value::Null).await;
    let wanted = concat!(
        r#"{"code":-32602,"message":"Unknown tool: xyzzy","#,
        r#""data":{"tool":"xyzzy","validation_errors":[],"timestamp":"2025-10-12T15:49:21.049Z"}}"#
    );
    assert_eq!(said.text(), wanted);
    assert_eq!(house.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn it_stays_a_protocol_error_in_every_form_and_era() {
    for failures in [FailureForm::Auto, FailureForm::Jsonrpc, FailureForm::Result] {
        let house = in_form(failures).house();
        for era in [Era::Handshake, Era::Stateless] {
            let mut call = call("xyzzy", &json!({}));
            call.era = era;
            let said = house.hand(call).await;
            assert!(said.text().starts_with(r#"{"code":-32602,"#), "{said:?}");
        }
    }
}

#[tokio::test]
async fn a_long_or_hostile_name_is_escaped_and_cut_at_64() {
    let house = house();
    let said = house.ask("a\n\u{202e}\"b", json!({})).await;
    assert_eq!(said.message(), "Unknown tool: a\\u{a}\\u{202e}\"b");
    let said = house.ask(&"x".repeat(65), json!({})).await;
    assert_eq!(said.message(), format!("Unknown tool: {}…", "x".repeat(63)));
    let said = house.ask(&"x".repeat(64), json!({})).await;
    assert_eq!(said.message(), format!("Unknown tool: {}", "x".repeat(64)));
}

#[tokio::test]
async fn the_extended_tools_are_unknown_unless_they_are_wanted() {
    let plain = Plan::default()
        .with(|plan| plan.config.extended = false)
        .house();
    for tool in ["create_branch", "get_pull_request"] {
        let said = plain.ask(tool, crate::valid::of(tool)).await;
        assert_eq!(said.message(), format!("Unknown tool: {tool}"));
    }
    assert_eq!(plain.asked(), Vec::<String>::new());
}
