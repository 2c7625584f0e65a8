//! The time that a peer has: for a head, for a body, between two requests.

use super::{LocalServer, PING, call, is_about, post, refusal};
use candor_wire::http::{BODY_STALL, BODY_TIMEOUT, HEAD_TIMEOUT, IDLE_TIMEOUT};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

const NINE_SECONDS: Duration = Duration::from_secs(9);

#[tokio::test(start_paused = true)]
async fn head_that_takes_too_long_is_answered() {
    let server = LocalServer::plain();
    let mut client = server.connect().await;
    // The time begins with the first byte.
    sleep(IDLE_TIMEOUT / 2).await;
    client.send("POST /mcp HTTP/1.1\r\nHost: ").await;
    let started = Instant::now();
    let response = client.response().await.unwrap();
    assert!(is_about(HEAD_TIMEOUT, started.elapsed()));
    assert_eq!(
        (response.status, response.body),
        (408, refusal("the head took too long"))
    );
    assert!(response.head.contains("connection: close\r\n"));
    assert!(response.head.contains("content-type: application/json\r\n"));
    assert!(client.is_closed().await);
    assert_eq!(
        server
            .metric(r#"candor_http_refusals_total{status="408"}"#)
            .await,
        Some(1)
    );
}

#[tokio::test(start_paused = true)]
async fn byte_every_nine_seconds_does_not_extend_a_head() {
    let server = LocalServer::plain();
    let mut client = server.send("P").await;
    let started = Instant::now();
    sleep(NINE_SECONDS).await;
    client.send("O").await;
    assert_eq!(client.response().await.unwrap().status, 408);
    assert!(is_about(HEAD_TIMEOUT, started.elapsed()));
}

#[tokio::test(start_paused = true)]
async fn head_at_the_limit_of_its_time_is_served() {
    let server = LocalServer::plain();
    let request = post(PING, "");
    let mut client = server.send(&request[..20]).await;
    sleep(HEAD_TIMEOUT - Duration::from_millis(50)).await;
    client.send(&request[20..]).await;
    assert_eq!(client.response().await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn body_without_a_byte_is_refused() {
    let server = LocalServer::plain();
    let request = post(PING, "");
    let mut client = server.send(&request[..request.len() - 5]).await;
    let started = Instant::now();
    let response = client.response().await.unwrap();
    assert!(is_about(BODY_STALL, started.elapsed()));
    assert_eq!(
        (response.status, response.body),
        (408, refusal("the body took too long"))
    );
    assert!(response.head.contains("connection: close\r\n"));
    assert!(client.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn byte_every_nine_seconds_does_not_extend_a_body() {
    let server = LocalServer::plain();
    let request = post(PING, "");
    let (start, rest) = request.split_at(request.len() - 20);
    let mut client = server.send(start).await;
    let started = Instant::now();
    for byte in rest.as_bytes().chunks(1) {
        match timeout(NINE_SECONDS, client.response()).await {
            Err(_) => client.send(byte).await,
            Ok(response) => {
                assert_eq!(response.unwrap().status, 408);
                assert!(is_about(BODY_TIMEOUT, started.elapsed()));
                return;
            }
        }
    }
    panic!("the body was served");
}

#[tokio::test(start_paused = true)]
async fn slow_body_within_its_time_is_served() {
    let server = LocalServer::plain();
    let request = post(PING, "");
    let (start, rest) = request.split_at(request.len() - 6);
    let mut client = server.send(start).await;
    for byte in rest.as_bytes().chunks(1) {
        sleep(NINE_SECONDS).await;
        client.send(byte).await;
    }
    assert_eq!(client.response().await.unwrap().status, 200);
}

/// A connection is closed 60 s after its last answer, whatever that was.
#[tokio::test(start_paused = true)]
async fn idle_connection_is_closed_after_its_last_answer() {
    let server = LocalServer::plain();
    let health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned();
    let refused = "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned();
    let evil = "GET /mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned();
    let unsupported = post(PING, "").replace("application/json", "text/plain");
    for (request, status) in [
        (health, 200),
        (refused, 405),
        (evil, 403),
        (post(PING, ""), 200),
        (unsupported, 415),
        (call("wait", 100), 200),
        (post(r#"{"jsonrpc":"2.0","method":"x"}"#, ""), 202),
    ] {
        let mut client = server.connect().await;
        for _ in 0..2 {
            sleep(IDLE_TIMEOUT - Duration::from_secs(1)).await;
            client.send(&request).await;
            assert_eq!(client.response().await.unwrap().status, status, "{request}");
        }
        let answered = Instant::now();
        assert!(client.is_closed().await);
        assert!(
            is_about(IDLE_TIMEOUT, answered.elapsed()),
            "{request}: {:?}",
            answered.elapsed()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn silent_peer_is_disconnected() {
    let server = LocalServer::plain();
    let mut client = server.connect().await;
    let started = Instant::now();
    assert!(client.is_closed().await);
    assert!(is_about(IDLE_TIMEOUT, started.elapsed()));
}

/// A head that arrived together with the request before it has no first byte of its own.
#[tokio::test(start_paused = true)]
async fn pipelined_part_of_a_head_is_answered_at_the_end_of_the_idle_time() {
    let server = LocalServer::plain();
    let mut client = server.send(post(PING, "") + "POST /mcp").await;
    assert_eq!(client.response().await.unwrap().status, 200);
    let started = Instant::now();
    assert_eq!(client.response().await.unwrap().status, 408);
    assert!(is_about(IDLE_TIMEOUT, started.elapsed()));
}
