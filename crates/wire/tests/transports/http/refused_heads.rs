//! Heads that the HTTP library refuses: each refusal has a body, and nothing of the request is in it.

use super::{LocalServer, PING, post, refusal};
use candor_wire::http::{MAX_FIELDS, MAX_HEAD, MAX_TARGET};

const MALFORMED: &str = "the head is malformed";
const TOO_LARGE: &str = "the head is too large or has too many fields";
const TOO_LONG: &str = "the target is too long";

/// Returns a request with `count` fields.
fn with_fields(count: usize) -> String {
    let usual = 3;
    let more: String = (usual..count).map(|n| format!("X-{n}: y\r\n")).collect();
    post(PING, &more)
}

/// Returns a request whose head has `bytes` bytes.
fn with_head(bytes: usize) -> String {
    let empty = post(PING, "X: \r\n");
    let head = empty.len() - PING.len();
    post(PING, &format!("X: {}\r\n", "y".repeat(bytes - head)))
}

/// Returns a request whose target has `bytes` bytes.
fn with_target(bytes: usize) -> String {
    let target = format!("/mcp?{}", "q".repeat(bytes - 5));
    post(PING, "").replace("/mcp", &target)
}

#[tokio::test]
async fn every_refused_head_has_a_body() {
    let server = LocalServer::plain();
    let two_lengths = post(PING, "Content-Length: 1\r\n");
    let one_length = |value: &str| {
        format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {value}\r\n\r\n")
    };
    let encoded = |value: &str| {
        format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: {value}\r\n\r\n")
    };
    for (request, status, message) in [
        ("canary\r\n\r\n".to_owned(), 400, MALFORMED),
        ("GET\r\n\r\n".to_owned(), 400, MALFORMED),
        ("GET  /canary HTTP/1.1\r\n\r\n".to_owned(), 400, MALFORMED),
        ("\0\0\0\0\r\n\r\n".to_owned(), 400, MALFORMED),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}".to_owned(), 400, MALFORMED),
        (
            "GET /canary\u{1} HTTP/1.1\r\n\r\n".to_owned(),
            400,
            MALFORMED,
        ),
        ("GET / HTTP/7.3\r\n\r\n".to_owned(), 400, MALFORMED),
        ("GET / HTTP/1.2\r\n\r\n".to_owned(), 400, MALFORMED),
        ("GET / canary/1.1\r\n\r\n".to_owned(), 400, MALFORMED),
        (
            "GET / HTTP/1.1\r\ncanary\r\n\r\n".to_owned(),
            400,
            MALFORMED,
        ),
        (
            "GET / HTTP/1.1\r\na b: c\r\n\r\n".to_owned(),
            400,
            MALFORMED,
        ),
        ("GET / HTTP/1.1\r\na: \0\r\n\r\n".to_owned(), 400, MALFORMED),
        (
            "GET http://[canary/ HTTP/1.1\r\n\r\n".to_owned(),
            400,
            MALFORMED,
        ),
        (two_lengths, 400, MALFORMED),
        (one_length("-1"), 400, MALFORMED),
        (one_length("canary"), 400, MALFORMED),
        (one_length("99999999999999999999"), 400, MALFORMED),
        (encoded("canary"), 400, MALFORMED),
        (encoded("chunked, gzip"), 400, MALFORMED),
        (
            encoded("chunked").replace("HTTP/1.1", "HTTP/1.0"),
            400,
            MALFORMED,
        ),
        (with_fields(MAX_FIELDS + 1), 431, TOO_LARGE),
        (with_fields(500), 431, TOO_LARGE),
        (with_head(MAX_HEAD + 1), 431, TOO_LARGE),
        (with_head(2 * 1024 * 1024), 431, TOO_LARGE),
        (with_target(MAX_TARGET + 1), 414, TOO_LONG),
        (with_target(60_000), 414, TOO_LONG),
        (with_target(1_000_000), 414, TOO_LONG),
        (
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
            505,
            "only HTTP/1.1 and HTTP/1.0 are served here",
        ),
    ] {
        let begin: String = request.chars().take(60).collect();
        let mut client = server.connect().await;
        client.send(&request).await;
        let response = client.response().await.unwrap();
        assert_eq!(
            (response.status, response.body),
            (status, refusal(message)),
            "{begin:?}"
        );
        let head = response.head.to_ascii_lowercase();
        assert!(
            head.contains("content-type: application/json\r\n"),
            "{head}"
        );
        assert!(head.contains("connection: close\r\n"), "{head}");
        assert!(!head.contains("canary"), "{head}");
        assert!(client.is_closed().await, "{begin:?}");
    }
}

#[tokio::test]
async fn heads_at_the_limits_are_served() {
    let server = LocalServer::plain();
    for request in [
        with_fields(MAX_FIELDS),
        with_head(MAX_HEAD),
        with_target(MAX_TARGET),
        // An empty line before a request is skipped.
        "\r\n".to_owned() + &post(PING, ""),
    ] {
        let response = server.send(&request).await.response().await.unwrap();
        assert_eq!(response.status, 200, "{}", response.body);
    }
}

/// A broken head after a good request, in one piece: both are answered, in order.
#[tokio::test]
async fn good_request_before_a_broken_head_is_answered() {
    let server = LocalServer::plain();
    let mut client = server.send(post(PING, "") + "canary\r\n\r\n").await;
    assert_eq!(client.response().await.unwrap().status, 200);
    let response = client.response().await.unwrap();
    assert_eq!((response.status, response.body), (400, refusal(MALFORMED)));
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn refusals_are_counted_by_status() {
    let server = LocalServer::plain();
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    for (request, status) in [
        ("canary\r\n\r\n".to_owned(), 400),
        (get("/mcp"), 405),
        (get("/mcp").replace("GET", "DELETE"), 405),
        (get("/nothing"), 404),
        (get("/"), 404),
        (get("/mcp").replace("localhost", "evil.example"), 403),
        (get("/health").replace("localhost", "evil.example"), 403),
        (
            post(PING, "").replace("application/json", "text/plain"),
            415,
        ),
        (
            post(PING, "Content-Length: 10485761\r\n").replacen("Content-Length: 40\r\n", "", 1),
            413,
        ),
        (with_fields(MAX_FIELDS + 1), 431),
        (with_target(MAX_TARGET + 1), 414),
        (post(PING, ""), 200),
        (post("{", ""), 400),
    ] {
        let response = server.send(&request).await.response().await.unwrap();
        assert_eq!(response.status, status, "{request}");
    }
    for (status, count) in [
        // The message that was read and refused is not among them.
        (400, Some(1)),
        (403, Some(2)),
        (404, Some(2)),
        (405, Some(2)),
        (413, Some(1)),
        (414, Some(1)),
        (415, Some(1)),
        (431, Some(1)),
        (200, None),
    ] {
        let name = format!(r#"candor_http_refusals_total{{status="{status}"}}"#);
        assert_eq!(server.metric(&name).await, count, "{status}");
    }
    let refused = server.metric(r#"candor_calls_total{tool="",code="-32600"}"#);
    assert_eq!(refused.await, None, "they are not calls");
}
