//! `candor serve` and `candor orders serve`: paths, health, metrics,
//! and answers that fit the published schemas.

use crate::fixture::{CANDOR, LIMIT};
use crate::orders::fixture::{OrdersFixture, SERVED};
use crate::orders::masking::mask;
use crate::orders::requests::{OrderCalls, address, order};
use crate::requests::{Transport, call, parse};
use candor_testkit::{Exit, Http};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// The tools beside the others, on a store in the data directory.
#[test]
fn order_tools_are_part_of_serve() {
    let fixture = OrdersFixture::empty();
    let data = fixture.path("data");
    let arguments = ["serve", "--port", "0", "--data-dir", data.to_str().unwrap()];
    let mut server = Http::spawn(CANDOR, &arguments).at("/orders/mcp");
    server.reaching(SERVED);
    let mut client = &server;
    let orders = client.call_ok("get-orders", &json!({}));
    assert_eq!(orders, json!({ "orders": [], "nextCursor": null }));
    client.call_err_in_both_eras(
        "cancel-order",
        &json!({ "orderId": "none", "idempotencyKey": "k" }),
    );
    let health = server.get("/health", &[]);
    assert_eq!(health.status, 200, "{}", health.text());
    let metrics = server.get("/metrics", &[]).text();
    assert_snapshot!(counters(&metrics, &["calls_total"]), @r#"
    candor_calls_total{tool="cancel-order",code="4001"} 2
    candor_calls_total{tool="get-orders",code="ok"} 1
    "#);
    server.signal("TERM");
    assert_eq!(server.process().exit_within(LIMIT), Some(Exit::Code(0)));
    assert!(data.join("orders.db").exists());
}

/// The counters whose names have one of these words in them, sorted.
fn counters(metrics: &str, words: &[&str]) -> String {
    let is_call_counter = |line: &&str| {
        let named = words.iter().any(|word| line.contains(word));
        !line.starts_with('#') && named
    };
    let mut lines: Vec<_> = metrics.lines().filter(is_call_counter).collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// Retries and failures are counted by tool and code.
#[test]
fn metrics_count_retries_and_failures() {
    let fixture = OrdersFixture::sqlite();
    let script =
        r#"{"rules":[{"operations":["get-orders"],"calls":[1],"fault":{"kind":"unavailable"}}]}"#;
    let server = fixture.faulty_http(script, &[]);
    (&server).call_ok("get-orders", &json!({}));
    (&server).call_err_in_both_eras("create-sales-order", &order("k", "NONE", 1));
    let metrics = server.get("/metrics", &[]).text();
    assert_snapshot!(counters(&metrics, &["retries_total", "calls_total"]), @r#"
    candor_calls_total{tool="create-sales-order",code="4001"} 2
    candor_calls_total{tool="get-orders",code="ok"} 1
    candor_retries_total{tool="get-orders",code="4002"} 1
    "#);
}

/// A whole life of an order, each answer as published; successes and failures fit `outputSchema`.
#[test]
fn answers_fit_the_output_schemas() {
    for fixture in OrdersFixture::for_each_database() {
        let mut server = fixture.stdio(&[]);
        let list = parse(&server.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#));
        let mut steps = Vec::new();
        let mut arguments = order("a", "CUP", 3);
        arguments["order"]["shippingAddress"] = address();
        arguments["order"]["customer"] = json!({ "email": "Bob@example.com", "firstName": "Bob" });
        arguments["order"]["externalId"] = json!("web-1");
        let id = server.create_order(&arguments);
        let about = |key: &str| json!({ "orderId": id, "idempotencyKey": key });
        let mut update = about("b");
        update["updates"] = json!({ "status": "confirmed", "tags": ["gift"] });
        let mut cancel = about("c");
        cancel["lineItems"] = json!([{ "sku": "CUP", "quantity": 1 }]);
        let mut back = about("e");
        back["lineItems"] = json!([{ "sku": "CUP", "quantity": 1 }]);
        back["outcome"] = json!("store-credit");
        for (tool, arguments) in [
            ("create-sales-order", arguments),
            ("update-order", update),
            ("cancel-order", cancel),
            ("fulfill-order", about("d")),
            ("create-return", back),
            ("cancel-order", about("f")),
            ("get-orders", json!({ "skus": ["CUP"] })),
            ("get-customers", json!({ "emails": ["bob@EXAMPLE.com"] })),
            ("get-products", json!({})),
            ("get-product-variants", json!({ "skus": ["CUP"] })),
            ("get-inventory", json!({ "skus": ["CUP"] })),
            ("get-fulfillments", json!({ "orderIds": [id] })),
            ("get-returns", json!({ "orderIds": [id] })),
            ("get-returns", json!({ "cursor": "none" })),
        ] {
            let answer = server.send_message(&call(1, tool, &arguments));
            fits(&list, tool, &parse(&answer)["result"]["structuredContent"]);
            steps.push(format!("{tool} {}", mask(&answer)));
        }
        assert_snapshot!("story", steps.join("\n"));
        let stock = "SELECT on_hand, reserved FROM variants WHERE sku = 'CUP'";
        assert_eq!(fixture.database().lines(stock), "3 0");
    }
}

fn fits(list: &Value, tool: &str, structured: &Value) {
    let tools = list["result"]["tools"].as_array().unwrap();
    let published = tools.iter().find(|listed| listed["name"] == tool).unwrap();
    let schema = jsonschema::validator_for(&published["outputSchema"]).unwrap();
    let wrong: Vec<_> = schema
        .iter_errors(structured)
        .map(|error| error.to_string())
        .collect();
    assert!(wrong.is_empty(), "{tool}: {wrong:?}\n{structured}");
}
