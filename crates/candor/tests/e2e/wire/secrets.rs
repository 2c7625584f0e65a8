//! A token appears in no answer, log or metric, whether it is right, wrong, misplaced or in a panic; and no
//! text of a refused request appears in the log.

use crate::requests::{call, request, stateless_call, stateless_headers};
use crate::wire::fixture::{MANY_CONNECTIONS, http, poll_until};
use candor_testkit::Http;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;

const TOKEN: &str = "canary-5f3a9c";
const TEXT: &str = "canary-text-77b1e0";

/// Starts a server that logs everything and asks for the token.
fn start() -> (Http, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, TOKEN).unwrap();
    let server = http(&["--bearer-file", file.to_str().unwrap(), "--log", "trace"]);
    (server, folder)
}

/// Ends the server and returns its log.
fn end(mut server: Http) -> String {
    server.signal("TERM");
    let exit = server.process().exit_within(Duration::from_secs(20));
    assert!(exit.is_some());
    server.process().whole_stderr(Duration::from_secs(5))
}

#[test]
fn token_appears_in_no_output() {
    let (server, _folder) = start();
    let right = format!("Bearer {TOKEN}");
    let nearly = format!("Bearer {TOKEN}x");
    let echo = call("1", "echo", r#"{"text":"x"}"#);
    let panic = call("2", "panic", "{}");
    let mut output = String::new();
    for (body, token) in [
        (echo.as_str(), right.as_str()),
        (&echo, &nearly),
        (&panic, &right),
        ("{", &right),
        ("{}", "Basic dXNlcg=="),
    ] {
        output += &server.post(body, &[("Authorization", token)]).text();
    }
    output += &server.get("/metrics", &[("Authorization", &right)]).text();
    output += &server.get("/health", &[]).text();
    output += &server.get("/nothing", &[("Authorization", &nearly)]).text();
    output += &end(server);
    assert!(output.contains("candor_calls_total"), "{output}");
    assert!(
        output.contains("call failed"),
        "the log was not read: {output}"
    );
    assert!(!output.contains(TOKEN), "{output}");
}

/// Requests that are refused before their message is read, with the canary in every part that a peer chooses.
fn refused_unread(server: &Http) -> Vec<(u16, Vec<u8>)> {
    let right = format!("Bearer {TOKEN}");
    let body = format!(r#"{{"{TEXT}":1}}"#);
    let post = |more: &[(&str, &str)]| {
        let own = [("Authorization", right.as_str()), ("X-Own", TEXT)];
        server.request("POST", body.as_bytes(), &[&own, more].concat())
    };
    let raw = |text: String| text.into_bytes();
    let target = format!("/{TEXT}?{TEXT}");
    let long = TEXT.repeat(1_000);
    let elsewhere = String::from_utf8(post(&[])).unwrap();
    vec![
        (400, raw(format!("{TEXT}\r\n\r\n"))),
        (400, raw(format!("GET {target}\u{1} HTTP/1.1\r\n\r\n"))),
        (400, raw(format!("GET / HTTP/1.1\r\n{TEXT}\r\n\r\n"))),
        (400, raw(format!("POST /mcp HTTP/1.1\r\nHost: {TEXT}"))),
        (
            400,
            raw(format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {right}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{TEXT}"
            )),
        ),
        (
            400,
            raw(format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {right}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{TEXT}"
            )),
        ),
        (
            401,
            server.request("POST", body.as_bytes(), &[("Authorization", TEXT)]),
        ),
        (
            401,
            server.request(
                "POST",
                body.as_bytes(),
                &[("Authorization", &format!("Bearer {TEXT}"))],
            ),
        ),
        (403, post(&[("Host", TEXT)])),
        (403, post(&[("Origin", &format!("https://{TEXT}"))])),
        (404, raw(elsewhere.replace("/mcp", &target))),
        (405, raw(elsewhere.replacen("POST", "PUT", 1))),
        (413, post(&[("Content-Length", "10485761")])),
        (414, raw(format!("POST /mcp?{long} HTTP/1.1\r\n\r\n"))),
        (415, post(&[("Content-Type", TEXT)])),
        (
            431,
            raw(format!(
                "POST /mcp HTTP/1.1\r\nX: {}\r\n\r\n",
                TEXT.repeat(10_000)
            )),
        ),
        (
            431,
            raw(format!(
                "POST /mcp HTTP/1.1\r\n{}\r\n",
                format!("X: {TEXT}\r\n").repeat(101)
            )),
        ),
        (505, raw(format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{TEXT}"))),
    ]
}

/// Refused requests write nothing of themselves into the log, at any level, and neither into the answer if
/// their message was not read.
#[test]
fn refused_requests_leave_no_text_in_the_log() {
    let _alone = MANY_CONNECTIONS.lock().unwrap();
    let (server, _folder) = start();
    let right = format!("Bearer {TOKEN}");
    let own = [("Authorization", right.as_str())];
    {
        // These take ten seconds: a slow head, a slow body, and a request without a place.
        let mut slow_head = server.connect();
        slow_head.send(format!("POST /{TEXT} HTTP/1.1\r\nX: {TEXT}"));
        let mut slow_body = server.connect();
        let length = [own[0], ("Content-Length", "1000")];
        slow_body.send(server.request("POST", b"", &length));
        slow_body.send(TEXT);
        let hang = stateless_call(1, "hang", r#"{"ms":60000}"#);
        let headers = stateless_headers("tools/call", Some("hang"));
        let hang = server.request("POST", hang.as_bytes(), &[&headers[..], &own].concat());
        let mut running: Vec<_> = (0..512).map(|_| server.connect()).collect();
        for connection in &mut running {
            connection.send(&hang);
        }
        poll_until(|| {
            let metrics = server.get("/metrics", &own).text();
            // The connection that asks is busy, too.
            let line = r#"candor_connections{state="busy"} 513"#;
            metrics.lines().any(|one| one == line).then_some(())
        });
        let mut without_place = server.connect();
        let echo = call(1, "echo", format!(r#"{{"text":"{TEXT}"}}"#));
        without_place.send(server.request("POST", echo.as_bytes(), &own));

        let mut answers = String::new();
        for (status, request) in refused_unread(&server) {
            let mut connection = server.connect();
            connection.send(&request);
            connection.finish_sending();
            let response = connection.response();
            let begin = String::from_utf8_lossy(&request[..request.len().min(80)]);
            assert_eq!(response.status, status, "{begin}");
            let answer = response.text();
            let is_refusal = answer.starts_with(r#"{"jsonrpc":"2.0","id":null,"error":"#);
            assert!(is_refusal, "{begin}: {answer}");
            answers += &answer;
        }
        for (connection, status) in [(&mut slow_head, 408), (&mut slow_body, 408)] {
            let response = connection.response();
            assert_eq!(response.status, status);
            answers += &response.text();
        }
        assert_eq!(without_place.response().status, 503);
        assert!(!answers.contains(TEXT), "{answers}");
    }
    // Messages that were read are answered with what they ask for, but not logged with it.
    let unknown = request(1, TEXT, "{}");
    let no_tool = call(1, TEXT, "{}");
    let no_argument = call(1, "echo", format!(r#"{{"{TEXT}":"{TEXT}"}}"#));
    let twice = format!(r#"{{"{TEXT}":1,"{TEXT}":2,"jsonrpc":"2.0","id":1,"method":"ping"}}"#);
    for body in [unknown, no_tool, no_argument, twice, format!("{{{TEXT}")] {
        let response = server.post(&body, &own);
        assert!(response.text().contains("rror"), "{}", response.text());
    }
    let log = end(server);
    assert!(
        log.contains("a request was refused before it was read"),
        "{log}"
    );
    for canary in [TOKEN, TEXT] {
        let line = log.lines().find(|line| line.contains(canary));
        assert_eq!(line, None);
    }
}
