//! Requests in work and open connections, at their limits and beyond.

use super::{AT_CAPACITY, Client, LocalServer, PING, call, is_about, post};
use candor_wire::http::{MAX_REQUESTS, MIN_EVICTION_AGE, REQUEST_WAIT};
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, sleep, timeout};

const HEALTH: &str = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// 600 calls of 15 s: 512 run, the others are refused after 10 s, and none is lost.
#[tokio::test(start_paused = true)]
async fn calls_beyond_the_limit_are_refused_after_their_wait() {
    const CALLS: usize = 600;
    let server = LocalServer::plain();
    let started = Instant::now();
    let mut clients = Vec::new();
    for _ in 0..CALLS {
        clients.push(server.send(call("wait", 15)).await);
    }
    // Paths that are not servers need no place.
    let mut health = server.send(HEALTH).await;
    assert_eq!(health.response().await.unwrap().status, 200);
    assert_eq!(
        server.metric(r#"candor_connections{state="busy"}"#).await,
        Some(601)
    );
    assert!(started.elapsed() < Duration::from_secs(1));
    let mut served = 0;
    let mut refused = 0;
    for client in &mut clients {
        let response = client.response().await.unwrap();
        match response.status {
            200 => {
                served += 1;
                assert!(
                    response.body.contains(r#""waited":15"#),
                    "{}",
                    response.body
                );
            }
            status => {
                refused += 1;
                assert_eq!(status, 503);
                assert!(
                    response.head.contains("retry-after: 1\r\n"),
                    "{}",
                    response.head
                );
                let expected = format!(r#"{{"jsonrpc":"2.0","id":1,{AT_CAPACITY}"#);
                assert_eq!(response.body, expected);
            }
        }
        assert_eq!(health_status(&mut health).await, 200);
    }
    println!("{CALLS} calls of 15 s: {served} served, {refused} refused");
    assert_eq!((served, refused), (MAX_REQUESTS, CALLS - MAX_REQUESTS));
    assert!(is_about(Duration::from_secs(15), started.elapsed()));
}

async fn health_status(client: &mut Client) -> u16 {
    client.send(HEALTH).await;
    client.response().await.unwrap().status
}

/// One more than the limit waits, and is served when another one is answered within its time.
#[tokio::test(start_paused = true)]
async fn call_at_the_limit_is_served() {
    let server = LocalServer::plain();
    let mut running = Vec::new();
    for _ in 1..MAX_REQUESTS {
        running.push(server.send(call("wait", 100)).await);
    }
    let mut last = server.send(call("wait", 1)).await;
    assert_eq!(last.response().await.unwrap().status, 200);
    let mut short = server.send(call("wait", 9)).await;
    let mut waiting = server.send(post(PING, "")).await;
    let started = Instant::now();
    assert_eq!(waiting.response().await.unwrap().status, 200);
    assert!(is_about(Duration::from_secs(9), started.elapsed()));
    assert_eq!(short.response().await.unwrap().status, 200);
    // The place of a call whose connection is lost is free when the call ends, and not before.
    let lost = server.send(call("wait", 11)).await;
    sleep(Duration::from_millis(100)).await;
    lost.reset();
    let started = Instant::now();
    let mut refused = server.send(post(PING, "")).await;
    assert_eq!(refused.response().await.unwrap().status, 503);
    assert!(is_about(REQUEST_WAIT, started.elapsed()));
    let mut served = server.send(post(PING, "")).await;
    assert_eq!(served.response().await.unwrap().status, 200);
    // A notification has no answer, so it cannot be refused.
    let mut full = server.send(call("wait", 100)).await;
    let mut notification = server
        .send(post(r#"{"jsonrpc":"2.0","method":"x"}"#, ""))
        .await;
    assert_eq!(notification.response().await.unwrap().status, 202);
    for client in &mut running {
        assert_eq!(client.response().await.unwrap().status, 200);
    }
    assert_eq!(full.response().await.unwrap().status, 200);
}

/// Idle connections are closed for newcomers, the longest idle first; calls and event streams are not.
#[tokio::test(start_paused = true)]
async fn newcomer_evicts_the_longest_idle_connection() {
    let server = LocalServer::start(None, |paths| paths.with_max_connections(4));
    let mut first = server.send(HEALTH).await;
    assert_eq!(first.response().await.unwrap().status, 200);
    sleep(Duration::from_secs(1)).await;
    let mut second = server.send(HEALTH).await;
    assert_eq!(second.response().await.unwrap().status, 200);
    let mut running = server.send(call("wait", 30)).await;
    sleep(Duration::from_secs(1)).await;
    // The first one is used again, so the second one is the longest idle.
    assert_eq!(health_status(&mut first).await, 200);
    let mut fourth = server.send(HEALTH).await;
    assert_eq!(fourth.response().await.unwrap().status, 200);
    let mut newcomer = server.send(HEALTH).await;
    assert_eq!(newcomer.response().await.unwrap().status, 200);
    assert!(second.is_closed().await);
    assert_eq!(health_status(&mut first).await, 200);
    assert_eq!(running.response().await.unwrap().status, 200);
    drop((first, fourth, newcomer));
    let evicted = server.metric(r#"candor_connections_evicted_total{state="idle"}"#);
    assert_eq!(evicted.await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn connection_with_a_token_outlives_those_without() {
    let server = LocalServer::start(Some("t"), |paths| paths.with_max_connections(3));
    let admitted = post(PING, "Authorization: Bearer t\r\n");
    let mut own = server.send(&admitted).await;
    assert_eq!(own.response().await.unwrap().status, 200);
    sleep(Duration::from_secs(1)).await;
    let mut wrong = server.send(post(PING, "Authorization: Bearer x\r\n")).await;
    assert_eq!(wrong.response().await.unwrap().status, 401);
    let mut head = server.send("POST /mcp").await;
    sleep(MIN_EVICTION_AGE).await;
    let mut newcomers = Vec::new();
    for evicted in [&mut wrong, &mut head] {
        let mut newcomer = server.send(&admitted).await;
        assert_eq!(newcomer.response().await.unwrap().status, 200);
        newcomers.push(newcomer);
        assert!(evicted.is_closed().await);
    }
    own.send(&admitted).await;
    assert_eq!(own.response().await.unwrap().status, 200);
    sleep(Duration::from_secs(1)).await;
    // Only connections with a token are left: the longest idle one is closed.
    let mut last = server.send(&admitted).await;
    assert_eq!(last.response().await.unwrap().status, 200);
    assert!(newcomers[0].is_closed().await);
}

/// The size of the buffers of a connection whose peer does not read.
const SMALL_BUFFER: u32 = 4096;

/// Sends requests without reading their answers until the server reads no more.
async fn send_unread(server: &LocalServer, request: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(SMALL_BUFFER).unwrap();
    socket.set_send_buffer_size(SMALL_BUFFER).unwrap();
    let stream = socket.connect(server.address).await.unwrap();
    let many = request.repeat(50);
    let mut sent = 0;
    // The server goes on while this task waits.
    while let Ok(Ok(())) = timeout(Duration::from_millis(10), stream.writable()).await {
        let rest = &many.as_bytes()[sent..];
        if let Ok(count) = stream.try_write(rest) {
            sent = (sent + count) % many.len();
        }
    }
    stream
}

/// Peers without a token that read nothing make room for a newcomer; a peer with a token may take its time.
#[tokio::test(start_paused = true)]
async fn unread_answers_without_a_token_make_room() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(SMALL_BUFFER).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(8).unwrap();
    let server = LocalServer::start_on(listener, Some("t"), |paths| paths.with_max_connections(4));
    let admitted = post(PING, "Authorization: Bearer t\r\n");
    let own = send_unread(&server, &admitted).await;
    let _first = send_unread(&server, HEALTH).await;
    sleep(MIN_EVICTION_AGE).await;
    let _second = send_unread(&server, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let mut running = server
        .send(call("wait", 30).replacen("Host", "Authorization: Bearer t\r\nHost", 1))
        .await;
    sleep(MIN_EVICTION_AGE).await;
    let started = Instant::now();
    let mut newcomers = Vec::new();
    for count in 1..=2 {
        let mut newcomer = server.send(&admitted).await;
        assert_eq!(newcomer.response().await.unwrap().status, 200);
        newcomer
            .send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\n\r\n")
            .await;
        let metrics = newcomer.response().await.unwrap().body;
        for line in [
            format!("candor_connections_evicted_total{{state=\"unread\"}} {count}\n"),
            format!("candor_connections{{state=\"unread\"}} {}\n", 2 - count),
        ] {
            assert!(metrics.contains(&line), "{line}{metrics}");
        }
        newcomers.push(newcomer);
    }
    assert!(started.elapsed() < Duration::from_secs(1));
    assert_eq!(running.response().await.unwrap().status, 200);
    // The peer with a token can still read.
    let mut answer = [0; 15];
    own.readable().await.unwrap();
    assert_eq!(own.try_read(&mut answer).unwrap(), 15);
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
}

/// If no connection may be closed, newcomers wait until one may.
#[tokio::test(start_paused = true)]
async fn newcomer_waits_if_all_connections_are_busy() {
    let server = LocalServer::start(None, |paths| paths.with_max_connections(2));
    let mut running = [
        server.send(call("wait", 30)).await,
        server.send(call("wait", 40)).await,
    ];
    sleep(Duration::from_secs(1)).await;
    let started = Instant::now();
    let mut newcomer = server.send(HEALTH).await;
    assert_eq!(newcomer.response().await.unwrap().status, 200);
    assert!(started.elapsed() >= Duration::from_secs(29));
    assert!(started.elapsed() < Duration::from_secs(30));
    for client in &mut running {
        assert_eq!(client.response().await.unwrap().status, 200);
    }
}
