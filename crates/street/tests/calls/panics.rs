//! Panics while a call is recorded, logged or completed: there is always an answer.

use crate::fixture::{RecordingServer, answer_until, call, describe_answer, run_call};
use candor_fault::Answer;
use candor_fault::codes::wire;
use candor_street::CancellationToken;

fn server_that_panics(at: &'static str) -> RecordingServer {
    let mut server = RecordingServer::new();
    server.panics_at = Some(at);
    server
}

#[tokio::test]
async fn call_is_unrecorded_if_its_recorder_panics() {
    let (outcome, events) = run_call(
        server_that_panics("record"),
        "write",
        &["begin", "done", "pend"],
    )
    .await;
    assert_eq!(outcome, "unrecorded none");
    assert!(events.contains(&"undo".to_owned()), "{events:?}");
    let (outcome, _) = run_call(server_that_panics("record"), "write", &["begin", "done"]).await;
    assert_eq!(outcome, "unrecorded done");
    let (outcome, _) = run_call(server_that_panics("record"), "read", &[]).await;
    assert_eq!(outcome, "unrecorded none");
}

#[tokio::test]
async fn panic_while_logging_changes_nothing() {
    let (outcome, events) = run_call(
        server_that_panics("note"),
        "write",
        &["begin", "done", "pend"],
    )
    .await;
    assert_eq!(outcome, "ok");
    assert!(events.contains(&"keep".to_owned()), "{events:?}");
}

#[tokio::test]
async fn panic_while_completing_a_fault_is_an_internal_error() {
    let (outcome, _) = run_call(server_that_panics("complete"), "read", &["fail"]).await;
    assert_eq!(outcome, "internal none");
    let (outcome, _) = run_call(
        server_that_panics("complete"),
        "write",
        &["begin", "done", "fail"],
    )
    .await;
    assert_eq!(outcome, "internal unknown");
}

/// A call that is refused before its tool is found is recorded like any other.
#[tokio::test]
async fn refusal_that_cannot_be_recorded_is_an_internal_error() {
    let (dispatcher, ..) = server_that_panics("record").dispatcher();
    let refusing = dispatcher.begin_refusal(wire::ParseError.fault()).ok();
    let Some(Answer::Error(error)) = refusing else {
        panic!("no answer");
    };
    assert_eq!(error.code, wire::InternalError.row().code.number());
    let unknown = answer_until(&dispatcher, call("nope", &[]), CancellationToken::new()).await;
    assert!(describe_answer(&unknown).contains("-32603"), "{unknown:?}");
}
