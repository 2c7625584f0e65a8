//! Peers that end their input, or reset the connection, while a call runs.

use super::{LocalServer, PING, call, is_about, parse, post, refusal, stateless_call};
use candor_wire::http::HANGUP_GRACE;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Much longer than a call may run after the end of the input.
const LONG: u64 = 3600;

#[tokio::test(start_paused = true)]
async fn half_closed_call_of_the_handshake_era_is_answered() {
    let server = LocalServer::plain();
    for tool in ["wait", "change"] {
        let mut client = server.send(call(tool, LONG)).await;
        client.half_close().await;
        let started = Instant::now();
        let response = client.response().await.unwrap();
        assert_eq!(response.status, 200);
        assert!(parse(&response.body)["result"]["isError"].is_null());
        assert!(started.elapsed() >= Duration::from_secs(LONG));
        assert!(client.is_closed().await);
    }
    assert_eq!(server.changes(), 1);
}

#[tokio::test(start_paused = true)]
async fn pipelined_requests_are_answered_in_order() {
    let server = LocalServer::plain();
    let second = post(PING, "").replace(r#""id":1"#, r#""id":2"#);
    for first in [call("wait", 5), stateless_call("wait", 1, "")] {
        let mut client = server.send(first + &second + &second).await;
        client.half_close().await;
        for id in [1, 2, 2] {
            let response = client.response().await.unwrap();
            assert_eq!(parse(&response.body)["id"], id);
            assert!(parse(&response.body)["result"]["isError"].is_null());
        }
        assert!(client.is_closed().await);
    }
}

#[tokio::test(start_paused = true)]
async fn reading_call_of_the_stateless_era_is_cancelled_after_the_grace() {
    let server = LocalServer::plain();
    let mut client = server.send(stateless_call("wait", LONG, "")).await;
    sleep(Duration::from_secs(30)).await;
    client.half_close().await;
    let started = Instant::now();
    let response = client.response().await.unwrap();
    assert!(is_about(HANGUP_GRACE, started.elapsed()));
    let error = &parse(&response.body)["result"]["structuredContent"]["error"];
    assert_eq!(error["code"], "cancelled", "{}", response.body);
    assert_eq!(error["fault"]["effect"], "none", "{}", response.body);
    assert!(client.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn call_that_ends_within_the_grace_is_answered() {
    let server = LocalServer::plain();
    let mut client = server.send(stateless_call("wait", 1, "")).await;
    client.half_close().await;
    let response = client.response().await.unwrap();
    let result = &parse(&response.body)["result"]["structuredContent"];
    assert_eq!(result["waited"], 1, "{}", response.body);
}

/// The end of the input is seen although a whole request waits before it.
#[tokio::test(start_paused = true)]
async fn end_behind_a_pipelined_request_cancels_too() {
    let server = LocalServer::plain();
    let both = stateless_call("wait", LONG, "") + &post(PING, "");
    let mut client = server.send(both).await;
    client.half_close().await;
    let started = Instant::now();
    let cancelled = client.response().await.unwrap();
    assert!(cancelled.body.contains("cancelled"), "{}", cancelled.body);
    assert!(is_about(HANGUP_GRACE, started.elapsed()));
    assert_eq!(client.response().await.unwrap().status, 200);
    assert!(client.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn writing_call_of_the_stateless_era_is_carried_to_its_end() {
    let server = LocalServer::plain();
    let mut client = server.send(stateless_call("change", LONG, "")).await;
    client.half_close().await;
    let response = client.response().await.unwrap();
    assert!(
        response.body.contains(r#""changed":true"#),
        "{}",
        response.body
    );
    assert_eq!(server.changes(), 1);
}

#[tokio::test(start_paused = true)]
async fn event_stream_of_a_half_closed_peer_ends_with_the_failure() {
    let server = LocalServer::plain();
    let accept = "Accept: text/event-stream\r\n";
    let mut client = server.send(stateless_call("wait", LONG, accept)).await;
    client.half_close().await;
    let started = Instant::now();
    let response = client.response().await.unwrap();
    assert!(is_about(HANGUP_GRACE, started.elapsed()));
    assert!(
        response.body.contains("notifications/progress"),
        "{}",
        response.body
    );
    assert!(
        response.body.contains(r#""code":"cancelled""#),
        "{}",
        response.body
    );
    assert!(client.is_closed().await);
}

/// A reset cancels at once, but only in the stateless era.
#[tokio::test(start_paused = true)]
async fn reset_cancels_a_call_of_the_stateless_era_at_once() {
    let server = LocalServer::plain();
    let cancelled = r#"candor_calls_total{tool="wait",code="cancelled"}"#;
    let accept = "Accept: text/event-stream\r\n";
    for (count, headers) in ["", accept].into_iter().enumerate() {
        let client = server.send(stateless_call("wait", LONG, headers)).await;
        sleep(Duration::from_secs(1)).await;
        let started = Instant::now();
        client.reset();
        while server.metric(cancelled).await != Some(count as u64 + 1) {
            assert!(started.elapsed() < Duration::from_secs(1));
        }
    }
    let client = server.send(stateless_call("change", LONG, "")).await;
    sleep(Duration::from_secs(1)).await;
    client.reset();
    let cancelled = r#"candor_calls_total{tool="change",code="cancelled"}"#;
    while server.metric(cancelled).await != Some(1) {}
    assert_eq!(server.changes(), 0, "its effect had not begun");
    let client = server.send(call("change", LONG)).await;
    sleep(Duration::from_secs(1)).await;
    client.reset();
    sleep(Duration::from_secs(LONG)).await;
    assert_eq!(server.changes(), 1);
}

#[tokio::test(start_paused = true)]
async fn end_inside_a_request_is_answered_and_runs_nothing() {
    let server = LocalServer::plain();
    let whole = call("change", 0);
    let body_start = whole.find("\r\n\r\n").unwrap() + 4;
    let chunked = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    for end in 1..whole.len() {
        let mut client = server.send(&whole[..end]).await;
        client.half_close().await;
        let response = client.response().await.unwrap();
        let part = if end < body_start { "head" } else { "body" };
        let expected = refusal(&format!("the {part} ended early"));
        assert_eq!((response.status, response.body), (400, expected), "{end}");
        assert!(client.is_closed().await);
    }
    for cut in ["", "5", "5\r\n", "5\r\n{", "1\r\n{\r\n", "1\r\n{\r\n0\r\n"] {
        let mut client = server.send(chunked.to_owned() + cut).await;
        client.half_close().await;
        let response = client.response().await.unwrap();
        let expected = refusal("the body ended early");
        assert_eq!((response.status, response.body), (400, expected), "{cut:?}");
    }
    assert_eq!(server.changes(), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_answered_if_nothing_was_asked() {
    let server = LocalServer::plain();
    for input in ["", "\r\n", "\r\n\r\n"] {
        let mut client = server.send(input).await;
        client.half_close().await;
        assert_eq!(client.response().await, None, "{input:?}");
    }
    let mut client = server.send(post(PING, "Connection: close\r\n")).await;
    client.half_close().await;
    assert_eq!(client.response().await.unwrap().status, 200);
    assert!(client.is_closed().await);
}
