//! A full disk under a SQLite file, on a small file system of the server's own.

use crate::orders::fixture::{OrdersFixture, SERVED, UNLIMITED};
use crate::orders::masking::mask;
use crate::orders::requests::{OrderCalls, check_failure, order};
use crate::requests::{Transport, call};
use candor_testkit::{Exit, Stdio, on_small_disk};
use insta::assert_snapshot;
use serde_json::json;
use std::fs;

/// The size of the file system in bytes.
const SIZE: usize = 8 * 1024 * 1024;

/// Starts the server of a fixture, whose root is a small file system with the same content.
fn start_on_small_disk(fixture: &OrdersFixture) -> Option<Stdio> {
    let flags = ["serve", "--breaker-failures", "0", "--attempts", "1"];
    let flags: Vec<_> = flags.iter().chain(&UNLIMITED).copied().collect();
    let command = on_small_disk(&fixture.command(&flags), fixture.root(), SIZE)?;
    let mut server = Stdio::start(command);
    server.reaching(SERVED);
    Some(server)
}

#[test]
fn full_disk_is_reported_and_changes_nothing() {
    let fixture = OrdersFixture::sqlite();
    let Some(mut server) = start_on_small_disk(&fixture) else {
        return;
    };
    let first = server.create_order(&order("k0", "TEA", 1));
    // Another program fills the file system.
    let pid = server.process().pid();
    let filler = format!("/proc/{pid}/root{}/filler", fixture.root().display());
    assert!(fs::write(&filler, vec![0; SIZE]).is_err(), "it is full");
    let order_arguments = |number: usize| {
        let mut arguments = order(&format!("k{number}"), "TEA", 1);
        arguments["order"]["notes"] = json!("x".repeat(4000));
        arguments
    };
    let mut created = 1;
    let failed = loop {
        let answer = server.send_message(&call(1, "create-sales-order", order_arguments(created)));
        if answer.contains("isError") {
            break answer;
        }
        created += 1;
        assert!(created < 5_000, "the disk is not full");
    };
    check_failure(&failed);
    assert_snapshot!(mask(&failed), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":4002,\"message\":\"Backend is unavailable\",\"retryable\":true,\"details\":{\"suggestion\":\"Wait `retryAfterMs`, then send the same call with the same idempotencyKey.\",\"context\":{\"class\":\"upstream\",\"effect\":\"unknown\",\"retryAfterMs\":1000,\"key\":\"keep\"}}}}"}],"structuredContent":{"error":{"code":4002,"message":"Backend is unavailable","retryable":true,"details":{"suggestion":"Wait `retryAfterMs`, then send the same call with the same idempotencyKey.","context":{"class":"upstream","effect":"unknown","retryAfterMs":1000,"key":"keep"}}}},"isError":true,"error":{"code":4002,"message":"Backend is unavailable","retryable":true,"details":{"suggestion":"Wait `retryAfterMs`, then send the same call with the same idempotencyKey.","context":{"class":"upstream","effect":"unknown","retryAfterMs":1000,"key":"keep"}}}}}"#);
    // It fails again, and reading still works.
    let again = server.call_err("create-sales-order", &order_arguments(created));
    assert_eq!(again["code"], 4002, "{again}");
    let orders = server.call_ok("get-orders", &json!({ "ids": [first] }));
    assert_eq!(orders["orders"][0]["status"], "pending");
    let stock = server.call_ok("get-inventory", &json!({ "skus": ["TEA"] }));
    assert_eq!(stock["inventory"][0]["reservedTotal"], created);
    fs::remove_file(&filler).unwrap();
    // The same key makes it now, and once.
    let id = server.create_order(&order_arguments(created));
    assert_eq!(server.create_order(&order_arguments(created)), id);
    let stock = server.call_ok("get-inventory", &json!({ "skus": ["TEA"] }));
    assert_eq!(stock["inventory"][0]["reservedTotal"], created + 1);
    assert_eq!(server.end().1, Exit::Code(0));
}
