//! Calls that are interrupted by their deadline, their caller or the end of the process.

use crate::fixture::{RecordingServer, answer_until, call, describe_answer};
use candor_street::CancellationToken;
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(5);

fn server_with_deadline() -> RecordingServer {
    let mut server = RecordingServer::new();
    server.deadline = Some(LIMIT);
    server
}

#[tokio::test(start_paused = true)]
async fn call_without_effect_is_dropped_at_its_deadline() {
    for name in ["read", "write"] {
        let (dispatcher, events, resume, _) = server_with_deadline().dispatcher();
        let answer = answer_until(
            &dispatcher,
            call(name, &["wait", "begin"]),
            CancellationToken::new(),
        )
        .await;
        assert_eq!(describe_answer(&answer), "deadline none");
        resume.notify_one();
        dispatcher.drain(LIMIT).await;
        assert!(
            events
                .all()
                .iter()
                .all(|event| event != "wait" && event != "begin")
        );
        assert_eq!(
            events
                .all()
                .iter()
                .filter(|event| event.starts_with("record"))
                .count(),
            1
        );
    }
}

#[tokio::test(start_paused = true)]
async fn change_that_has_begun_outlives_its_deadline_and_is_recorded_twice() {
    let (dispatcher, events, resume, _) = server_with_deadline().dispatcher();
    let answer = answer_until(
        &dispatcher,
        call("write", &["begin", "wait", "done"]),
        CancellationToken::new(),
    )
    .await;
    assert_eq!(describe_answer(&answer), "deadline unknown");
    resume.notify_one();
    dispatcher.drain(LIMIT).await;
    let records: Vec<_> = events
        .all()
        .into_iter()
        .filter(|event| event.starts_with("record"))
        .collect();
    assert_eq!(
        records,
        ["record deadline unknown", "record {\"ok\":true} follows 7"]
    );
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_without_effect_is_dropped_and_recorded() {
    let (dispatcher, events, _, _) = RecordingServer::new().dispatcher();
    let cancel = CancellationToken::new();
    let running = tokio::spawn({
        let (dispatcher, cancel) = (Arc::clone(&dispatcher), cancel.clone());
        async move {
            describe_answer(
                &answer_until(&dispatcher, call("write", &["wait", "begin"]), cancel).await,
            )
        }
    });
    tokio::task::yield_now().await;
    cancel.cancel();
    assert_eq!(running.await.unwrap(), "cancelled none");
    assert_eq!(events.all().last().unwrap(), "note cancelled none");
}

#[tokio::test(start_paused = true)]
async fn cancelled_change_is_completed() {
    let (dispatcher, events, resume, _) = RecordingServer::new().dispatcher();
    let cancel = CancellationToken::new();
    let running = tokio::spawn({
        let (dispatcher, cancel) = (Arc::clone(&dispatcher), cancel.clone());
        async move {
            describe_answer(
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
    resume.notify_one();
    assert_eq!(running.await.unwrap(), "ok");
    assert!(events.all().contains(&"record {\"ok\":true}".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn running_calls_are_interrupted_and_recorded_when_the_process_ends() {
    let (dispatcher, events, _, _) = RecordingServer::new().dispatcher();
    let running = tokio::spawn({
        let dispatcher = Arc::clone(&dispatcher);
        async move {
            describe_answer(
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
    assert!(events.all().contains(&"record cancelled none".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn change_is_completed_after_its_caller_disconnects() {
    let (dispatcher, events, resume, _) = RecordingServer::new().dispatcher();
    // The transport's future is dropped; the call continues.
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
    resume.notify_one();
    dispatcher.drain(LIMIT).await;
    assert!(events.all().contains(&"record {\"ok\":true}".to_owned()));
}
