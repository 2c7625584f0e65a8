//! The end of a server: at the end of its input, on a signal, with running calls, and in front of a
//! client that does not read.

use crate::fixture::CANDOR;
use crate::requests::{call, parse, stateless_call, stateless_headers};
use crate::wire::answers::{error, result};
use crate::wire::fixture::{MANY_CONNECTIONS, http, poll_until, stdio, wait_until_read};
use candor_testkit::{Connection, Exit, Http, Process};
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

/// The grace period of running calls.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time limit for the rest of the shutdown.
const AND_A_LITTLE: Duration = Duration::from_secs(4);

/// Much less than the patience: nothing was waited for.
const SOON: Duration = Duration::from_secs(8);

const SLEPT: &str = r#"{"content":[{"type":"text","text":"{\"hung_ms\":300}"}],"structuredContent":{"hung_ms":300}}"#;

fn ends_within(process: &mut Process, limit: Duration) {
    assert_eq!(process.exit_within(limit), Some(Exit::Code(0)));
}

#[test]
fn end_of_input_ends_the_server() {
    let mut server = stdio(&[]);
    assert_eq!(server.end(), (vec![], Exit::Code(0)));
    assert_eq!(server.process().whole_stderr(SOON), "");
}

#[test]
fn running_calls_are_answered_before_the_end() {
    for signal in [None, Some("TERM"), Some("INT")] {
        let mut server = stdio(&[]);
        server.send_line(call("1", "hang", r#"{"ms":300}"#));
        wait_until_read(&mut server);
        match signal {
            None => server.close(),
            Some(name) => server.process().signal(name),
        }
        assert_eq!(server.rest(), [result("1", SLEPT)], "{signal:?}");
        ends_within(server.process(), SOON);
        assert_eq!(server.process().whole_stderr(SOON), "", "{signal:?}");
    }
}

/// A signal ends a server that has nothing to do at once, although its input is still open.
#[test]
fn signal_ends_an_idle_server() {
    for signal in ["TERM", "INT"] {
        let mut server = stdio(&[]);
        wait_until_read(&mut server);
        server.process().signal(signal);
        ends_within(server.process(), SOON);
        assert_eq!(server.rest(), [""; 0]);
    }
}

/// Calls that had started before a signal are answered, and no line is cut.
#[test]
fn signal_cuts_no_answer() {
    let mut server = stdio(&[]);
    wait_until_read(&mut server);
    // Larger than any pipe: the first answer cannot be written before the client reads.
    let all: String = (0..4)
        .map(|id| call(id.to_string(), "flood", r#"{"bytes":2000000}"#) + "\n")
        .collect();
    server.send(all);
    // The first answer has begun when its first bytes can be read; the driver reads whole lines, so
    // the signal comes with the first one, while the others wait.
    let first = server.line().unwrap();
    server.process().signal("TERM");
    let mut lines = vec![first];
    lines.extend(server.rest());
    ends_within(server.process(), SOON);
    for (id, line) in lines.iter().enumerate() {
        let answer = parse(line);
        assert_eq!(answer["id"], id);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.len(), 2_000_000);
    }
    assert_eq!(
        lines.len(),
        4,
        "what was read together is answered together"
    );
}

#[test]
fn stdout_has_only_messages_and_stderr_is_empty() {
    let mut server = stdio(&["--conformance"]);
    let sent = [
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(),
        "nonsense".to_owned(),
        call("2", "echo", r#"{"text":"a\nb\u2028c"}"#),
        call("3", "fail", r#"{"dialect":"github","code":-32002}"#),
        call("4", "hang", r#"{"ms":5}"#),
        call("5", "nope", "{}"),
    ];
    server.send(sent.join("\n"));
    let (lines, exit) = server.end();
    assert_eq!((lines.len(), exit), (7, Exit::Code(0)));
    for line in &lines {
        assert_eq!(parse(line)["jsonrpc"], "2.0");
    }
    assert_eq!(server.process().whole_stderr(SOON), "");
}

/// A server ends if its client disconnects.
#[test]
fn client_that_disconnects_leaves_no_process() {
    let (mut process, mut stdin, mut stdout) =
        Process::start(Process::command(CANDOR, &["playground"]));
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    stdin.write_all(ping.as_bytes()).unwrap();
    let mut pong = [0; 37];
    stdout.read_exact(&mut pong).unwrap();
    drop(stdout);
    // The input stays open; the server notices that an answer cannot be written.
    poll_until(|| {
        let _ = stdin.write_all(ping.as_bytes());
        process.exit_within(Duration::from_millis(20))
    });
}

#[test]
fn signal_lets_running_requests_finish() {
    let mut server = http(&[]);
    let address = server.address();
    let body = call("1", "hang", r#"{"ms":300}"#);
    let response = {
        let mut running = server.connect();
        let mut idle = server.connect();
        idle.send(server.request("POST", call("2", "echo", r#"{"text":"x"}"#).as_bytes(), &[]));
        assert_eq!(idle.response().status, 200);
        begin(&server, &mut running, &body, &[]);
        server.signal("TERM");
        let response = running.response();
        assert!(idle.is_closed(), "nobody waits for an idle connection");
        assert!(running.is_closed());
        response
    };
    assert_eq!(
        (response.status, response.text()),
        (200, result("1", SLEPT))
    );
    ends_within(server.process(), SOON);
    assert!(std::net::TcpStream::connect(address).is_err());
}

/// Sends a request with `Expect: 100-continue`, so that the server has certainly begun to read it.
fn begin(server: &Http, connection: &mut Connection<'_>, body: &str, headers: &[(&str, &str)]) {
    let length = body.len().to_string();
    let asking = [
        ("Content-Length", length.as_str()),
        ("Expect", "100-continue"),
    ];
    let headers: Vec<_> = asking.iter().chain(headers).copied().collect();
    connection.send(server.request("POST", b"", &headers));
    assert_eq!(connection.response().status, 100);
    connection.send(body);
}

/// Many idle connections do not keep the server from ending.
#[test]
fn server_with_many_idle_connections_ends() {
    let _alone = MANY_CONNECTIONS.lock().unwrap();
    let mut server = http(&[]);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let request = server.request("POST", ping.as_bytes(), &[]);
    {
        let mut all: Vec<_> = (0..1_000).map(|_| server.connect()).collect();
        for connection in &mut all {
            connection.send(&request);
        }
        for connection in &mut all {
            assert_eq!(connection.response().status, 200);
        }
        server.signal("TERM");
        for connection in &mut all {
            assert!(connection.is_closed());
        }
    }
    ends_within(server.process(), SOON);
}

/// Everything that takes the real time of a limit, at the same time.
#[test]
fn timeouts_of_ten_seconds_are_observed() {
    thread::scope(|scope| {
        scope.spawn(|| endless_call(None));
        scope.spawn(|| endless_call(Some("TERM")));
        scope.spawn(endless_request);
        scope.spawn(unread_answers);
        scope.spawn(slow_head);
        scope.spawn(full_stdio_server);
        scope.spawn(slow_reader);
        scope.spawn(outlived_request);
    });
}

fn cut(answer: &str) {
    let error = &parse(answer)["result"]["structuredContent"]["error"];
    assert_eq!(error["code"], "cancelled", "{answer}");
    assert_eq!(error["fault"]["retry"], "same_call", "{answer}");
    assert_eq!(error["fault"]["effect"], "none", "{answer}");
}

/// On stdio, a call that never ends is interrupted after the grace period and answered.
fn endless_call(signal: Option<&str>) {
    let mut server = stdio(&[]);
    server.send_line(call("1", "hang", "{}"));
    server.send_line(call("2", "hang", r#"{"ms":8000}"#));
    wait_until_read(&mut server);
    let start = Instant::now();
    match signal {
        None => server.close(),
        Some(name) => server.process().signal(name),
    }
    let long = server.line().unwrap();
    assert_eq!(
        parse(&long)["result"]["structuredContent"]["hung_ms"],
        8000,
        "{long}"
    );
    let last = server.line().unwrap();
    assert_eq!(parse(&last)["id"], 1);
    cut(&last);
    assert!(start.elapsed() >= PATIENCE);
    assert_eq!(server.line(), None);
    ends_within(server.process(), AND_A_LITTLE);
    assert!(
        start.elapsed() < PATIENCE + AND_A_LITTLE,
        "{:?}",
        start.elapsed()
    );
}

/// Over HTTP the same: the answer arrives before the connection closes.
fn endless_request() {
    let mut server = http(&[]);
    let start = {
        let mut old = server.connect();
        let mut new = server.connect();
        begin(&server, &mut old, &call("1", "hang", "{}"), &[]);
        let headers = stateless_headers("tools/call", Some("hang"));
        begin(
            &server,
            &mut new,
            &stateless_call("1", "hang", "{}"),
            &headers,
        );
        server.signal("TERM");
        let start = Instant::now();
        for connection in [&mut old, &mut new] {
            let response = connection.response();
            assert_eq!(response.status, 200);
            cut(&response.text());
        }
        start
    };
    ends_within(server.process(), AND_A_LITTLE);
    assert!(
        start.elapsed() < PATIENCE + AND_A_LITTLE,
        "{:?}",
        start.elapsed()
    );
}

/// A call that runs on without its connection has its time too, but no more.
fn outlived_request() {
    let mut server = http(&[]);
    begin(
        &server,
        &mut server.connect(),
        &call("1", "hang", "{}"),
        &[],
    );
    let start = Instant::now();
    server.signal("TERM");
    ends_within(server.process(), PATIENCE + AND_A_LITTLE);
    assert!(
        start.elapsed() < PATIENCE + AND_A_LITTLE,
        "{:?}",
        start.elapsed()
    );
}

/// A client that never reads cannot keep the process for ever.
fn unread_answers() {
    let (mut process, mut stdin, mut stdout) =
        Process::start(Process::command(CANDOR, &["playground"]));
    let floods: String = (0..10)
        .map(|id| call(id.to_string(), "flood", r#"{"bytes":1000000}"#) + "\n")
        .collect();
    stdin.write_all(floods.as_bytes()).unwrap();
    // The first byte of an answer that no pipe can hold.
    stdout.read_exact(&mut [0]).unwrap();
    let start = Instant::now();
    process.signal("TERM");
    ends_within(&mut process, PATIENCE + AND_A_LITTLE);
    assert!(start.elapsed() >= PATIENCE, "{:?}", start.elapsed());
}

/// A request's head has ten seconds; then it is refused and the connection is closed, and only that one.
fn slow_head() {
    let server = http(&[]);
    let mut slow = server.connect();
    let mut fine = server.connect();
    slow.send("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ");
    let start = Instant::now();
    slow.limit(PATIENCE + AND_A_LITTLE);
    let refused = slow.response();
    let message = "Invalid Request: the head took too long";
    assert_eq!(
        (refused.status, refused.text()),
        (408, error("null", -32600, message))
    );
    assert!(slow.is_closed());
    assert!(
        start.elapsed() >= PATIENCE - Duration::from_millis(100),
        "{:?}",
        start.elapsed()
    );
    assert!(
        start.elapsed() < PATIENCE + AND_A_LITTLE,
        "{:?}",
        start.elapsed()
    );
    // One that has not begun yet may still take its time.
    fine.send(server.request("POST", br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, &[]));
    assert_eq!(fine.response().status, 200);
}

/// More calls than may wait, none of which ends: other requests are answered, the next call is refused
/// after a while, and a cancellation and the end of the input still work.
fn full_stdio_server() {
    let mut server = stdio(&[]);
    let echo = |id: &str| call(id, "echo", r#"{"text":"x"}"#);
    let mut all: Vec<_> = (0..1024)
        .map(|id| call(id.to_string(), "hang", "{}"))
        .collect();
    all.push(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#.to_owned());
    all.push(echo("\"e\""));
    let start = Instant::now();
    server.send(all.join("\n") + "\n");
    assert_eq!(server.line(), Some(result("\"p\"", "{}")));
    assert!(start.elapsed() < PATIENCE);
    let full = "Internal error: the server is at capacity";
    assert_eq!(server.line(), Some(error("\"e\"", -32603, full)));
    assert!(start.elapsed() >= PATIENCE);
    // Its place is free when the cancelled call has ended.
    server.send_line(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#,
    );
    poll_until(|| {
        let answer = parse(&server.ask(echo("\"f\"")));
        answer.get("result").cloned()
    });
    for id in 1..1024 {
        server.send_line(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        ));
    }
    assert_eq!(server.end(), (vec![], Exit::Code(0)));
}

/// A client that does not read for long is waited for: none of its calls is refused.
fn slow_reader() {
    let mut server = stdio(&[]);
    for id in 0..4_000 {
        server.send_line(call(id.to_string(), "hang", r#"{"ms":1}"#));
    }
    let waited = PATIENCE + Duration::from_secs(1);
    assert_eq!(server.process().exit_within(waited), None);
    let (lines, exit) = server.end();
    assert_eq!((lines.len(), exit), (4_000, Exit::Code(0)));
    for line in &lines {
        assert!(line.contains(r#""hung_ms":1"#), "{line}");
    }
}
