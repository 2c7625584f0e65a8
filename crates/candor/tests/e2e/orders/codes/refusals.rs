//! 4001: every refusal of the database, with its identifier.

use crate::orders::fixture::OrdersFixture;
use crate::orders::masking::{all_equal, mask};
use crate::orders::requests::{OrderCalls, address, order};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The identifiers of refusals, in the order of the test below.
const EVERY: [&str; 11] = [
    "CUSTOMER_NOT_FOUND",
    "EXTERNAL_ID_CONFLICT",
    "IDEMPOTENCY_KEY_REUSED",
    "INSUFFICIENT_INVENTORY",
    "INVALID_ORDER_STATE",
    "LOCATION_NOT_FOUND",
    "ORDER_NOT_FOUND",
    "QUANTITY_EXCEEDS_OPEN",
    "RETURN_EXCEEDS_FULFILLED",
    "SKU_NOT_FOUND",
    "WRITE_TOKEN_REQUIRED",
];

/// Returns an order with an address and another member.
fn shippable(key: &str, quantity: u64, member: &str, value: Value) -> Value {
    let mut arguments = order(key, "CUP", quantity);
    arguments["order"]["shippingAddress"] = address();
    arguments["order"][member] = value;
    arguments
}

fn about(id: &str, key: &str) -> Value {
    json!({ "orderId": id, "idempotencyKey": key })
}

fn with_lines(id: &str, key: &str, sku: &str, quantity: u64) -> Value {
    let mut arguments = about(id, key);
    arguments["lineItems"] = json!([{ "sku": sku, "quantity": quantity }]);
    arguments
}

/// Every refusal once, on a store of five cups at two places.
fn refusals(server: &mut dyn OrderCalls) -> Vec<String> {
    let first = server.create_order(&shippable("a", 2, "externalId", json!("web-1")));
    let second = server.create_order(&shippable("b", 2, "name", json!("#2")));
    let create = "create-sales-order";
    let unknown = json!({ "id": "cus_0" });
    let mut at_south = with_lines(&first, "f1", "CUP", 1);
    at_south["locationId"] = json!("loc_9");
    let mut returned = with_lines(&first, "r1", "CUP", 1);
    returned["outcome"] = json!("refund");
    let mut answers = vec![
        server.call_err_in_both_eras(create, &order("c1", "NONE", 1)),
        server.call_err_in_both_eras(create, &shippable("c2", 1, "customer", unknown)),
        server.call_err_in_both_eras(create, &shippable("c3", 1, "externalId", json!("web-1"))),
        server.call_err_in_both_eras(create, &order("c4", "CUP", 2)),
        server.call_err_in_both_eras(create, &order("a", "CUP", 1)),
        server.call_err_in_both_eras("cancel-order", &about("ord_none", "n1")),
        server.call_err_in_both_eras("fulfill-order", &at_south),
        server.call_err_in_both_eras("fulfill-order", &with_lines(&first, "f2", "CUP", 3)),
        server.call_err_in_both_eras("cancel-order", &with_lines(&first, "n2", "TEA", 1)),
        server.call_err_in_both_eras("create-return", &returned),
    ];
    server.call_ok("cancel-order", &about(&second, "n3"));
    answers.push(server.call_err_in_both_eras("cancel-order", &about(&second, "n4")));
    answers
}

#[test]
fn refusals_of_the_database_are_4001_with_their_identifier() {
    let mut answers = Vec::new();
    for fixture in OrdersFixture::for_each_database() {
        answers.push(mask(&refusals(&mut &fixture.http(&[])).join("\n")));
        let stock = "SELECT sku, on_hand, reserved FROM variants ORDER BY sku";
        // The first order still has its two; nothing that was refused took any.
        assert_eq!(fixture.database().lines(stock), "CUP 5 2\nTEA 1000000 0");
        let refused = "SELECT COUNT(*) FROM records WHERE outcome <> 'done'";
        assert_eq!(
            fixture.database().lines(refused),
            "10",
            "each on record, but for the key of another call"
        );
    }
    let other = OrdersFixture::sqlite();
    answers.push(mask(&refusals(&mut other.stdio(&[])).join("\n")));
    let first = all_equal(answers);
    assert_snapshot!(first);
    let mut identifiers: BTreeSet<_> = first
        .split(r#""originalError":""#)
        .skip(1)
        .map(|rest| &rest[..rest.find('"').unwrap()])
        .collect();
    identifiers.insert("WRITE_TOKEN_REQUIRED");
    assert_eq!(identifiers.into_iter().collect::<Vec<_>>(), EVERY);
}

/// Returns the refusals of payments and returns, on an order of which two cups were shipped.
fn support_refusals(server: &mut dyn OrderCalls) -> Vec<String> {
    let id = server.create_order(&shippable("a", 2, "name", json!("#1")));
    server.call_ok("fulfill-order", &about(&id, "f"));
    let mut returned = with_lines(&id, "r", "CUP", 1);
    returned["outcome"] = json!("refund");
    let returned = server.call_ok("create-return", &returned)["return"]["id"].clone();
    let update = |key: &str, updates: Value| {
        let mut arguments = about(&id, key);
        arguments["updates"] = updates;
        arguments
    };
    let paid = json!([{ "reference": "ch_1", "method": "card", "amount": "1.00" }]);
    server.call_ok("update-order", &update("p", json!({ "payments": paid })));
    let refund = json!([{ "reference": "re_1", "amount": "1.01" }]);
    let skipped = json!([{ "id": returned, "status": "completed" }]);
    let unknown = json!([{ "id": "ret_none", "status": "received" }]);
    [
        update("u1", json!({ "payments": paid })),
        update("u2", json!({ "refunds": refund })),
        update("u3", json!({ "returns": skipped })),
        update("u4", json!({ "returns": unknown })),
    ]
    .iter()
    .map(|arguments| server.call_err_in_both_eras("update-order", arguments))
    .collect()
}

#[test]
fn refusals_of_payments_and_returns_are_4001_with_their_identifier() {
    let answers = OrdersFixture::for_each_database()
        .map(|fixture| mask(&support_refusals(&mut &fixture.http(&[])).join("\n")));
    let first = all_equal(answers);
    for identifier in [
        "PAYMENT_REFERENCE_CONFLICT",
        "REFUND_EXCEEDS_PAID",
        "INVALID_RETURN_STATE",
        "RETURN_NOT_FOUND",
    ] {
        assert!(
            first.contains(&format!(r#""originalError":"{identifier}""#)),
            "{first}"
        );
    }
}

/// A call with the read token is refused before anything is read.
#[test]
fn change_without_the_write_token_is_4001() {
    let fixture = OrdersFixture::sqlite();
    let (read, write) = (fixture.write("read", "one"), fixture.write("write", "two"));
    let server = fixture.http(&["--bearer-file", &read, "--write-bearer-file", &write]);
    let server = server.with_header("Authorization", "Bearer one");
    let answer = (&server).call_err_in_both_eras("create-sales-order", &order("k", "TEA", 1));
    assert_snapshot!(answer, @r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"error\":{\"code\":4001,\"message\":\"Adapter error: this server takes changes only with its write token\",\"retryable\":false,\"details\":{\"suggestion\":\"Ask the owner of the server for the write token; reading works without it. This call did not bind the idempotencyKey.\",\"context\":{\"class\":\"upstream\",\"effect\":\"none\",\"retryAfterMs\":null,\"key\":\"free\"},\"originalError\":\"WRITE_TOKEN_REQUIRED\"}}}"}],"structuredContent":{"error":{"code":4001,"message":"Adapter error: this server takes changes only with its write token","retryable":false,"details":{"suggestion":"Ask the owner of the server for the write token; reading works without it. This call did not bind the idempotencyKey.","context":{"class":"upstream","effect":"none","retryAfterMs":null,"key":"free"},"originalError":"WRITE_TOKEN_REQUIRED"}}},"isError":true,"error":{"code":4001,"message":"Adapter error: this server takes changes only with its write token","retryable":false,"details":{"suggestion":"Ask the owner of the server for the write token; reading works without it. This call did not bind the idempotencyKey.","context":{"class":"upstream","effect":"none","retryAfterMs":null,"key":"free"},"originalError":"WRITE_TOKEN_REQUIRED"}}}}"#);
    (&server).call_ok("get-orders", &json!({}));
    assert_eq!(fixture.database().lines("SELECT COUNT(*) FROM orders"), "0");
}

/// Identifiers of another order system reach the client, its texts do not.
#[test]
fn identifiers_of_other_systems_are_passed_on() {
    let fixture = OrdersFixture::sqlite();
    let script = r#"{"rules":[
        {"operations":["create-sales-order"],"every":1,"fault":{"kind":"refused","originalError":"CREDIT_HOLD","retryable":false}},
        {"operations":["get-orders"],"every":1,"fault":{"kind":"refused","originalError":"NIGHTLY_RUN","retryable":true}},
        {"operations":["get-products"],"every":1,"fault":{"kind":"garbage"}}]}"#;
    let server = fixture.faulty_http(script, &["--attempts", "1", "--breaker-failures", "0"]);
    let mut server = &server;
    let answers = [
        server.call_err_in_both_eras("create-sales-order", &order("k", "TEA", 1)),
        server.call_err_in_both_eras("get-orders", &json!({})),
        server.call_err_in_both_eras("get-products", &json!({})),
    ];
    assert_snapshot!(answers.join("\n"));
}
