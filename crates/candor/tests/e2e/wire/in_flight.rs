//! Calls that run at the same time on one stdio connection.

use crate::requests::{call, parse, request};
use crate::wire::answers::{error, result};
use crate::wire::fixture::{stdio, wait_until_read};
use candor_testkit::{Exit, Stdio};
use std::collections::BTreeMap;
use std::time::Duration;

/// Much less than the patience that running calls have at the end.
const SOON: Duration = Duration::from_secs(8);

fn hung(id: &str, ms: u32) -> String {
    let text = format!(r#"{{\"hung_ms\":{ms}}}"#);
    let structured = format!(r#"{{"hung_ms":{ms}}}"#);
    result(
        id,
        &format!(
            r#"{{"content":[{{"type":"text","text":"{text}"}}],"structuredContent":{structured}}}"#
        ),
    )
}

fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"test"}}}}"#
    )
}

const TWICE: &str = "Invalid Request: this id is in flight already";

/// Counts the answers of each id.
fn answered(lines: &[String]) -> BTreeMap<String, u32> {
    let mut ids = BTreeMap::new();
    for line in lines {
        *ids.entry(parse(line)["id"].to_string()).or_default() += 1;
    }
    ids
}

/// Ends the input of a server without running calls, which then ends at once.
fn ends_soon(mut server: Stdio) -> Vec<String> {
    server.close();
    let rest = server.rest();
    assert_eq!(server.process().exit_within(SOON), Some(Exit::Code(0)));
    rest
}

#[test]
fn slow_call_blocks_no_other() {
    let mut server = stdio(&[]);
    server.send_line(call("1", "hang", "{}"));
    for id in ["2", "3", "4"] {
        let echoed = server.ask(call(id, "echo", r#"{"text":"x"}"#));
        assert_eq!(parse(&echoed)["id"].to_string(), id);
    }
    wait_until_read(&mut server);
    server.send_line(cancel("1"));
    assert_eq!(ends_soon(server), [""; 0]);
}

#[test]
fn thousand_calls_in_flight_are_each_answered_once() {
    let mut server = stdio(&[]);
    let all: String = (0..1_000)
        .map(|id| call(id.to_string(), "hang", r#"{"ms":300}"#) + "\n")
        .collect();
    server.send(all);
    let (lines, exit) = server.end();
    assert_eq!((lines.len(), exit), (1_000, Exit::Code(0)));
    let ids = answered(&lines);
    assert!(ids.len() == 1_000 && ids.values().all(|times| *times == 1));
    for line in &lines {
        let id = parse(line)["id"].to_string();
        assert_eq!(line, &hung(&id, 300));
    }
}

/// More than may wait at once: reading pauses, and nothing is lost.
#[test]
fn calls_beyond_the_bound_wait_their_turn() {
    let mut server = stdio(&[]);
    let all: String = (0..5_000)
        .map(|id| {
            let tool = if id % 2 == 0 { "hang" } else { "flaky" };
            let arguments = if id % 2 == 0 {
                r#"{"ms":5}"#
            } else {
                r#"{"script":["ok"]}"#
            };
            call(format!("\"{id}\""), tool, arguments) + "\n"
        })
        .collect();
    server.send(all);
    let (lines, exit) = server.end();
    assert_eq!((lines.len(), exit), (5_000, Exit::Code(0)));
    assert_eq!(answered(&lines).len(), 5_000);
}

/// A client that does not read gets everything once it does.
#[test]
fn answers_wait_until_the_client_reads() {
    let mut server = stdio(&[]);
    let all: String = (0..4_000)
        .map(|id| {
            let arguments = format!(r#"{{"text":"{}"}}"#, "x".repeat(200));
            match id % 2 {
                0 => call(id.to_string(), "hang", r#"{"ms":1}"#) + "\n",
                _ => call(id.to_string(), "echo", &arguments) + "\n",
            }
        })
        .collect();
    server.send(all);
    // The server works as far as it can while the client does not read.
    assert_eq!(
        server.process().exit_within(Duration::from_millis(300)),
        None
    );
    let (lines, exit) = server.end();
    assert_eq!((lines.len(), exit), (4_000, Exit::Code(0)));
    assert_eq!(answered(&lines).len(), 4_000);
}

#[test]
fn id_in_flight_cannot_be_used_again() {
    let mut server = stdio(&[]);
    for id in ["1", "\"1\"", "\"\"", "-7"] {
        server.send_line(call(id, "hang", "{}"));
        let again = error(id, -32600, TWICE);
        assert_eq!(server.ask(call(id, "echo", r#"{"text":"x"}"#)), again);
        assert_eq!(server.ask(call(id, "hang", "{}")), again);
        assert_eq!(server.ask(request(id, "ping", "{}")), again);
        assert_eq!(server.ask(request(id, "tools/list", "{}")), again);
    }
    // Another spelling of an id is the same id, and the answer has it as it was written.
    server.send_line(call("\"a\"", "hang", "{}"));
    let other = r#""\u0061""#;
    assert_eq!(
        server.ask(call(other, "hang", "{}")),
        error(other, -32600, TWICE)
    );
    server.send_line(call("0", "hang", "{}"));
    assert_eq!(
        server.ask(call("-0", "hang", "{}")),
        error("-0", -32600, TWICE)
    );
    // Another id can be used, and so can the id of an answered call.
    assert_eq!(server.ask(call("8", "hang", r#"{"ms":1}"#)), hung("8", 1));
    assert_eq!(server.ask(call("8", "hang", r#"{"ms":1}"#)), hung("8", 1));
    for id in ["1", "\"1\"", "\"\"", "-7", other, "-0"] {
        server.send_line(cancel(id));
    }
    assert_eq!(ends_soon(server), [""; 0]);
}

#[test]
fn cancelled_call_is_not_answered_and_its_id_is_free() {
    let mut server = stdio(&[]);
    // Sent in one piece, so that nothing depends on how fast the cancelled call ends.
    let all = [
        call("1", "hang", "{}"),
        cancel("1"),
        call("1", "echo", r#"{"text":"again"}"#),
    ];
    server.send(all.join("\n") + "\n");
    let echoed = r#"{"content":[{"type":"text","text":"{\"text\":\"again\"}"}],"structuredContent":{"text":"again"}}"#;
    assert_eq!(server.line(), Some(result("1", echoed)));
    assert_eq!(server.ask(call("1", "hang", r#"{"ms":20}"#)), hung("1", 20));
    // The end of the cancelled call does not remove the later call with the same id.
    server.send_line(call("2", "hang", "{}"));
    server.send_line(cancel("2"));
    server.send_line(call("2", "hang", "{}"));
    assert_eq!(
        server.ask(call("2", "hang", "{}")),
        error("2", -32600, TWICE)
    );
    server.send_line(cancel("2"));
    assert_eq!(ends_soon(server), [""; 0]);
}

#[test]
fn only_the_same_id_cancels_a_call() {
    let mut server = stdio(&[]);
    server.send_line(call("1", "hang", r#"{"ms":100}"#));
    for wrong in [
        cancel("\"1\""),
        cancel("2"),
        cancel("1.0"),
        cancel("null"),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestID":1}}"#
            .to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/canceled","params":{"requestId":1}}"#
            .to_owned(),
    ] {
        server.send_line(wrong);
    }
    assert_eq!(server.line(), Some(hung("1", 100)));
    // An answered call can no longer be cancelled.
    server.send_line(cancel("1"));
    assert_eq!(ends_soon(server), [""; 0]);
}

#[test]
fn many_calls_can_be_cancelled() {
    let mut server = stdio(&[]);
    for id in 0..500 {
        server.send_line(call(id.to_string(), "hang", "{}"));
    }
    for id in 0..500 {
        server.send_line(cancel(&id.to_string()));
    }
    wait_until_read(&mut server);
    assert_eq!(ends_soon(server), [""; 0]);
}

/// A request with an id and the method of a notification is an unknown method.
#[test]
fn cancellation_with_an_id_is_an_unknown_method() {
    let mut server = stdio(&[]);
    server.send_line(call("1", "hang", r#"{"ms":50}"#));
    server.send_line(request(
        "2",
        "notifications/cancelled",
        r#"{"requestId":1}"#,
    ));
    let (mut lines, _) = server.end();
    lines.sort();
    let unknown = error("2", -32601, "Method not found: notifications/cancelled");
    assert_eq!(lines, [hung("1", 50), unknown]);
}
