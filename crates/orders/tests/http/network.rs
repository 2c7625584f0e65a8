//! Answers that do not come, come broken, or do not end.

use crate::marks;
use crate::scripted::{Event, Play, Scripted, capabilities};
use crate::stage::{asked, create, order, played, query, settings, turn};
use candor_fault::Effect;
use candor_http_client::HttpSetupError;
use candor_orders::http::{BODY_MAX, HttpAdapter, SetupError};
use candor_orders::{Adapter as _, Failure, FinalFailure, RefusalReason, Response};
use serde_json::json;
use std::sync::Mutex;

fn reason(done: Result<Response, Failure>) -> RefusalReason {
    match done {
        Err(Failure::Final(stands, _)) => match *stands {
            FinalFailure::Refusal(refused) => refused.reason,
            FinalFailure::Violation(wrong) => panic!("{wrong:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_breaks_after_it_was_sent_has_an_unknown_effect() {
    let whole = json!({ "order": order() }).to_string();
    for play in [
        Play::Part(Vec::new()),
        Play::Part(b"HTTP/1.1 200".to_vec()),
        Play::cut(200, ""),
        Play::cut(200, &whole),
    ] {
        let (done, effect) = played(play, &create()).await;
        assert!(
            matches!(done, Err(Failure::Unavailable(None, Some(_)))),
            "{done:?}"
        );
        assert_eq!(effect, Effect::Unknown);
    }
    let (done, effect) = played(Play::Part(b"SSH-2.0-x\r\n\r\n".to_vec()), &create()).await;
    assert_eq!(reason(done), RefusalReason::InvalidAdapterResponse);
    assert_eq!(effect, Effect::Unknown);
}

#[tokio::test]
async fn a_refused_connection_has_changed_nothing() {
    let server = Scripted::playing(Play::Part(Vec::new())).await;
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    drop(server);
    // The kept connection may still be there: then the request is lost on it.
    loop {
        let (done, effect) = asked(&adapter, &create()).await;
        assert!(
            matches!(done, Err(Failure::Unavailable(None, Some(_)))),
            "{done:?}"
        );
        if effect == Effect::None {
            break;
        }
    }
}

#[tokio::test]
async fn an_earlier_attempt_is_not_taken_back_by_one_that_did_not_come_through() {
    let plays = Mutex::new(vec![
        Play::text(429, "{}"),
        Play::text(503, "{}"),
        Play::text(422, "{}"),
        Play::text(503, "{}"),
    ]);
    let server = Scripted::start(move |request| match request.line.as_str() {
        "GET /v1/capabilities" => Play::json(200, &capabilities()),
        _ => plays.lock().unwrap().pop().unwrap(),
    })
    .await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    let turn = turn(marks::writing(), Some("k"));
    let mut effects = Vec::new();
    for _ in 0..4 {
        assert!(adapter.call(&create(), &turn).await.is_err());
        effects.push(turn.mark.effect());
    }
    // 503, then a final no for the key, then 503, then a limit that says nothing about it.
    let expected = [
        Effect::Unknown,
        Effect::None,
        Effect::Unknown,
        Effect::Unknown,
    ];
    assert_eq!(effects, expected);
}

#[tokio::test]
async fn a_body_without_end_is_read_to_its_bound() {
    let chunked = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    let mut server = Scripted::playing(Play::Endless(chunked.to_vec())).await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    let (done, effect) = asked(&adapter, &create()).await;
    assert_eq!(reason(done), RefusalReason::InvalidAdapterResponse);
    assert_eq!(effect, Effect::Unknown);
    assert_eq!(server.event().await, Event::Closed);
    // What the system keeps between two programs comes on top.
    assert!(
        (BODY_MAX..2 * BODY_MAX).contains(&server.endless()),
        "{}",
        server.endless()
    );
}

#[tokio::test]
async fn a_body_that_announces_two_gigabytes_is_not_read() {
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2147483648\r\n\r\n";
    let mut server = Scripted::playing(Play::Endless(head.to_vec())).await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    let (done, _) = asked(&adapter, &query()).await;
    assert_eq!(reason(done), RefusalReason::InvalidAdapterResponse);
    assert_eq!(server.event().await, Event::Closed);
    assert!(server.endless() < BODY_MAX, "{}", server.endless());
}

#[tokio::test]
async fn a_failure_without_end_is_read_to_its_bound() {
    let head = b"HTTP/1.1 409 No\r\ncontent-type: application/json\r\n\r\n";
    let mut server = Scripted::playing(Play::Endless(head.to_vec())).await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    let (done, effect) = asked(&adapter, &create()).await;
    assert_eq!(reason(done), RefusalReason::BackendRefused);
    assert_eq!(effect, Effect::None);
    assert_eq!(server.event().await, Event::Closed);
}

#[tokio::test]
async fn a_dropped_call_closes_its_connection() {
    for begun in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-ty",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
    ] {
        let mut server = Scripted::playing(Play::Hang(begun.as_bytes().to_vec())).await;
        let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
        let turn = turn(marks::writing(), Some("k"));
        let request = create();
        let call = adapter.call(&request, &turn);
        tokio::select! {
            done = call => panic!("{done:?}"),
            event = server.event() => assert_eq!(event, Event::Hanging),
        }
        assert_eq!(server.event().await, Event::Closed);
        assert_eq!(turn.mark.effect(), Effect::Unknown);
    }
}

#[tokio::test]
async fn what_was_stopped_is_not_sent() {
    let server = Scripted::playing(Play::text(500, "{}")).await;
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    let turn = turn(candor_street::EffectMark::read_only(), Some("k"));
    let done = adapter.call(&create(), &turn).await;
    assert!(matches!(done, Err(Failure::CallStopped(_))));
    assert_eq!(server.lines(), ["GET /v1/capabilities"]);
}

#[tokio::test]
async fn nobody_speaks_tls_where_it_is_expected() {
    let server = Scripted::playing(Play::Part(b"hello".to_vec())).await;
    let url = server.url().replace("http://", "https://");
    match HttpAdapter::new(&settings(url)) {
        Err(error) => assert_eq!(error, SetupError::Http(HttpSetupError::NoCertificates)),
        Ok(adapter) => {
            let (done, effect) = asked(&adapter, &create()).await;
            assert!(matches!(done, Err(Failure::Unavailable(None, Some(_)))));
            assert_eq!(effect, Effect::None);
        }
    }
}
