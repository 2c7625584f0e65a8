//! The failures that the shared dialects make of refusals.

use crate::weather;
use candor_dialect_fixtures::{assert_causes_are_kept, describe_refusals};
use candor_fault::dialects::{Candor, Wire};

#[test]
fn wire_adopts_every_refusal() {
    insta::assert_snapshot!(describe_refusals::<Wire>(), @r#"
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
    assert_causes_are_kept::<Wire>();
}

#[test]
fn candor_adopts_every_refusal() {
    insta::assert_snapshot!(describe_refusals::<Candor<weather::Code>>(), @r#"
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
    assert_causes_are_kept::<Candor<weather::Code>>();
}
