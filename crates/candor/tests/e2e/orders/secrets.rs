//! Secrets and texts of databases reach no client; secrets reach no log either.

use crate::fixture::{LIMIT, candor, run_err};
use crate::orders::fixture::OrdersFixture;
use crate::orders::masking::all_equal;
use crate::orders::requests::{OrderCalls, check_failure, order};
use crate::requests::call;
use candor_testkit::postgres::{MAINTENANCE, PASSWORD};
use candor_testkit::{Exit, Http, Process};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

const TO_READ: &str = "canary-read-3b1f";
const TO_WRITE: &str = "canary-write-77aa";

/// One call of each kind: good, wrong, refused.
fn calls() -> [(&'static str, Value); 5] {
    [
        ("get-orders", json!({})),
        ("create-sales-order", order("k1", "TEA", 1)),
        ("create-sales-order", order("k2", "NONE", 1)),
        ("create-sales-order", json!({ "order": TO_WRITE })),
        ("get-orders", json!({ "cursor": TO_READ })),
    ]
}

/// Returns everything that a server prints during all kinds of calls.
fn collect_output(server: &Http) -> String {
    let mut output = String::new();
    for (tool, arguments) in calls() {
        for token in [TO_READ, TO_WRITE, "canary-other-1"] {
            let authorization = format!("Bearer {token}");
            let response = server.post(
                call(1, tool, &arguments),
                &[("Authorization", &authorization)],
            );
            output += &format!("{:?} {}\n", response.headers, response.text());
        }
    }
    let authorization = format!("Bearer {TO_READ}");
    output += &server
        .get("/metrics", &[("Authorization", &authorization)])
        .text();
    output + &server.get("/health", &[]).text()
}

#[test]
fn secrets_appear_in_no_output() {
    let Some(fixture) = OrdersFixture::postgres() else {
        return;
    };
    let (read, write) = (
        fixture.write("read", TO_READ),
        fixture.write("write", TO_WRITE),
    );
    let flags = [
        "--log",
        "trace",
        "--bearer-file",
        &read,
        "--write-bearer-file",
        &write,
    ];
    let mut server = fixture.http(&flags);
    let mut output = collect_output(&server);
    // The client of a stopped database logs many messages.
    fixture.server().kill();
    output += &collect_output(&server);
    fixture.server().restart().unwrap();
    output += &collect_output(&server);
    let process = format!("/proc/{}/", server.process().pid());
    for list in ["cmdline", "environ"] {
        output += &String::from_utf8_lossy(&fs::read(format!("{process}{list}")).unwrap());
    }
    server.signal("TERM");
    assert_eq!(server.process().exit_within(LIMIT), Some(Exit::Code(0)));
    let log = server.process().whole_stderr(LIMIT);
    assert!(log.contains("create-sales-order"), "{log}");
    assert!(output.contains("candor_calls_total"), "{output}");
    output += &log;
    for secret in [PASSWORD, TO_READ, TO_WRITE, "canary-other-1"] {
        let line = output.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
}

#[test]
fn wrong_password_stops_the_start_and_is_not_shown() {
    let Some(fixture) = OrdersFixture::postgres() else {
        return;
    };
    let url = fixture.server().url(MAINTENANCE);
    let wrong = url.replace(PASSWORD, "canary-wrong-9");
    assert_ne!(url, wrong);
    let file = fixture.write("wrong", &wrong);
    let refused = ["serve", "migrate"].map(|word| {
        let mut command = candor(&["orders", word, "--log", "trace"]);
        command.args(["--database-from", &file]);
        let message = run_err(command);
        assert!(
            !message.contains("canary-wrong") && !message.contains(PASSWORD),
            "{message}"
        );
        last_lines(&message)
    });
    assert_snapshot!(all_equal(refused), @r#"
    error: the database cannot be used: password authentication failed for user "candor"
    hint: check --database, and whether the database is running
    "#);
}

/// Returns the error after the log lines.
fn last_lines(message: &str) -> String {
    let start = message
        .find("error: ")
        .unwrap_or_else(|| panic!("{message}"));
    message[start..].to_owned()
}

#[test]
fn address_in_the_environment_is_not_in_the_help() {
    for words in [["serve", "--help"], ["migrate", "--help"]] {
        let mut command = candor(&["orders"]);
        command.args(words).env(
            "CANDOR_ORDERS_DATABASE",
            format!("postgres://u:{PASSWORD}@h/d"),
        );
        let ended = Process::run(command, LIMIT);
        let message = String::from_utf8(ended.stdout).unwrap() + &ended.stderr;
        assert!(message.contains("CANDOR_ORDERS_DATABASE"), "{message}");
        assert!(!message.contains(PASSWORD), "{message}");
    }
}

/// A wrong address is not repeated, since a password may be in it.
#[test]
fn invalid_address_is_not_shown() {
    for address in [
        format!("mysql://u:{PASSWORD}@h/d"),
        format!("postgres://u:{PASSWORD}@h:port/d"),
        format!("postgres://u:{PASSWORD}@h/d?sslmode={PASSWORD}"),
        format!("postgres://u:{PASSWORD}@[::1/d"),
        format!("postgres://u@h/d?password={PASSWORD}&sslmode={PASSWORD}"),
        format!("postgres://{PASSWORD}"),
        format!("://{PASSWORD}"),
    ] {
        for word in ["serve", "migrate"] {
            let message = run_err(candor(&["orders", word, "--database", &address]));
            assert!(!message.contains(PASSWORD), "{address}: {message}");
            assert!(message.contains("hint: "), "{message}");
        }
    }
}

/// The database repeats the password: the client does not get it, and the log hides it.
#[test]
fn database_texts_reach_no_client_and_secrets_no_log() {
    let Some(fixture) = OrdersFixture::postgres() else {
        return;
    };
    let database = fixture.database();
    database.run(&format!(
        "CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'trigger shouts {PASSWORD} loudly'; END $$"
    ));
    database.run("CREATE TRIGGER shouting BEFORE INSERT ON orders EXECUTE FUNCTION shout()");
    let mut server = fixture.http(&["--log", "trace"]);
    let answer = (&server).call_err_in_both_eras("create-sales-order", &order("k", "TEA", 1));
    check_failure(&answer);
    assert_snapshot!(answer, @r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"fault":{"class":"server","retry":"never","retry_after_ms":null,"effect":"none","remedy":"Report it to the owner of the server with the time of the call."}}}}"#);
    server.signal("TERM");
    assert_eq!(server.process().exit_within(LIMIT), Some(Exit::Code(0)));
    let log = server.process().whole_stderr(LIMIT);
    assert!(log.contains("trigger shouts [hidden] loudly"), "{log}");
    assert!(!log.contains(PASSWORD), "{log}");
}

/// The same for texts of SQLite.
#[test]
fn sqlite_texts_reach_no_client() {
    let fixture = OrdersFixture::sqlite();
    fixture.database().run("CREATE TRIGGER shouting BEFORE INSERT ON orders BEGIN SELECT RAISE(ABORT, 'trigger shouts'); END");
    let mut server = fixture.stdio(&["--log", "info"]);
    let answer = server.call_err_in_both_eras("create-sales-order", &order("k", "TEA", 1));
    assert!(!answer.contains("shouts"), "{answer}");
    assert_eq!(server.end().1, Exit::Code(0));
    let log = server.process().whole_stderr(LIMIT);
    assert!(log.contains("trigger shouts"), "{log}");
}
