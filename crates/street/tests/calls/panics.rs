//! The way back cannot fail: whatever a server's own stations do, there is an answer.

use crate::fixture::{Station, answer_until, call, one, told};
use candor_fault::Answer;
use candor_fault::codes::wire;
use candor_street::CancellationToken;

fn panicking(at: &'static str) -> Station {
    let mut station = Station::new();
    station.panics_at = Some(at);
    station
}

#[tokio::test]
async fn a_recorder_that_panics_has_not_recorded() {
    let (told, seen) = one(panicking("record"), "write", &["begin", "done", "pend"]).await;
    assert_eq!(told, "unrecorded none");
    assert!(seen.contains(&"undo".to_owned()), "{seen:?}");
    let (told, _) = one(panicking("record"), "write", &["begin", "done"]).await;
    assert_eq!(told, "unrecorded done");
    let (told, _) = one(panicking("record"), "read", &[]).await;
    assert_eq!(told, "unrecorded none");
}

#[tokio::test]
async fn a_log_line_that_panics_changes_nothing() {
    let (told, seen) = one(panicking("note"), "write", &["begin", "done", "pend"]).await;
    assert_eq!(told, "ok");
    assert!(seen.contains(&"keep".to_owned()), "{seen:?}");
}

#[tokio::test]
async fn any_other_panic_on_the_way_back_is_a_bug_like_one_in_a_tool() {
    let (told, _) = one(panicking("complete"), "read", &["fail"]).await;
    assert_eq!(told, "internal none");
    let (told, _) = one(panicking("complete"), "write", &["begin", "done", "fail"]).await;
    assert_eq!(told, "internal unknown");
}

/// A call that is refused before its tool is found is recorded like any other.
#[tokio::test]
async fn a_refusal_that_cannot_be_recorded_is_said() {
    let (dispatcher, ..) = panicking("record").dispatcher();
    let refusing = dispatcher.begin_refusal(wire::ParseError.fault()).ok();
    let Some(Answer::Error(error)) = refusing else {
        panic!("no answer");
    };
    assert_eq!(error.code, wire::InternalError.row().code.number());
    let unknown = answer_until(&dispatcher, call("nope", &[]), CancellationToken::new()).await;
    assert!(told(&unknown).contains("-32603"), "{unknown:?}");
}
