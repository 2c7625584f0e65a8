//! Size limits: input beyond a limit is refused, input at the limit is served, and memory
//! stays bounded.

use crate::requests::{call, stateless_call, stateless_headers};
use crate::wire::answers::{error, result};
use crate::wire::fixture::{http, poll_until, stdio, wait_until_read};
use candor_testkit::Exit;
use std::time::Duration;

const MIB: usize = 1024 * 1024;
const MAX_LINE: usize = 16 * MIB;
const MAX_BODY: usize = 10 * MIB;

/// Returns a valid request of exactly `bytes` bytes.
fn sized(bytes: usize) -> Vec<u8> {
    let (head, tail) = (
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":""#,
        r#""}}"#,
    );
    let filling = "x".repeat(bytes - head.len() - tail.len());
    [head, &filling, tail].concat().into_bytes()
}

fn too_long() -> String {
    error("null", -32600, "Invalid Request: the line is too long")
}

fn too_large() -> String {
    error("null", -32600, "Invalid Request: the body is too large")
}

#[test]
fn line_over_the_limit_is_refused() {
    let mut server = stdio(&[]);
    assert_eq!(server.ask(sized(MAX_LINE)), result("1", "{}"));
    assert_eq!(server.ask(sized(MAX_LINE + 1)), too_long());
    wait_until_read(&mut server);
    assert_eq!(server.ask(sized(MAX_LINE)), result("1", "{}"));
    // Together and in pieces, without a newline at the end.
    server.send_line(sized(MAX_LINE + 1));
    server.send_line(sized(100));
    server.send(sized(MAX_LINE + 100));
    let (lines, exit) = server.end();
    assert_eq!(lines, [too_long(), result("1", "{}"), too_long()]);
    assert_eq!(exit, Exit::Code(0));
}

#[test]
fn endless_lines_take_bounded_memory() {
    let mut server = stdio(&[]);
    wait_until_read(&mut server);
    let piece = vec![b'x'; MIB];
    for _ in 0..2 {
        for _ in 0..200 {
            server.send(piece.clone());
        }
        server.send("\n");
        assert_eq!(server.line(), Some(too_long()));
        wait_until_read(&mut server);
    }
    let peak = server.process().peak_memory();
    assert!(peak < 40 * MIB as u64, "{} MiB", peak / MIB as u64);
    assert_eq!(server.end().0.len(), 0);
}

/// Many values are refused before they are allocated.
#[test]
fn many_values_take_bounded_memory() {
    let mut server = stdio(&[]);
    wait_until_read(&mut server);
    let many = format!("[{}1]", "1,".repeat(8 * MIB - 2));
    let expected = error("null", -32600, "Invalid Request: too many JSON values");
    for _ in 0..3 {
        assert_eq!(server.ask(many.clone()), expected);
    }
    let names: String = (0..60_000)
        .map(|name| format!("\"{name}\":{{}},"))
        .collect();
    let object = format!("{{{names}\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}");
    assert_eq!(server.ask(object), result("1", "{}"));
    let peak = server.process().peak_memory();
    assert!(peak < 40 * MIB as u64, "{} MiB", peak / MIB as u64);
}

/// A client that sends many requests and reads nothing cannot fill the server's memory.
#[test]
fn client_that_does_not_read_takes_bounded_memory() {
    const ANSWERS: usize = 120;
    let mut server = stdio(&[]);
    wait_until_read(&mut server);
    let flood = format!(r#"{{"bytes":{MIB}}}"#);
    for id in 0..ANSWERS {
        server.send_line(call(id.to_string(), "flood", &flood));
    }
    // Time to run ahead, if it would.
    assert_eq!(
        server.process().exit_within(Duration::from_millis(500)),
        None
    );
    for id in 0..ANSWERS {
        let answer = server.line().unwrap();
        assert!(answer.len() > MIB);
        assert!(answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)));
    }
    wait_until_read(&mut server);
    let peak = server.process().peak_memory();
    assert!(peak < 40 * MIB as u64, "{} MiB", peak / MIB as u64);
}

#[test]
fn large_answers_arrive_completely() {
    let sent = call("1", "flood", r#"{"bytes":8388608}"#);
    let expected = format!(
        r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#,
        "x".repeat(8 * MIB)
    );
    let mut line = stdio(&[]);
    assert!(line.ask(sent.clone()) == result("1", &expected));
    let server = http(&[]);
    assert!(server.post(sent, &[]).text() == result("1", &expected));
}

#[test]
fn body_over_the_limit_is_refused() {
    let server = http(&[]);
    let response = server.post(sized(MAX_BODY), &[]);
    assert_eq!((response.status, response.text()), (200, result("1", "{}")));
    let response = server.post(sized(MAX_BODY + 1), &[]);
    assert_eq!((response.status, response.text()), (413, too_large()));
    assert_eq!(response.header("content-type"), Some("application/json"));

    // The announced length is enough: nothing has to be sent.
    let head = server.request("POST", b"", &[("Content-Length", "10485761")]);
    let response = server.raw(head);
    assert_eq!((response.status, response.text()), (413, too_large()));
    let head = server.request("POST", b"", &[("Content-Length", "9223372036854775807")]);
    let response = server.raw(head);
    assert_eq!((response.status, response.text()), (413, too_large()));
}

/// The bytes of a request whose body comes in chunks of this size.
fn chunked(server: &candor_testkit::Http, body: &[u8], size: usize) -> Vec<u8> {
    let host = server.address();
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        server.path()
    );
    let mut bytes = head.into_bytes();
    for chunk in body.chunks(size) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

#[test]
fn body_without_a_length_is_counted() {
    let server = http(&[]);
    for size in [1, 7, 1000] {
        let response = server.raw(chunked(&server, &sized(2_000), size));
        assert_eq!((response.status, response.text()), (200, result("1", "{}")));
    }
    let response = server.raw(chunked(&server, &sized(MAX_BODY), 100_000));
    assert_eq!((response.status, response.text()), (200, result("1", "{}")));
    let response = server.raw(chunked(&server, &sized(MAX_BODY + 1), 100_000));
    assert_eq!((response.status, response.text()), (413, too_large()));
}

/// Only bytes that are really held count, and they count as long as their call runs.
#[test]
fn requests_share_a_bounded_buffer() {
    let server = http(&[]);
    let chunked = |body: &str| {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
            server.address()
        );
        let chunk = if body.is_empty() {
            String::new()
        } else {
            format!("{:x}\r\n{body}\r\n", body.len())
        };
        head + &chunk
    };
    // Bodies with and without a length have not arrived yet, so no memory is held.
    let mut waiting: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for (index, connection) in waiting.iter_mut().enumerate() {
        match index % 2 {
            0 => connection.send(chunked("")),
            _ => connection.send(server.request("POST", b"", &[("Content-Length", "10485760")])),
        }
    }
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let response = server.raw(chunked(ping) + "0\r\n\r\n");
    assert_eq!((response.status, response.text()), (200, result("1", "{}")));

    // 60 MiB of arguments, most of it white space, wait with their calls.
    let padded = stateless_call("1", "hang", format!("{{{}}}", " ".repeat(10 * MIB - 500)));
    let headers = stateless_headers("tools/call", Some("hang"));
    let mut hanging: Vec<_> = (0..6).map(|_| server.connect()).collect();
    for connection in &mut hanging {
        connection.send(server.request("POST", padded.as_bytes(), &headers));
    }
    let large = sized(9 * MIB);
    let message = "Internal error: the server is at capacity";
    let full =
        poll_until(|| Some(server.post(&large, &[])).filter(|response| response.status != 200));
    assert_eq!(
        (full.status, full.text()),
        (503, error("null", -32603, message))
    );
    assert_eq!(full.header("retry-after"), Some("1"));
    // A small body still fits, and a large one fits when the calls have ended.
    assert_eq!(server.post(ping, &[]).status, 200);
    drop(hanging);
    let fine =
        poll_until(|| Some(server.post(&large, &[])).filter(|response| response.status != 503));
    assert_eq!((fine.status, fine.text()), (200, result("1", "{}")));
}
