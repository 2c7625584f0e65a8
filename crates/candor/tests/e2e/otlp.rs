//! Spans reach an OpenTelemetry collector, which is a listener of the test.

use crate::fixture::CANDOR;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Receives one POST and answers it. Returns its head and its body.
fn receive_post(mut stream: TcpStream) -> (String, Vec<u8>) {
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let read = stream.read(&mut chunk).unwrap();
        bytes.extend_from_slice(&chunk[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            assert_ne!(read, 0, "the request ended early");
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec())
            .unwrap()
            .to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .unwrap();
        if bytes.len() - end - 4 >= length.parse::<usize>().unwrap() {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                .unwrap();
            return (head, bytes.split_off(end + 4));
        }
    }
}

fn contains(haystack: &[u8], needle: &str) -> bool {
    haystack
        .windows(needle.len())
        .any(|part| part == needle.as_bytes())
}

#[test]
fn call_becomes_a_span_with_tool_and_id() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let collector = thread::spawn(move || receive_post(listener.accept().unwrap().0));
    let mut server = Command::new(CANDOR)
        .args(["--otlp", &url, "playground"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let call = r#"{"jsonrpc":"2.0","id":"an-id","method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}"#;
    writeln!(server.stdin.take().unwrap(), "{call}").unwrap();
    assert!(server.wait_with_output().unwrap().status.success());
    let (head, body) = collector.join().unwrap();
    assert!(head.starts_with("post /v1/traces "), "{head}");
    assert!(
        head.contains("content-type: application/x-protobuf"),
        "{head}"
    );
    for expected in ["candor", "call", "tool", "echo", "an-id", "request"] {
        assert!(contains(&body, expected), "{expected} is not in the span");
    }
}
