//! Answers that do not arrive, arrive broken, or do not end.

use crate::fixture::http_adapter::{
    create, order, query, request_context, send_request, send_with, settings,
};
use crate::fixture::http_server::{capabilities, start_playing};
use candor_call_fixtures::writing_mark;
use candor_fault::Effect;
use candor_http_client::HttpSetupError;
use candor_orders::http::{AdapterSetupError, HttpAdapter, MAX_BODY};
use candor_orders::{Adapter as _, Failure, FinalFailure, RefusalReason, Response};
use candor_testkit::scripted_http::{ConnectionEvent, ScriptedResponse, ScriptedServer};
use serde_json::json;
use std::sync::Mutex;

fn reason(result: Result<Response, Failure>) -> RefusalReason {
    match result {
        Err(Failure::Final(stands, _)) => match *stands {
            FinalFailure::Refusal(refused) => refused.reason,
            FinalFailure::Violation(wrong) => panic!("{wrong:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn request_that_breaks_after_sending_has_unknown_effect() {
    let whole = json!({ "order": order() }).to_string();
    for played in [
        ScriptedResponse::Part(Vec::new()),
        ScriptedResponse::Part(b"HTTP/1.1 200".to_vec()),
        ScriptedResponse::cut(200, ""),
        ScriptedResponse::cut(200, &whole),
    ] {
        let (result, effect) = send_with(played, &create()).await;
        assert!(
            matches!(result, Err(Failure::Unavailable(None, Some(_)))),
            "{result:?}"
        );
        assert_eq!(effect, Effect::Unknown);
    }
    let (result, effect) = send_with(
        ScriptedResponse::Part(b"SSH-2.0-x\r\n\r\n".to_vec()),
        &create(),
    )
    .await;
    assert_eq!(reason(result), RefusalReason::InvalidAdapterResponse);
    assert_eq!(effect, Effect::Unknown);
}

#[tokio::test]
async fn refused_connection_has_no_effect() {
    let server = start_playing(ScriptedResponse::Part(Vec::new())).await;
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    drop(server);
    // The kept connection may still be there: then the request is lost on it.
    loop {
        let (result, effect) = send_request(&adapter, &create()).await;
        assert!(
            matches!(result, Err(Failure::Unavailable(None, Some(_)))),
            "{result:?}"
        );
        if effect == Effect::None {
            break;
        }
    }
}

#[tokio::test]
async fn unsent_attempt_does_not_undo_an_earlier_one() {
    let played = Mutex::new(vec![
        ScriptedResponse::text(429, "{}"),
        ScriptedResponse::text(503, "{}"),
        ScriptedResponse::text(422, "{}"),
        ScriptedResponse::text(503, "{}"),
    ]);
    let server = ScriptedServer::start(move |request| match request.line().as_str() {
        "GET /v1/capabilities" => ScriptedResponse::json(200, &capabilities()),
        _ => played.lock().unwrap().pop().unwrap(),
    })
    .await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    let request_context = request_context(writing_mark(), Some("k"));
    let mut effects = Vec::new();
    for _ in 0..4 {
        assert!(adapter.call(&create(), &request_context).await.is_err());
        effects.push(request_context.mark.effect());
    }
    // 503, then a final refusal for the key, then 503, then a limit that is not evidence about it.
    let expected = [
        Effect::Unknown,
        Effect::None,
        Effect::Unknown,
        Effect::Unknown,
    ];
    assert_eq!(effects, expected);
}

#[tokio::test]
async fn endless_body_is_read_to_its_bound() {
    let chunked = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    let mut server = start_playing(ScriptedResponse::Endless(chunked.to_vec())).await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    let (result, effect) = send_request(&adapter, &create()).await;
    assert_eq!(reason(result), RefusalReason::InvalidAdapterResponse);
    assert_eq!(effect, Effect::Unknown);
    assert_eq!(server.event().await, ConnectionEvent::Closed);
    // The buffers of the operating system come on top.
    assert!(
        (MAX_BODY..2 * MAX_BODY).contains(&server.endless()),
        "{}",
        server.endless()
    );
}

#[tokio::test]
async fn body_of_two_announced_gigabytes_is_not_read() {
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2147483648\r\n\r\n";
    let mut server = start_playing(ScriptedResponse::Endless(head.to_vec())).await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    let (result, _) = send_request(&adapter, &query()).await;
    assert_eq!(reason(result), RefusalReason::InvalidAdapterResponse);
    assert_eq!(server.event().await, ConnectionEvent::Closed);
    assert!(server.endless() < MAX_BODY, "{}", server.endless());
}

#[tokio::test]
async fn endless_failure_is_read_to_its_bound() {
    let head = b"HTTP/1.1 409 No\r\ncontent-type: application/json\r\n\r\n";
    let mut server = start_playing(ScriptedResponse::Endless(head.to_vec())).await;
    let adapter = HttpAdapter::new(&settings(server.url())).unwrap();
    let (result, effect) = send_request(&adapter, &create()).await;
    assert_eq!(reason(result), RefusalReason::BackendRefused);
    assert_eq!(effect, Effect::None);
    assert_eq!(server.event().await, ConnectionEvent::Closed);
}

#[tokio::test]
async fn dropped_call_closes_its_connection() {
    for begun in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-ty",
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
    ] {
        let mut server = start_playing(ScriptedResponse::Hang(begun.as_bytes().to_vec())).await;
        let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
        let request_context = request_context(writing_mark(), Some("k"));
        let request = create();
        let call = adapter.call(&request, &request_context);
        tokio::select! {
            result = call => panic!("{result:?}"),
            event = server.event() => assert_eq!(event, ConnectionEvent::Hanging),
        }
        assert_eq!(server.event().await, ConnectionEvent::Closed);
        assert_eq!(request_context.mark.effect(), Effect::Unknown);
    }
}

#[tokio::test]
async fn cancelled_call_is_not_sent() {
    let server = start_playing(ScriptedResponse::text(500, "{}")).await;
    let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
    let request_context = request_context(candor_street::EffectMark::read_only(), Some("k"));
    let result = adapter.call(&create(), &request_context).await;
    assert!(matches!(result, Err(Failure::CallStopped(_))));
    assert_eq!(server.lines(), ["GET /v1/capabilities"]);
}

#[tokio::test]
async fn server_without_tls_is_unavailable() {
    let server = start_playing(ScriptedResponse::Part(b"hello".to_vec())).await;
    let url = server.url().replace("http://", "https://");
    match HttpAdapter::new(&settings(url)) {
        Err(error) => assert_eq!(
            error,
            AdapterSetupError::Http(HttpSetupError::NoCertificates)
        ),
        Ok(adapter) => {
            let (result, effect) = send_request(&adapter, &create()).await;
            assert!(matches!(result, Err(Failure::Unavailable(None, Some(_)))));
            assert_eq!(effect, Effect::None);
        }
    }
}
