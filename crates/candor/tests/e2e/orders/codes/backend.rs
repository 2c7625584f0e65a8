//! 4002 and 5001: a stopped database, a breaker that opens and closes again, and an order system
//! that lacks an operation.

use crate::orders::fixture::OrdersFixture;
use crate::orders::masking::{all_equal, mask, mask_waits};
use crate::orders::requests::{OrderCalls, check_failure, order};
use crate::requests::{Transport, call, parse};
use candor_testkit::Http;
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::Duration;

fn wait_of(error: &Value) -> u64 {
    error["details"]["context"]["retryAfterMs"]
        .as_u64()
        .unwrap()
}

/// Repeats a call until it succeeds, and waits as each failure states.
fn call_with_retries(mut server: &Http, tool: &str, arguments: &Value) -> (Value, Vec<u64>) {
    let mut codes = Vec::new();
    for _ in 0..50 {
        let answer = parse(&server.send_message(&call(1, tool, arguments)));
        let result = &answer["result"];
        if result["isError"] != true {
            return (result["structuredContent"].clone(), codes);
        }
        let error = &result["error"];
        assert_eq!(error["retryable"], true, "{error}");
        codes.push(error["code"].as_u64().unwrap());
        let wait = error["details"]["context"]["retryAfterMs"].as_u64();
        sleep(Duration::from_millis(wait.unwrap_or(1)));
    }
    panic!("{tool} never passes: {codes:?}");
}

/// PostgreSQL is stopped under a server: 4002 for reads and changes alike, and afterwards all is well.
#[test]
fn stopped_database_is_4002() {
    let Some(fixture) = OrdersFixture::postgres() else {
        return;
    };
    let server = fixture.http(&["--breaker-failures", "0", "--attempts", "1"]);
    let mut client = &server;
    client.create_order(&order("a", "TEA", 1));
    fixture.server().stop();
    let arguments = order("k", "TEA", 1);
    let answers = [
        client.call_err_in_both_eras("create-sales-order", &arguments),
        client.call_err_in_both_eras("get-orders", &json!({})),
    ];
    assert_snapshot!(mask(&answers.join("\n")));
    for answer in &answers {
        assert_eq!(
            check_failure(answer)["details"]["context"]["effect"],
            "none"
        );
    }
    fixture.server().restart().unwrap();
    let (created, _) = call_with_retries(&server, "create-sales-order", &arguments);
    assert_eq!(created["order"]["status"], "pending");
    assert_eq!(fixture.database().lines("SELECT COUNT(*) FROM orders"), "2");
}

/// Three failures in a row open the breaker. After the wait that it reports, the next call is the probe
/// that closes it.
#[test]
fn open_breaker_is_4002_until_a_probe_succeeds() {
    let fixture = OrdersFixture::sqlite();
    let script = r#"{"rules":[{"operations":["create-sales-order"],"calls":[1,2,3],"fault":{"kind":"unavailable"}}]}"#;
    let flags = [
        "--attempts",
        "1",
        "--breaker-failures",
        "3",
        "--breaker-pause-ms",
        "300",
    ];
    let server = fixture.faulty_http(script, &flags);
    let mut client = &server;
    for _ in 0..3 {
        let error = client.call_err("create-sales-order", &order("k", "TEA", 1));
        assert_eq!((&error["code"], wait_of(&error)), (&json!(4002), 1000));
    }
    // Open: no change reaches the backend. Queries have a breaker of their own.
    let metrics = server.get("/metrics", &[]).text();
    assert!(metrics.contains(r#"candor_orders_breaker_open{breaker="changes"} 1"#));
    assert!(metrics.contains(r#"candor_orders_breaker_open{breaker="queries"} 0"#));
    client.call_ok("get-orders", &json!({}));
    let answer = client.send_message(&call(1, "create-sales-order", order("k", "TEA", 1)));
    assert_snapshot!(mask_waits(&answer), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":4002,\"message\":\"Backend is unavailable: it failed repeatedly and is left alone for a while\",\"retryable\":true,\"details\":{\"suggestion\":\"Wait `retryAfterMs`, then send the same call with the same idempotencyKey.\",\"context\":{\"class\":\"upstream\",\"effect\":\"none\",\"retryAfterMs\":MS,\"key\":\"keep\"}}}}"}],"structuredContent":{"error":{"code":4002,"message":"Backend is unavailable: it failed repeatedly and is left alone for a while","retryable":true,"details":{"suggestion":"Wait `retryAfterMs`, then send the same call with the same idempotencyKey.","context":{"class":"upstream","effect":"none","retryAfterMs":MS,"key":"keep"}}}},"isError":true,"error":{"code":4002,"message":"Backend is unavailable: it failed repeatedly and is left alone for a while","retryable":true,"details":{"suggestion":"Wait `retryAfterMs`, then send the same call with the same idempotencyKey.","context":{"class":"upstream","effect":"none","retryAfterMs":MS,"key":"keep"}}}}}"#);
    let error = check_failure(&answer);
    assert!((1..=300).contains(&wait_of(&error)), "{error}");
    let newer = client.send_stateless("create-sales-order", &order("k", "TEA", 1));
    assert_eq!(check_failure(&newer)["code"], 4002);
    assert_eq!(fixture.database().lines("SELECT COUNT(*) FROM orders"), "0");
    sleep(Duration::from_millis(wait_of(&error)));
    client.create_order(&order("k", "TEA", 1));
    client.call_ok("get-orders", &json!({}));
    let metrics = server.get("/metrics", &[]).text();
    let refused = metrics.lines().filter(|line| line.contains("breaker"));
    let mut refused: Vec<_> = refused.filter(|line| !line.starts_with('#')).collect();
    refused.sort_unstable();
    assert_snapshot!(refused.join("\n"), @r#"
    candor_breaker_refusals_total{tool="create-sales-order"} 2
    candor_orders_breaker_open{breaker="changes"} 0
    candor_orders_breaker_open{breaker="queries"} 0
    "#);
}

/// A probe that fails opens the breaker again at once.
#[test]
fn failed_probe_opens_the_breaker_again() {
    let fixture = OrdersFixture::sqlite();
    let script = r#"{"rules":[{"operations":["get-orders"],"calls":[1,2,3],"fault":{"kind":"unavailable"}}]}"#;
    let flags = [
        "--attempts",
        "1",
        "--breaker-failures",
        "2",
        "--breaker-pause-ms",
        "100",
    ];
    let server = fixture.faulty_http(script, &flags);
    let (orders, codes) = call_with_retries(&server, "get-orders", &json!({}));
    assert_eq!(orders["orders"], json!([]));
    // Two failures that open it, the failed probe, and calls that came too early.
    assert!(codes.len() >= 3, "{codes:?}");
    assert!(codes.iter().all(|code| *code == 4002), "{codes:?}");
}

/// A call without an answer has an unknown effect; the same key returns its result.
#[test]
fn lost_answer_is_4002_with_an_unknown_effect() {
    let answers = OrdersFixture::for_each_database().map(|fixture| {
        let script = r#"{"rules":[{"calls":[1],"fault":{"kind":"lost-answer"}}]}"#;
        let server = fixture.faulty_http(script, &["--attempts", "1"]);
        let arguments = order("k", "TEA", 1);
        let answer = (&server).send_message(&call(1, "create-sales-order", &arguments));
        check_failure(&answer);
        let id = fixture.database().lines("SELECT id FROM orders");
        assert_eq!((&server).create_order(&arguments), id);
        assert_eq!(fixture.database().lines("SELECT COUNT(*) FROM orders"), "1");
        answer
    });
    assert_snapshot!(all_equal(answers), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":4002,\"message\":\"Backend is unavailable\",\"retryable\":true,\"details\":{\"suggestion\":\"Wait `retryAfterMs`, then send the same call with the same idempotencyKey.\",\"context\":{\"class\":\"upstream\",\"effect\":\"unknown\",\"retryAfterMs\":1000,\"key\":\"keep\"}}}}"}],"structuredContent":{"error":{"code":4002,"message":"Backend is unavailable","retryable":true,"details":{"suggestion":"Wait `retryAfterMs`, then send the same call with the same idempotencyKey.","context":{"class":"upstream","effect":"unknown","retryAfterMs":1000,"key":"keep"}}}},"isError":true,"error":{"code":4002,"message":"Backend is unavailable","retryable":true,"details":{"suggestion":"Wait `retryAfterMs`, then send the same call with the same idempotencyKey.","context":{"class":"upstream","effect":"unknown","retryAfterMs":1000,"key":"keep"}}}}}"#);
}

#[test]
fn missing_operation_is_5001_and_its_tool_stays_listed() {
    let fixture = OrdersFixture::sqlite();
    let script =
        r#"{"rules":[{"operations":["create-return"],"every":1,"fault":{"kind":"unsupported"}}]}"#;
    let server = fixture.faulty_http(script, &[]);
    let returned = json!({
        "orderId": "ord_1", "outcome": "refund", "idempotencyKey": "k",
        "lineItems": [{ "sku": "TEA", "quantity": 1 }],
    });
    let answer = (&server).call_err_in_both_eras("create-return", &returned);
    assert_snapshot!(answer, @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":5001,\"message\":\"Not implemented by this adapter\",\"retryable\":false,\"details\":{\"suggestion\":\"Use another tool; this adapter cannot do it. This call did not bind the idempotencyKey.\",\"context\":{\"class\":\"upstream\",\"effect\":\"none\",\"retryAfterMs\":null,\"key\":\"free\"}}}}"}],"structuredContent":{"error":{"code":5001,"message":"Not implemented by this adapter","retryable":false,"details":{"suggestion":"Use another tool; this adapter cannot do it. This call did not bind the idempotencyKey.","context":{"class":"upstream","effect":"none","retryAfterMs":null,"key":"free"}}}},"isError":true,"error":{"code":5001,"message":"Not implemented by this adapter","retryable":false,"details":{"suggestion":"Use another tool; this adapter cannot do it. This call did not bind the idempotencyKey.","context":{"class":"upstream","effect":"none","retryAfterMs":null,"key":"free"}}}}}"#);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let tools = parse(&(&server).send_message(list));
    let tools = tools["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"create-return") && names.len() == 12,
        "{names:?}"
    );
}
