//! Invalid requests, schema violations and internal errors: JSON-RPC errors.

use crate::orders::fixture::OrdersFixture;
use crate::orders::masking::all_equal;
use crate::orders::requests::{OrderCalls, check_failure, order};
use crate::requests::Transport;
use candor_testkit::Exit;
use insta::assert_snapshot;
use serde_json::json;

#[test]
fn invalid_requests_are_json_rpc_errors() {
    let fixture = OrdersFixture::sqlite();
    let mut server = fixture.stdio(&[]);
    let answers = [
        "nonsense",
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/none"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create-sales-odrer"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#,
    ]
    .map(|message| {
        let answer = server.ask(message);
        check_failure(&answer);
        answer
    });
    assert_snapshot!(answers.join("\n"));
}

/// One violation of each kind, and several together: they are in order.
#[test]
fn schema_violations_are_32602() {
    let fixture = OrdersFixture::sqlite();
    let server = fixture.http(&[]);
    let line = |line| json!({ "order": { "lineItems": [line] }, "idempotencyKey": "k" });
    let answers = [
        ("create-sales-order", json!({})),
        ("create-sales-order", line(json!({ "sku": "TEA" }))),
        (
            "create-sales-order",
            line(json!({ "sku": "TEA", "quantity": 0 })),
        ),
        (
            "create-sales-order",
            line(json!({ "sku": "TEA", "quantity": 1.5 })),
        ),
        (
            "create-sales-order",
            line(json!({ "sku": "TEA", "quantity": 1, "unitPrice": "-1" })),
        ),
        (
            "create-sales-order",
            line(json!({ "sku": "TEA", "quantity": 1, "__proto__": 1 })),
        ),
        (
            "create-sales-order",
            json!({ "order": { "lineItems": [] } }),
        ),
        (
            "get-orders",
            json!({ "pageSize": 101, "statuses": ["lost"] }),
        ),
    ]
    .map(|(tool, arguments)| {
        let answer = (&server).send_message(&crate::requests::call(1, tool, &arguments));
        assert_eq!(check_failure(&answer)["code"], -32602);
        answer
    });
    assert_snapshot!(answers.join("\n"));
    assert_eq!(fixture.database().lines("SELECT COUNT(*) FROM orders"), "0");
}

/// A database with changed tables is an internal error without details.
#[test]
fn broken_store_is_32603() {
    let answers = OrdersFixture::for_each_database().map(|fixture| {
        fixture.database().run("DROP TABLE records");
        let mut server = fixture.stdio(&[]);
        let answer = server.call_err_in_both_eras("create-sales-order", &order("k", "TEA", 1));
        for table in ["orders", "keys"] {
            let count = format!("SELECT COUNT(*) FROM {table}");
            assert_eq!(fixture.database().lines(&count), "0");
        }
        assert_eq!(server.end().1, Exit::Code(0));
        answer
    });
    assert_snapshot!(all_equal(answers), @r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"fault":{"class":"server","retry":"never","retry_after_ms":null,"effect":"none","remedy":"Report it to the owner of the server with the time of the call."}}}}"#);
}
