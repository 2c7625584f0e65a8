//! Calls that are cut: by their deadline, by their caller, by the end of the process.

use crate::fixture::{Station, answer_until, call, told};
use candor_street::CancellationToken;
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(5);

fn limited() -> Station {
    let mut station = Station::new();
    station.deadline = Some(LIMIT);
    station
}

#[tokio::test(start_paused = true)]
async fn past_its_deadline_a_call_without_effect_is_dropped() {
    for name in ["read", "write"] {
        let (dispatcher, seen, go_on, _) = limited().dispatcher();
        let answer = answer_until(
            &dispatcher,
            call(name, &["wait", "begin"]),
            CancellationToken::new(),
        )
        .await;
        assert_eq!(told(&answer), "deadline none");
        go_on.notify_one();
        dispatcher.drain(LIMIT).await;
        assert!(
            seen.all()
                .iter()
                .all(|what| what != "wait" && what != "begin")
        );
        assert_eq!(
            seen.all()
                .iter()
                .filter(|what| what.starts_with("record"))
                .count(),
            1
        );
    }
}

#[tokio::test(start_paused = true)]
async fn past_its_deadline_a_begun_change_goes_on_and_is_recorded_again() {
    let (dispatcher, seen, go_on, _) = limited().dispatcher();
    let answer = answer_until(
        &dispatcher,
        call("write", &["begin", "wait", "done"]),
        CancellationToken::new(),
    )
    .await;
    assert_eq!(told(&answer), "deadline unknown");
    go_on.notify_one();
    dispatcher.drain(LIMIT).await;
    let records: Vec<_> = seen
        .all()
        .into_iter()
        .filter(|what| what.starts_with("record"))
        .collect();
    assert_eq!(
        records,
        ["record deadline unknown", "record {\"ok\":true} follows 7"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_without_effect_is_dropped_and_recorded() {
    let (dispatcher, seen, _, _) = Station::new().dispatcher();
    let cancel = CancellationToken::new();
    let running = tokio::spawn({
        let (dispatcher, cancel) = (Arc::clone(&dispatcher), cancel.clone());
        async move { told(&answer_until(&dispatcher, call("write", &["wait", "begin"]), cancel).await) }
    });
    tokio::task::yield_now().await;
    cancel.cancel();
    assert_eq!(running.await.unwrap(), "cancelled none");
    assert_eq!(seen.all().last().unwrap(), "note cancelled none");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_change_is_carried_to_its_end() {
    let (dispatcher, seen, go_on, _) = Station::new().dispatcher();
    let cancel = CancellationToken::new();
    let running = tokio::spawn({
        let (dispatcher, cancel) = (Arc::clone(&dispatcher), cancel.clone());
        async move {
            told(
                &answer_until(
                    &dispatcher,
                    call("write", &["begin", "wait", "done"]),
                    cancel,
                )
                .await,
            )
        }
    });
    tokio::task::yield_now().await;
    cancel.cancel();
    tokio::task::yield_now().await;
    go_on.notify_one();
    assert_eq!(running.await.unwrap(), "ok");
    assert!(seen.all().contains(&"record {\"ok\":true}".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn at_the_end_of_the_process_running_calls_are_cut_and_recorded() {
    let (dispatcher, seen, _, _) = Station::new().dispatcher();
    let running = tokio::spawn({
        let dispatcher = Arc::clone(&dispatcher);
        async move {
            told(
                &answer_until(
                    &dispatcher,
                    call("read", &["wait"]),
                    CancellationToken::new(),
                )
                .await,
            )
        }
    });
    tokio::task::yield_now().await;
    dispatcher.drain(LIMIT).await;
    assert_eq!(running.await.unwrap(), "cancelled none");
    assert!(seen.all().contains(&"record cancelled none".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_does_not_tear_a_change() {
    let (dispatcher, seen, go_on, _) = Station::new().dispatcher();
    // The transport's own future is dropped; the call runs on.
    let transport = answer_until(
        &dispatcher,
        call("write", &["begin", "wait", "done"]),
        CancellationToken::new(),
    );
    assert!(
        tokio::time::timeout(Duration::from_millis(1), transport)
            .await
            .is_err()
    );
    go_on.notify_one();
    dispatcher.drain(LIMIT).await;
    assert!(seen.all().contains(&"record {\"ok\":true}".to_owned()));
}
