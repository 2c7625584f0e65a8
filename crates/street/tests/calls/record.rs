//! The record decides whether a change is kept or undone.

use crate::fixture::{RecordingServer, run_call};

fn failing_recorder() -> RecordingServer {
    let mut server = RecordingServer::new();
    server.failing_recorder = true;
    server
}

#[tokio::test]
async fn pending_change_is_kept_after_its_record() {
    let (outcome, events) =
        run_call(RecordingServer::new(), "write", &["begin", "done", "pend"]).await;
    assert_eq!(outcome, "ok");
    let end: Vec<_> = events
        .iter()
        .skip_while(|event| !event.starts_with("record"))
        .collect();
    assert_eq!(end, ["record {\"ok\":true}", "keep", "note {\"ok\":true}"]);
}

#[tokio::test]
async fn unrecorded_change_is_undone_and_has_no_effect() {
    let (outcome, events) = run_call(failing_recorder(), "write", &["begin", "done", "pend"]).await;
    assert_eq!(outcome, "unrecorded none");
    let end: Vec<_> = events
        .iter()
        .skip_while(|event| !event.starts_with("record"))
        .collect();
    assert_eq!(
        end,
        ["record {\"ok\":true}", "undo", "note unrecorded none"]
    );
}

#[tokio::test]
async fn effect_of_a_change_that_cannot_be_undone_is_unknown() {
    let (outcome, _) = run_call(
        failing_recorder(),
        "write",
        &["begin", "done", "pend-badly"],
    )
    .await;
    assert_eq!(outcome, "unrecorded unknown");
}

#[tokio::test]
async fn effect_mark_decides_without_a_pending_change() {
    for (steps, expected) in [
        (&[][..], "unrecorded none"),
        (&["begin"], "unrecorded unknown"),
        (&["begin", "done"], "unrecorded done"),
        (&["fail"], "unrecorded none"),
    ] {
        assert_eq!(
            run_call(failing_recorder(), "write", steps).await.0,
            expected
        );
    }
}
