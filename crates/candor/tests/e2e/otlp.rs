//! Spans reach an OpenTelemetry collector, which is a listener of the test, in the caller's trace.

use crate::fixture::{CANDOR, LIMIT, candor, run_err_with};
use crate::orders::fixture::OrdersFixture;
use crate::requests::call;
use candor_testkit::{Exit, Http};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
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

/// Starts a collector for one batch. Returns its URL, and what it receives.
fn collector() -> (String, JoinHandle<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let received = thread::spawn(move || receive_post(listener.accept().unwrap().0));
    (url, received)
}

/// A field of a protocol buffer.
enum Field<'a> {
    Number,
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

/// Returns the fields of a message with their numbers.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let length = match key & 7 {
            0 => {
                varint(&mut bytes);
                fields.push((key >> 3, Field::Number));
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut bytes)).unwrap(),
            5 => 4,
            other => panic!("wire type {other}"),
        };
        let (value, rest) = bytes.split_at(length);
        bytes = rest;
        fields.push((key >> 3, Field::Bytes(value)));
    }
    fields
}

/// Returns the values of a field that contains bytes.
fn values(message: &[u8], number: u64) -> Vec<&[u8]> {
    let all = fields(message).into_iter();
    let named = all.filter(|(own, _)| *own == number);
    let bytes = named.filter_map(|(_, field)| match field {
        Field::Bytes(bytes) => Some(bytes),
        Field::Number => None,
    });
    bytes.collect()
}

fn text(message: &[u8], number: u64) -> String {
    let value = values(message, number).into_iter().next();
    String::from_utf8(value.unwrap_or_default().to_vec()).unwrap()
}

fn hexadecimal(message: &[u8], number: u64) -> String {
    let value = values(message, number).into_iter().next();
    let digits = value.unwrap_or_default().iter();
    digits.map(|byte| format!("{byte:02x}")).collect()
}

/// A span, as far as the tests compare it.
#[derive(Debug, PartialEq, Eq)]
struct Span {
    name: String,
    trace: String,
    parent: String,
    attributes: Vec<(String, String)>,
}

impl Span {
    fn attribute(&self, name: &str) -> &str {
        let found = self.attributes.iter().find(|(own, _)| own == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Decodes the spans of an `ExportTraceServiceRequest`.
fn spans(request: &[u8]) -> Vec<Span> {
    let resources = values(request, 1).into_iter();
    let scopes = resources.flat_map(|resource| values(resource, 2));
    let spans = scopes.flat_map(|scope| values(scope, 2));
    let decode = |span: &[u8]| Span {
        name: text(span, 5),
        trace: hexadecimal(span, 1),
        parent: hexadecimal(span, 4),
        attributes: values(span, 9)
            .into_iter()
            .map(|pair| (text(pair, 1), text(values(pair, 2)[0], 1)))
            .collect(),
    };
    spans.map(decode).collect()
}

#[test]
fn call_becomes_a_span_with_tool_and_id() {
    let (url, collector) = collector();
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
    let spans = spans(&body);
    assert_eq!(spans.len(), 1, "{spans:?}");
    assert_eq!((&*spans[0].name, &*spans[0].parent), ("call", ""));
    assert_eq!(spans[0].attribute("tool"), "echo");
    assert_eq!(spans[0].attribute("id"), r#""an-id""#);
    assert_eq!(spans[0].attribute("trace_parent"), "");
}

#[test]
fn span_of_a_call_continues_the_trace_of_its_caller() {
    let (url, collector) = collector();
    let fixture = OrdersFixture::sqlite();
    let database = fixture.path("orders.db");
    let database = database.to_str().unwrap();
    let arguments = ["--otlp", &url, "orders", "serve", "--database", database];
    let arguments = [&arguments[..], &["--http", "--port", "0"]].concat();
    let mut server = Http::spawn(CANDOR, &arguments);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let sampled = format!("00-{trace}-00f067aa0ba902b7-01");
    let unsampled = format!("00-{trace}-00f067aa0ba902b8-00");
    let traces: [&[(&str, &str)]; 4] = [
        &[("traceparent", &sampled)],
        &[],
        &[("traceparent", &unsampled)],
        &[("traceparent", "00-nonsense")],
    ];
    for headers in traces {
        let answer = server.post(call(1, "get-orders", "{}"), headers);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    server.signal("TERM");
    assert_eq!(server.process().exit_within(LIMIT), Some(Exit::Code(0)));
    let (_, body) = collector.join().unwrap();
    let spans = spans(&body);
    assert!(spans.iter().all(|span| span.name == "call"), "{spans:?}");
    // The third caller does not want its trace to be recorded.
    assert_eq!(spans.len(), 3, "{spans:?}");
    assert_eq!(spans[0].trace, trace);
    assert_eq!(spans[0].parent, "00f067aa0ba902b7");
    assert_eq!(spans[0].attribute("trace_parent"), sampled);
    for own in &spans[1..] {
        assert_eq!((own.trace.len(), &*own.parent), (32, ""));
        assert_ne!(own.trace, trace);
    }
    assert_ne!(spans[1].trace, spans[2].trace);
}

/// Runs one call with this collector. Returns the log.
fn log_of_a_call(url: &str) -> String {
    let mut server = Command::new(CANDOR)
        .args(["--otlp", url, "playground"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let call = call(1, "echo", r#"{"text":"hi"}"#);
    writeln!(server.stdin.take().unwrap(), "{call}").unwrap();
    let output = server.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(!output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn unreachable_collector_is_logged_and_stops_nothing() {
    let lost = "the collector of --otlp does not accept spans; they are lost";
    // Bound and closed: nobody listens there.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    drop(listener);
    let log = log_of_a_call(&url);
    assert_eq!(log.matches(lost).count(), 1, "{log}");
    // One that refuses, with an answer that is too long to be read as a whole.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let refusing = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 65536]).unwrap();
        let head = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 1000000000000\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        // Ends when the program has read enough and closes the connection.
        while stream.write_all(&[b'x'; 65536]).is_ok() {}
    });
    let log = log_of_a_call(&url);
    refusing.join().unwrap();
    assert_eq!(log.matches(lost).count(), 1, "{log}");
    assert!(log.contains("503 Service Unavailable"), "{log}");
    assert!(!log.contains("xx"), "{log}");
}

#[test]
fn collector_that_never_answers_stops_nothing() {
    // Connections are accepted by the system and never read.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
    let log = log_of_a_call(&url);
    assert!(log.contains("some spans were not sent"), "{log}");
    drop(listener);
}

#[test]
fn url_without_a_collector_is_refused() {
    for url in [
        "",
        "127.0.0.1:4318",
        "ftp://127.0.0.1/",
        "http://user:canary@127.0.0.1:4318/v1/traces",
    ] {
        let message = run_err_with(1, candor(&["--otlp", url, "playground"]));
        let expected = "error: --otlp is not a URL to which spans can be sent\nhint: name the URL of a collector, without a user name and without a query, for instance http://127.0.0.1:4318/v1/traces\n";
        assert_eq!(message, expected, "{url}");
    }
}
