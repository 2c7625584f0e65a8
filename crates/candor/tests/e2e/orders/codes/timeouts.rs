//! 3002: an order system that hangs, and a database with a blocking transaction.

use crate::orders::fixture::OrdersFixture;
use crate::orders::masking::all_equal;
use crate::orders::requests::{OrderCalls, check_failure, order};
use crate::requests::{Transport, call, parse};
use candor_testkit::Http;
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A deadline that passes soon, though not before a connection is made on a busy machine.
const SOON: [&str; 4] = ["--deadline-ms", "1000", "--breaker-failures", "0"];

#[test]
fn hanging_system_is_3002() {
    let fixture = OrdersFixture::sqlite();
    let script = r#"{"rules":[
        {"operations":["create-sales-order"],"every":1,"fault":{"kind":"hang"}},
        {"operations":["cancel-order"],"every":1,"fault":{"kind":"lost-hang"}},
        {"operations":["get-orders"],"every":1,"fault":{"kind":"timeout"}}]}"#;
    let clean = fixture.http(&[]);
    let id = (&clean).create_order(&order("a", "TEA", 1));
    drop(clean);
    let server = fixture.faulty_http(script, &SOON);
    let mut server = &server;
    let cancel = json!({ "orderId": id, "idempotencyKey": "n" });
    // Sent once: a second call would return the result of the first.
    let lost = server.send_message(&call(1, "cancel-order", &cancel));
    check_failure(&lost);
    let answers = [
        server.call_err_in_both_eras("create-sales-order", &order("k", "TEA", 1)),
        lost,
        server.call_err_in_both_eras("get-orders", &json!({})),
    ];
    assert_snapshot!(answers.join("\n"));
    // The hanging call did not reach the store; the lost answer came after the change.
    assert_eq!(
        fixture.database().lines("SELECT status FROM orders"),
        "cancelled"
    );
}

/// If another transaction holds a lock that the call needs, the call fails at its deadline without an
/// effect, nothing of it continues, and the same key makes the change once the lock is free.
#[test]
fn blocked_database_is_3002_and_changes_nothing() {
    let answers = OrdersFixture::for_each_database().map(|fixture| {
        let server = fixture.http(&SOON);
        let database = fixture.database();
        let arguments = order("k", "TEA", 1);
        let start = Instant::now();
        let answer = database.while_tea_is_locked(|| {
            (&server).call_err_in_both_eras("create-sales-order", &arguments)
        });
        let waited = start.elapsed();
        assert!(waited >= Duration::from_secs(1), "two calls in {waited:?}");
        assert_eq!(database.lines("SELECT COUNT(*) FROM orders"), "0");
        assert_eq!(database.lines("SELECT COUNT(*) FROM keys"), "0");
        // The database may end the waiting transaction a moment later, so the same key is sent again.
        let id = create_with_retries(&server, &arguments);
        let rows = database.lines("SELECT id, status FROM orders");
        assert_eq!(rows, format!("{id} pending"));
        let reserved = "SELECT reserved FROM variants WHERE sku = 'TEA'";
        assert_eq!(database.lines(reserved), "1");
        answer
    });
    assert_snapshot!(all_equal(answers), @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":3002,\"message\":\"Operation timed out: others use what the call needs\",\"retryable\":true,\"details\":{\"suggestion\":\"Send the same call with the same idempotencyKey; it finds what the first attempt did.\",\"context\":{\"class\":\"limit\",\"effect\":\"none\",\"retryAfterMs\":null,\"key\":\"keep\",\"waitedFor\":\"lock\"}}}}"}],"structuredContent":{"error":{"code":3002,"message":"Operation timed out: others use what the call needs","retryable":true,"details":{"suggestion":"Send the same call with the same idempotencyKey; it finds what the first attempt did.","context":{"class":"limit","effect":"none","retryAfterMs":null,"key":"keep","waitedFor":"lock"}}}},"isError":true,"error":{"code":3002,"message":"Operation timed out: others use what the call needs","retryable":true,"details":{"suggestion":"Send the same call with the same idempotencyKey; it finds what the first attempt did.","context":{"class":"limit","effect":"none","retryAfterMs":null,"key":"keep","waitedFor":"lock"}}}}}"#);
}

/// Repeats a call as the contract allows. Returns the id of the order.
fn create_with_retries(mut server: &Http, arguments: &Value) -> String {
    for _ in 0..20 {
        let answer = server.send_message(&call(1, "create-sales-order", arguments));
        let answer = parse(&answer);
        let order_id = &answer["result"]["structuredContent"]["order"]["id"];
        match order_id.as_str() {
            Some(id) => return id.to_owned(),
            None => assert_eq!(answer["result"]["error"]["retryable"], true, "{answer}"),
        }
    }
    panic!("the lock is free, and the call still fails");
}
