//! Admission over HTTP: hosts, origins, tokens, the order of the checks, and their answers.

use crate::fixture::CANDOR;
use crate::requests::parse;
use crate::wire::answers::{error, result};
use crate::wire::fixture::http;
use candor_testkit::RawResponse;
use std::fs;
use tempfile::TempDir;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// A token that must appear in no output.
const CANARY: &str = "canary-3f9a";

fn pong() -> (u16, String) {
    (200, result("1", "{}"))
}

fn refusal(status: u16, reason: &str) -> (u16, String) {
    let message = format!("Invalid Request: {reason}");
    (status, error("null", -32600, &message))
}

/// Status and body; every refusal is JSON.
fn status_and_body(response: RawResponse) -> (u16, String) {
    if response.status != 202 {
        assert_eq!(response.header("content-type"), Some("application/json"));
    }
    (response.status, response.text())
}

/// A file with a token.
fn token() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, format!("  {CANARY}\n")).unwrap();
    let path = file.to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn unknown_hosts_are_refused() {
    let server = http(&[]);
    let address = server.address().to_string();
    for host in [
        address.as_str(),
        "localhost",
        "LocalHost:1",
        "localhost.",
        "127.0.0.1",
        "127.0.0.1:65535",
        "[::1]",
        "[::1]:80",
        " 127.0.0.1 ",
    ] {
        assert_eq!(
            status_and_body(server.post(PING, &[("Host", host)])),
            pong(),
            "{host}"
        );
    }
    let stranger = refusal(
        403,
        "the Host header names another server; see --allowed-host",
    );
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "evil.example:80",
        "0.0.0.0",
        "127.0.0.2",
        "::1",
        "[::2]",
        "[::1].evil.example",
        "[::1]evil:80",
        "localhost:evil",
        "localhost:80:evil",
        "localhost:1@evil.example",
        "user@localhost",
        "",
    ] {
        assert_eq!(
            status_and_body(server.post(PING, &[("Host", host)])),
            stranger,
            "{host}"
        );
    }
    let missing = refusal(403, "the Host header is missing");
    let twice = [("Host", "localhost"), ("Host", "localhost")];
    assert_eq!(status_and_body(server.post(PING, &twice)), missing);
    let bare = format!(
        "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{PING}",
        PING.len()
    );
    assert_eq!(status_and_body(server.raw(bare)), missing);
}

#[test]
fn unknown_origins_are_refused() {
    let server = http(&[]);
    for origin in [
        "http://localhost",
        "http://localhost:3000",
        "https://127.0.0.1:8443",
        "http://[::1]:1",
    ] {
        assert_eq!(
            status_and_body(server.post(PING, &[("Origin", origin)])),
            pong(),
            "{origin}"
        );
    }
    let stranger = refusal(
        403,
        "the Origin header names another site; see --allowed-origin",
    );
    for origin in [
        "http://evil.example",
        "https://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "null",
        "",
        "file://",
        "localhost",
        "http://localhost:80@evil.example",
        "http://[::1].evil.example",
        "http://evil.example/http://localhost",
        "ftp://localhost",
    ] {
        assert_eq!(
            status_and_body(server.post(PING, &[("Origin", origin)])),
            stranger,
            "{origin}"
        );
    }
    for twice in [
        ["http://localhost", "http://evil.example"],
        ["http://evil.example", "http://localhost"],
    ] {
        let headers = twice.map(|origin| ("Origin", origin));
        assert_eq!(
            status_and_body(server.post(PING, &headers)),
            stranger,
            "{twice:?}"
        );
    }
}

#[test]
fn more_hosts_and_origins_can_be_allowed() {
    let server = http(&[
        "--allowed-host",
        "tools.example",
        "--allowed-host",
        "other.example:99",
        "--allowed-origin",
        "https://app.example",
    ]);
    for host in [
        "tools.example",
        "TOOLS.example:443",
        "other.example:99",
        "localhost",
    ] {
        assert_eq!(
            status_and_body(server.post(PING, &[("Host", host)])),
            pong(),
            "{host}"
        );
    }
    for host in [
        "other.example",
        "other.example:98",
        "sub.tools.example",
        "app.example",
    ] {
        assert_eq!(server.post(PING, &[("Host", host)]).status, 403, "{host}");
    }
    assert_eq!(
        status_and_body(server.post(PING, &[("Origin", "https://app.example")])),
        pong()
    );
    for origin in [
        "http://app.example",
        "https://app.example:8443",
        "https://app.example.evil.example",
    ] {
        assert_eq!(
            server.post(PING, &[("Origin", origin)]).status,
            403,
            "{origin}"
        );
    }
}

#[test]
fn token_is_needed_for_everything_but_health() {
    let (_folder, file) = token();
    let mut server = http(&["--bearer-file", &file]);
    let expected = refusal(401, "a bearer token is required");
    let right = format!("Bearer {CANARY}");
    for wrong in [
        None,
        Some("Bearer"),
        Some("Bearer "),
        Some("Bearer wrong"),
        Some("Bearer canary-3f9"),
        Some("Bearer canary-3f9aa"),
        Some("Bearer CANARY-3F9A"),
        Some("Basic canary-3f9a"),
        Some("canary-3f9a"),
    ] {
        let headers: Vec<_> = wrong
            .map(|authorization| ("Authorization", authorization))
            .into_iter()
            .collect();
        let response = server.post(PING, &headers);
        assert_eq!(
            response.header("www-authenticate"),
            Some("Bearer"),
            "{wrong:?}"
        );
        assert_eq!(status_and_body(response), expected, "{wrong:?}");
    }
    for fine in [
        right.as_str(),
        "bearer canary-3f9a",
        "BEARER   canary-3f9a ",
    ] {
        assert_eq!(
            status_and_body(server.post(PING, &[("Authorization", fine)])),
            pong(),
            "{fine}"
        );
    }
    let twice = [
        ("Authorization", right.as_str()),
        ("Authorization", right.as_str()),
    ];
    assert_eq!(server.post(PING, &twice).status, 401);

    assert_eq!(server.get("/health", &[]).status, 200);
    assert_eq!(status_and_body(server.get("/metrics", &[])), expected);
    assert_eq!(status_and_body(server.get("/nowhere", &[])), expected);
    let authorization = [("Authorization", right.as_str())];
    let metrics = server.get("/metrics", &authorization);
    assert_eq!(metrics.status, 200);
    assert!(!metrics.text().contains(CANARY));
    assert_eq!(server.get("/nowhere", &authorization).status, 404);
    assert!(!server.process().stderr().contains(CANARY));
}

/// Starts with a request that is wrong in every way, and corrects one mistake after the other.
#[test]
fn first_failed_check_decides_the_answer() {
    let (_folder, file) = token();
    let server = http(&["--bearer-file", &file]);
    let right = format!("Bearer {CANARY}");
    let headers = |upto: usize| {
        let mut all = vec![
            ("Host", "evil.example"),
            ("Origin", "http://evil.example"),
            ("Content-Type", "text/plain"),
            ("Content-Length", "99999999"),
        ];
        if upto > 0 {
            all[0].1 = "localhost";
        }
        if upto > 1 {
            all[1].1 = "http://localhost";
        }
        if upto > 2 {
            all.push(("Authorization", right.as_str()));
        }
        if upto > 4 {
            all[2].1 = "application/json";
        }
        if upto > 5 {
            all[3].1 = "0";
        }
        all
    };
    let send = |method: &str, upto| {
        status_and_body(server.raw(server.request(method, b"", &headers(upto))))
    };
    assert_eq!(send("GET", 0).0, 403);
    assert_eq!(
        send("GET", 1),
        refusal(
            403,
            "the Origin header names another site; see --allowed-origin"
        )
    );
    assert_eq!(send("GET", 2), refusal(401, "a bearer token is required"));
    assert_eq!(send("GET", 3), refusal(405, "only POST is served here"));
    assert_eq!(
        send("POST", 4),
        refusal(415, "Content-Type must be application/json")
    );
    assert_eq!(send("POST", 5), refusal(413, "the body is too large"));
    assert_eq!(send("POST", 6), (400, error("null", -32700, "Parse error")));
}

#[test]
fn only_json_is_read() {
    let server = http(&[]);
    for kind in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        " application/json ;x=y",
    ] {
        assert_eq!(
            status_and_body(server.post(PING, &[("Content-Type", kind)])),
            pong(),
            "{kind}"
        );
    }
    let expected = refusal(415, "Content-Type must be application/json");
    for kind in [
        "text/plain",
        "application/json5",
        "application/jsonrpc",
        "application/x-www-form-urlencoded",
        "text/json",
        "application/*",
        "",
        "application/json, text/plain",
        ";application/json",
    ] {
        assert_eq!(
            status_and_body(server.post(PING, &[("Content-Type", kind)])),
            expected,
            "{kind}"
        );
    }
    let twice = [
        ("Content-Type", "application/json"),
        ("Content-Type", "text/plain"),
    ];
    assert_eq!(status_and_body(server.post(PING, &twice)), expected);
    let bare = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{PING}",
        PING.len()
    );
    assert_eq!(status_and_body(server.raw(bare)), expected);
}

#[test]
fn unknown_paths_are_404() {
    let server = http(&[]);
    let nothing = refusal(404, "no server is at this path");
    for path in [
        "/",
        "/nowhere",
        "/mcp/",
        "/MCP",
        "/mcp/x",
        "/playground/mcp",
    ] {
        assert_eq!(status_and_body(server.get(path, &[])), nothing, "{path}");
    }
    let stranger = [("Host", "evil.example")];
    for path in ["/health", "/metrics", "/nowhere", "/mcp"] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\n\r\n");
        assert_eq!(server.raw(request).status, 403, "{path}");
    }
    assert_eq!(server.post(PING, &stranger).status, 403);
    // A query belongs to the path's server.
    let server_with_query = http(&[]).at("/mcp?x=1");
    assert_eq!(status_and_body(server_with_query.post(PING, &[])), pong());
    // A HEAD is answered like a GET, without a body.
    let mut connection = server.connect();
    connection.send("HEAD /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let head = connection.head();
    assert_eq!((head.status, head.header("allow")), (405, Some("POST")));
}

#[test]
fn health_and_metrics_are_readable() {
    let server = http(&[]);
    let health = server.get("/health", &[]);
    let body = parse(&health.text());
    assert_eq!((health.status, &body["status"]), (200, &"ok".into()));
    let version = std::process::Command::new(CANDOR)
        .arg("--version")
        .output()
        .unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    assert_eq!(
        version.trim(),
        format!("candor {}", body["version"].as_str().unwrap())
    );

    let _ = server.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}"#, &[]);
    let _ = server.post(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"panic"}}"#,
        &[],
    );
    let _ = server.post("nonsense", &[]);
    let metrics = server.get("/metrics", &[]);
    assert_eq!(
        metrics.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    let text = metrics.text();
    for line in [
        r#"candor_calls_total{tool="echo",code="ok"} 1"#,
        r#"candor_calls_total{tool="panic",code="internal"} 1"#,
        r#"candor_calls_total{tool="",code="-32700"} 1"#,
        r#"candor_call_duration_seconds_count{tool="echo"} 1"#,
    ] {
        assert!(
            text.lines().any(|line_of_metrics| line_of_metrics == line),
            "{line}\n{text}"
        );
    }
    assert!(text.ends_with("# EOF\n"));
}

/// A public address is served under its own name to clients with the token.
#[test]
fn public_address_needs_a_token_and_an_allowed_host() {
    let (_folder, file) = token();
    let server = http(&["--bind", "0.0.0.0", "--bearer-file", &file]);
    let server = server.with_header("Authorization", &format!("Bearer {CANARY}"));
    for (host, expected) in [
        ("127.0.0.1", 200),
        ("localhost", 200),
        ("0.0.0.0", 403),
        ("evil.example", 403),
    ] {
        assert_eq!(
            server.post(PING, &[("Host", host)]).status,
            expected,
            "{host}"
        );
    }
}
