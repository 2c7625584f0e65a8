//! The record decides whether a change is kept or undone.

use crate::fixture::{Station, one};

fn unrecordable() -> Station {
    let mut station = Station::new();
    station.unrecordable = true;
    station
}

#[tokio::test]
async fn a_recorded_change_is_kept_after_its_record() {
    let (told, seen) = one(Station::new(), "write", &["begin", "done", "pend"]).await;
    assert_eq!(told, "ok");
    let end: Vec<_> = seen
        .iter()
        .skip_while(|what| !what.starts_with("record"))
        .collect();
    assert_eq!(end, ["record {\"ok\":true}", "keep", "note {\"ok\":true}"]);
}

#[tokio::test]
async fn an_unrecorded_change_is_undone_and_says_that_nothing_happened() {
    let (told, seen) = one(unrecordable(), "write", &["begin", "done", "pend"]).await;
    assert_eq!(told, "unrecorded none");
    let end: Vec<_> = seen
        .iter()
        .skip_while(|what| !what.starts_with("record"))
        .collect();
    assert_eq!(
        end,
        ["record {\"ok\":true}", "undo", "note unrecorded none"]
    );
}

#[tokio::test]
async fn a_change_that_cannot_be_undone_is_unknown() {
    let (told, _) = one(unrecordable(), "write", &["begin", "done", "pend-badly"]).await;
    assert_eq!(told, "unrecorded unknown");
}

#[tokio::test]
async fn without_a_pending_change_the_mark_decides() {
    for (steps, wanted) in [
        (&[][..], "unrecorded none"),
        (&["begin"], "unrecorded unknown"),
        (&["begin", "done"], "unrecorded done"),
        (&["fail"], "unrecorded none"),
    ] {
        assert_eq!(one(unrecordable(), "write", steps).await.0, wanted);
    }
}
