//! What the way of a call itself refuses, said in every dialect.

use crate::support::{missing, wrong_type};
use crate::weather;
use candor_fault::dialects::{Candor, Context, Github, Orders, Wire, Workspace};
use candor_fault::{Cause, Dialect, Effect, Refusal};
use serde_json::json;
use std::time::Duration;

fn every_refusal() -> Vec<(String, Refusal)> {
    let cause = || Cause::from("why");
    let mut all = vec![
        (
            "arguments".to_owned(),
            Refusal::Arguments(
                [missing("", "a"), wrong_type("/b", "string", &json!(1))]
                    .into_iter()
                    .collect(),
            ),
        ),
        (
            "arguments, none".to_owned(),
            Refusal::Arguments(Default::default()),
        ),
        (
            "limited".to_owned(),
            Refusal::Limited {
                after: Duration::from_secs(2),
            },
        ),
    ];
    for effect in Effect::ALL.iter().copied() {
        let named = |name: &str| format!("{name}, {}", effect.word());
        all.push((named("deadline"), Refusal::Deadline { effect }));
        all.push((named("cancelled"), Refusal::Cancelled { effect }));
        all.push((
            named("panicked"),
            Refusal::Panicked {
                cause: cause(),
                effect,
            },
        ));
        all.push((
            named("unrecorded"),
            Refusal::Unrecorded {
                cause: cause(),
                effect,
            },
        ));
    }
    all
}

/// One line a refusal: code, retry, wait, effect, message.
fn adopted<D: Dialect>() -> String {
    let line = |(name, refusal): (String, Refusal)| {
        let fault = D::adopt(refusal);
        assert!(D::rows().iter().any(|row| row.has_key_of(fault.row())));
        let five = fault.five();
        let wait = five
            .retry_after_ms
            .map_or(String::new(), |wait| format!(" {wait} ms"));
        format!(
            "{name}: {} {}{wait} {} {:?}",
            fault.row().code,
            five.retry.word(),
            five.effect.word(),
            fault.message()
        )
    };
    every_refusal()
        .into_iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn context() {
    insta::assert_snapshot!(adopted::<Context>(), @r#"
    arguments: invalid_query after_change none "Query is invalid"
    arguments, none: invalid_query after_change none "Query is invalid"
    limited: internal_error never none "Internal error"
    deadline, none: internal_error never none "Internal error"
    cancelled, none: internal_error never none "Internal error"
    panicked, none: internal_error never none "Internal error"
    unrecorded, none: internal_error never none "Internal error"
    deadline, done: internal_error never none "Internal error"
    cancelled, done: internal_error never none "Internal error"
    panicked, done: internal_error never none "Internal error"
    unrecorded, done: internal_error never none "Internal error"
    deadline, unknown: internal_error never none "Internal error"
    cancelled, unknown: internal_error never none "Internal error"
    panicked, unknown: internal_error never none "Internal error"
    unrecorded, unknown: internal_error never none "Internal error"
    "#);
}

#[test]
fn github() {
    insta::assert_snapshot!(adopted::<Github>(), @r#"
    arguments: -32602 after_change none "Invalid params"
    arguments, none: -32602 after_change none "Invalid params"
    limited: -32004 after_delay 2000 ms none "Rate limit exceeded"
    deadline, none: -32603 same_call none "Internal error: the call took too long"
    cancelled, none: -32603 same_call none "Internal error: the call was cancelled"
    panicked, none: -32603 never none "Internal error"
    unrecorded, none: -32603 after_change none "Internal error: the call could not be recorded"
    deadline, done: -32603 after_change done "Internal error: the call took too long"
    cancelled, done: -32603 after_change done "Internal error: the call was cancelled"
    panicked, done: -32603 never done "Internal error"
    unrecorded, done: -32603 after_change done "Internal error: the call could not be recorded"
    deadline, unknown: -32603 after_change unknown "Internal error: the call took too long"
    cancelled, unknown: -32603 after_change unknown "Internal error: the call was cancelled"
    panicked, unknown: -32603 never unknown "Internal error"
    unrecorded, unknown: -32603 after_change unknown "Internal error: the call could not be recorded"
    "#);
}

#[test]
fn workspace() {
    insta::assert_snapshot!(adopted::<Workspace>(), @r#"
    arguments: MISSING_REQUIRED_FIELD after_change none "a is required"
    arguments, none: INVALID_INPUT_VALUE after_change none "A value is not allowed"
    limited: INTERNAL_ERROR never none "Something unexpected went wrong in the server"
    deadline, none: INTERNAL_ERROR never none "Something unexpected went wrong in the server"
    cancelled, none: UNKNOWN_TOOL_FAILURE after_change none "The call was cancelled"
    panicked, none: INTERNAL_ERROR never none "Something unexpected went wrong in the server"
    unrecorded, none: AUDIT_LOG_FAILED after_change none "The audit log could not be written"
    deadline, done: INTERNAL_ERROR never done "Something unexpected went wrong in the server"
    cancelled, done: UNKNOWN_TOOL_FAILURE after_change done "The call was cancelled"
    panicked, done: INTERNAL_ERROR never done "Something unexpected went wrong in the server"
    unrecorded, done: AUDIT_LOG_FAILED after_change done "The audit log could not be written"
    deadline, unknown: INTERNAL_ERROR never unknown "Something unexpected went wrong in the server"
    cancelled, unknown: UNKNOWN_TOOL_FAILURE after_change unknown "The call was cancelled"
    panicked, unknown: INTERNAL_ERROR never unknown "Something unexpected went wrong in the server"
    unrecorded, unknown: AUDIT_LOG_FAILED after_change unknown "The audit log could not be written"
    "#);
}

#[test]
fn orders() {
    insta::assert_snapshot!(adopted::<Orders>(), @r#"
    arguments: 2002 after_change none "Required field is missing"
    arguments, none: 2001 after_change none "Validation error"
    limited: 3001 after_delay 2000 ms none "Rate limit exceeded"
    deadline, none: 3002 same_call none "Operation timed out"
    cancelled, none: 3002 same_call none "The call was cancelled"
    panicked, none: -32603 never none "Internal error"
    unrecorded, none: -32603 after_change none "Internal error"
    deadline, done: 3002 same_call done "Operation timed out"
    cancelled, done: 3002 same_call done "The call was cancelled"
    panicked, done: -32603 never done "Internal error"
    unrecorded, done: -32603 after_change done "Internal error"
    deadline, unknown: 3002 same_call unknown "Operation timed out"
    cancelled, unknown: 3002 same_call unknown "The call was cancelled"
    panicked, unknown: -32603 never unknown "Internal error"
    unrecorded, unknown: -32603 after_change unknown "Internal error"
    "#);
}

#[test]
fn wire() {
    insta::assert_snapshot!(adopted::<Wire>(), @r#"
    arguments: -32602 after_change none "Invalid params"
    arguments, none: -32602 after_change none "Invalid params"
    limited: -32603 after_delay 2000 ms none "Internal error: the server is at capacity"
    deadline, none: -32603 same_call none "Internal error"
    cancelled, none: -32603 same_call none "Internal error"
    panicked, none: -32603 never none "Internal error"
    unrecorded, none: -32603 after_change none "Internal error: the request could not be recorded"
    deadline, done: -32603 after_change done "Internal error"
    cancelled, done: -32603 after_change done "Internal error"
    panicked, done: -32603 never done "Internal error"
    unrecorded, done: -32603 after_change done "Internal error: the request could not be recorded"
    deadline, unknown: -32603 after_change unknown "Internal error"
    cancelled, unknown: -32603 after_change unknown "Internal error"
    panicked, unknown: -32603 never unknown "Internal error"
    unrecorded, unknown: -32603 after_change unknown "Internal error: the request could not be recorded"
    "#);
}

#[test]
fn candor() {
    insta::assert_snapshot!(adopted::<Candor<weather::Code>>(), @r#"
    arguments: invalid_arguments after_change none "The arguments do not fit the tool's schema"
    arguments, none: invalid_arguments after_change none "The arguments do not fit the tool's schema"
    limited: limited after_delay 2000 ms none "Too many calls"
    deadline, none: deadline same_call none "The call took too long"
    cancelled, none: cancelled same_call none "The call was cancelled"
    panicked, none: internal never none "Internal error"
    unrecorded, none: unrecorded after_change none "The call could not be recorded"
    deadline, done: deadline after_change done "The call took too long"
    cancelled, done: cancelled after_change done "The call was cancelled"
    panicked, done: internal never done "Internal error"
    unrecorded, done: unrecorded after_change done "The call could not be recorded"
    deadline, unknown: deadline after_change unknown "The call took too long"
    cancelled, unknown: cancelled after_change unknown "The call was cancelled"
    panicked, unknown: internal never unknown "Internal error"
    unrecorded, unknown: unrecorded after_change unknown "The call could not be recorded"
    "#);
}

#[test]
fn the_cause_is_kept_for_the_log() {
    fn kept<D: Dialect>() {
        let effect = Effect::None;
        let panicked = D::adopt(Refusal::Panicked {
            cause: Cause::from("why"),
            effect,
        });
        let unrecorded = D::adopt(Refusal::Unrecorded {
            cause: Cause::from("why"),
            effect,
        });
        assert_eq!(panicked.cause(), Some(&Cause::from("why")));
        assert_eq!(unrecorded.cause(), Some(&Cause::from("why")));
    }
    kept::<Context>();
    kept::<Github>();
    kept::<Workspace>();
    kept::<Orders>();
    kept::<Wire>();
    kept::<Candor<weather::Code>>();
}
