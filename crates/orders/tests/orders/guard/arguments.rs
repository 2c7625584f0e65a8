//! Wrong arguments: one answer each, in both forms. The order system is never reached.

use crate::fixture::guarded::{GuardedServer, ServerBuilder, order};
use crate::fixture::scripted_adapter::AdapterStep;
use candor_call_fixtures::{call, call_by};
use candor_orders::dialect::schemas;
use candor_street::{CancellationToken, FailureForm};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Arguments that are wrong in one way, with a name for it.
struct Case {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
}

fn case(name: &'static str, tool: &'static str, arguments: Value) -> Case {
    Case {
        name,
        tool,
        arguments,
    }
}

/// The smallest new order with something else at `path`.
fn create(name: &'static str, path: &str, value: Value) -> Case {
    let mut arguments = order();
    let (parent, last) = path.rsplit_once('/').unwrap();
    let parent = arguments.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
        parent => parent[last] = value,
    }
    case(name, "create-sales-order", arguments)
}

/// A query of orders with one argument.
fn find(name: &'static str, argument: &str, value: Value) -> Case {
    case(name, "get-orders", json!({ argument: value }))
}

fn types() -> Vec<Case> {
    vec![
        case("arguments are an array", "get-orders", json!([1])),
        case("arguments are null", "get-orders", Value::Null),
        create("an order that is a text", "/order", json!("order")),
        create("lines that are an object", "/order/lineItems", json!({})),
        create("a line that is null", "/order/lineItems/0", Value::Null),
        create("a SKU that is a number", "/order/lineItems/0/sku", json!(1)),
        create(
            "a price that is a number",
            "/order/lineItems/0/unitPrice",
            json!(9.99),
        ),
        create("a currency that is null", "/order/currency", Value::Null),
        create("a key that is a number", "/idempotencyKey", json!(1)),
        find("a list that is a text", "ids", json!("1")),
        find("a page size that is a text", "pageSize", json!("20")),
    ]
}

fn members() -> Vec<Case> {
    let proto: Value = serde_json::from_str(r#"{"__proto__":{"admin":true}}"#).unwrap();
    vec![
        create(
            "an unknown member near a known one",
            "/order/lineitems",
            json!([]),
        ),
        create(
            "an unknown member of a line",
            "/order/lineItems/0/price",
            json!("1.00"),
        ),
        case("__proto__ in a query", "get-orders", proto.clone()),
        create("__proto__ in an order", "/order/__proto__", json!({})),
        create(
            "constructor in a line",
            "/order/lineItems/0/constructor",
            json!({}),
        ),
        create("no lines", "/order", json!({})),
        create(
            "lines under a name near to theirs",
            "/order",
            json!({ "lineitems": [] }),
        ),
        case(
            "no key",
            "create-sales-order",
            json!({ "order": order()["order"] }),
        ),
        case(
            "no order id",
            "cancel-order",
            json!({ "idempotencyKey": "k" }),
        ),
        case(
            "a filter of another entity",
            "get-customers",
            json!({ "statuses": ["pending"] }),
        ),
        case(
            "an update of nothing",
            "update-order",
            json!({ "orderId": "1", "updates": {}, "idempotencyKey": "k" }),
        ),
        case(
            "a status that an update may not set",
            "update-order",
            json!({ "orderId": "1", "updates": { "status": "shipped" }, "idempotencyKey": "k" }),
        ),
        create(
            "a customer without id and email",
            "/order/customer",
            json!({ "firstName": "A" }),
        ),
        case(
            "a return without lines",
            "create-return",
            json!({ "orderId": "1", "lineItems": [], "outcome": "refund", "idempotencyKey": "k" }),
        ),
    ]
}

fn numbers() -> Vec<Case> {
    let quantity = "/order/lineItems/0/quantity";
    vec![
        create("no quantity at all", quantity, json!(0)),
        create("a negative quantity", quantity, json!(-1)),
        create("half a unit", quantity, json!(1.5)),
        create("one more than a million", quantity, json!(1_000_001)),
        create("2^53+1", quantity, json!(9_007_199_254_740_993_u64)),
        create("2^64-1", quantity, json!(u64::MAX)),
        create("1e300", quantity, json!(1e300)),
        find("a page of nothing", "pageSize", json!(0)),
        find("a page of 101", "pageSize", json!(101)),
    ]
}

fn money() -> Vec<Case> {
    let priced = |name, currency: &str, price: &str| {
        let lines = json!([{ "sku": "A", "quantity": 1, "unitPrice": price }]);
        create(
            name,
            "/order",
            json!({ "currency": currency, "lineItems": lines }),
        )
    };
    let discounted = json!({
        "currency": "EUR",
        "lineItems": [{ "sku": "A", "quantity": 1, "unitPrice": "1.00", "unitDiscount": "1.01" }]
    });
    vec![
        priced("negative money", "USD", "-1.00"),
        priced("money with a plus", "USD", "+1.00"),
        priced("money with an exponent", "USD", "1e3"),
        priced("money with a comma", "USD", "1,00"),
        priced("money with blanks", "USD", " 1.00"),
        priced("money with a line break", "USD", "1.00\n"),
        priced("money without digits before the point", "USD", ".50"),
        priced("money with digits of another script", "USD", "\u{661}.00"),
        priced("three decimals of a currency with two", "USD", "1.005"),
        priced("two decimals of a currency without any", "JPY", "1.00"),
        priced("sixteen digits", "USD", "10000000000000.00"),
        create("a discount above the price", "/order", discounted),
        create("an unknown currency", "/order/currency", json!("ZZZ")),
        create(
            "a currency in small letters",
            "/order/currency",
            json!("usd"),
        ),
        create("a metal for a currency", "/order/currency", json!("XAU")),
    ]
}

fn instants() -> Vec<Case> {
    let range = |name, min: &str, max: &str| {
        let arguments = json!({ "updatedAtMin": min, "updatedAtMax": max });
        case(name, "get-returns", arguments)
    };
    vec![
        find("30 February", "createdAtMin", json!("2025-02-30T00:00:00Z")),
        find(
            "29 February of no leap year",
            "createdAtMin",
            json!("2025-02-29T00:00:00Z"),
        ),
        find("25 o'clock", "createdAtMax", json!("2025-02-01T25:00:00Z")),
        find("a date without a time", "createdAtMin", json!("2025-02-01")),
        find(
            "an instant without an offset",
            "createdAtMin",
            json!("2025-02-01T00:00:00"),
        ),
        find(
            "a number for an instant",
            "createdAtMin",
            json!(1_738_368_000),
        ),
        find(
            "a year of five digits",
            "createdAtMin",
            json!("12025-02-01T00:00:00Z"),
        ),
        range(
            "an inverted range",
            "2025-02-02T00:00:00Z",
            "2025-02-01T00:00:00Z",
        ),
        range(
            "a range that is inverted by its offsets",
            "2025-02-01T00:00:00-01:00",
            "2025-02-01T00:00:00+01:00",
        ),
    ]
}

fn cursors() -> Vec<Case> {
    vec![
        find("a cursor of nobody", "cursor", json!("MTIzNDU2Nzg5")),
        // A cursor of get-orders for statuses ["pending"].
        find(
            "a cursor of another query",
            "cursor",
            json!("MsVj3iq1rlwxNy5vcmRfMQ"),
        ),
        find(
            "a cursor that is no base64",
            "cursor",
            json!("../../etc/passwd"),
        ),
        find("a cursor called __proto__", "cursor", json!("__proto__")),
        find("an empty cursor", "cursor", json!("")),
        find(
            "a cursor of 1025 characters",
            "cursor",
            json!("A".repeat(1025)),
        ),
    ]
}

fn texts() -> Vec<Case> {
    let name = "/order/name";
    let country = |code: &str| json!({ "address1": "1 Road", "city": "Town", "country": code });
    vec![
        create("a NUL", name, json!("a\u{0}b")),
        create("an escape", name, json!("a\u{1b}[31mb")),
        create("a line break in a line", name, json!("a\nb")),
        create(
            "a control character of the second set",
            name,
            json!("a\u{85}b"),
        ),
        create("a line separator", name, json!("a\u{2028}b")),
        create("text that turns around", name, json!("a\u{202e}b")),
        create("an isolate", name, json!("a\u{2066}b")),
        create("a mark of direction", name, json!("a\u{200f}b")),
        create("a byte order mark", name, json!("\u{feff}a")),
        create("an escape in the notes", "/order/notes", json!("a\u{1b}b")),
        create(
            "text that turns around in a tag",
            "/order/tags",
            json!(["\u{202e}"]),
        ),
        create(
            "a control character in the key",
            "/idempotencyKey",
            json!("a\u{7}"),
        ),
        create("an empty key", "/idempotencyKey", json!("")),
        create(
            "a key of 256 characters",
            "/idempotencyKey",
            json!("k".repeat(256)),
        ),
        create("an empty SKU", "/order/lineItems/0/sku", json!("")),
        create(
            "a SKU of 256 characters",
            "/order/lineItems/0/sku",
            json!("é".repeat(256)),
        ),
        create(
            "a country that is none",
            "/order/shippingAddress",
            country("ZZ"),
        ),
        create(
            "a country in small letters",
            "/order/billingAddress",
            country("de"),
        ),
        create(
            "a country of three letters",
            "/order/billingAddress",
            country("DEU"),
        ),
        create(
            "mail without an @",
            "/order/customer",
            json!({ "email": "nobody" }),
        ),
        create(
            "mail with a blank",
            "/order/customer",
            json!({ "email": "a b@c.de" }),
        ),
        create(
            "mail that turns around",
            "/order/customer",
            json!({ "email": "a\u{202e}@c.de" }),
        ),
    ]
}

fn counts() -> Vec<Case> {
    let line = json!({ "sku": "A", "quantity": 1 });
    vec![
        create("501 lines", "/order/lineItems", json!(vec![line; 501])),
        create("no line in the list", "/order/lineItems", json!([])),
        create("51 tags", "/order/tags", json!(vec!["t"; 51])),
        create(
            "notes of 5001 characters",
            "/order/notes",
            json!("n".repeat(5001)),
        ),
        find("101 ids", "ids", json!(vec!["1"; 101])),
        find("an empty list of ids", "ids", json!([])),
    ]
}

fn server(failures: FailureForm) -> GuardedServer {
    let mut builder = ServerBuilder::default().with_every_call(vec![AdapterStep::Panic]);
    builder.config.failures = failures;
    builder.build()
}

#[tokio::test]
async fn wrong_arguments_are_answered_without_the_order_system() {
    let (protocol, result) = (server(FailureForm::Jsonrpc), server(FailureForm::Result));
    let error_schema = jsonschema::validator_for(&schemas::error()).unwrap();
    let result_schema = jsonschema::validator_for(&schemas::result()).unwrap();
    let kinds = [
        types(),
        members(),
        numbers(),
        money(),
        instants(),
        cursors(),
        texts(),
        counts(),
    ];
    let mut summary = String::new();
    for Case {
        name,
        tool,
        arguments,
    } in kinds.into_iter().flatten()
    {
        writeln!(summary, "# {name}: {tool}").unwrap();
        for server in [&protocol, &result] {
            let call = call(tool, arguments.clone());
            let response = server.call_until(call, CancellationToken::new()).await;
            let value = response.message();
            let fits = match value.get("error") {
                Some(error) => error_schema.is_valid(error),
                None => result_schema.is_valid(&value["result"]),
            };
            assert!(fits, "{}", response.line);
            writeln!(summary, "{}", response.line).unwrap();
        }
    }
    assert_eq!(protocol.adapter.count() + result.adapter.count(), 0);
    insta::assert_snapshot!(summary);
}

#[tokio::test]
async fn several_broken_rules_are_reported_together() {
    let address = json!({ "address1": "1 Road", "city": "Town", "country": "ZZ" });
    let lines = json!([{ "sku": "A", "quantity": 1, "unitPrice": "1.005" }]);
    let rules = create(
        "",
        "/order",
        json!({ "currency": "USD", "lineItems": lines, "total": "0.001", "shippingAddress": address }),
    );
    let with_schema = create(
        "",
        "/order",
        json!({ "currency": "ZZZ", "lineItems": [{ "sku": "", "quantity": 1 }], "shippingAddress": address }),
    );
    let query = case(
        "",
        "get-orders",
        json!({ "createdAtMin": "2026-01-02T00:00:00Z", "createdAtMax": "2026-01-01T00:00:00Z", "cursor": "AAAA" }),
    );
    let mut answers = String::new();
    for failures in [FailureForm::Jsonrpc, FailureForm::Result] {
        let server = server(failures);
        for one in [&rules, &with_schema, &query] {
            let call = call(one.tool, one.arguments.clone());
            let response = server.call_until(call, CancellationToken::new()).await;
            let value = response.message();
            let answer = match value.get("error") {
                Some(error) => error,
                None => &value["result"]["structuredContent"],
            };
            writeln!(answers, "{answer}").unwrap();
        }
    }
    insta::assert_snapshot!(answers);
}

#[tokio::test]
async fn unusual_valid_arguments_reach_the_order_system() {
    let server = ServerBuilder::default().build();
    let line = json!({ "sku": "A", "quantity": 1.0 });
    let fine = [
        create("a quantity of 1.0", "/order/lineItems/0", line.clone()),
        create("500 lines", "/order/lineItems", json!(vec![line; 500])),
        create(
            "a name in Arabic",
            "/order/name",
            json!("\u{645}\u{631}\u{62d}\u{628}\u{627}"),
        ),
        create(
            "a family",
            "/order/name",
            json!("\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}"),
        ),
        create("lines in the notes", "/order/notes", json!("a\r\n\tb")),
        create(
            "a field called __proto__",
            "/order/customFields",
            json!([{ "name": "__proto__", "value": "" }]),
        ),
        find(
            "one instant for a range",
            "createdAtMin",
            json!("2025-10-12t14:00:00.5+02:00"),
        ),
        find(
            "the year 9999 in the far west",
            "createdAtMax",
            json!("9999-12-31T23:59:59-23:59"),
        ),
        create(
            "255 letters of two bytes",
            "/order/lineItems/0/sku",
            json!("é".repeat(255)),
        ),
    ];
    for one in fine {
        let summary = server.call(one.tool, one.arguments).await.summary();
        assert_eq!(summary, "ok", "{}", one.name);
    }
}

#[tokio::test]
async fn unknown_tool_is_refused() {
    let response = ServerBuilder::unreachable()
        .call("get-order", json!({}))
        .await;
    insta::assert_snapshot!(response.line, @r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: get-order","data":{"tool":"get-order","hint":"did you mean 'get-orders'?"}}}"#);
}

#[tokio::test]
async fn change_needs_the_write_credential_and_query_does_not() {
    let server = ServerBuilder::default().build();
    let reader = |tool, arguments| {
        let mut call = call_by(Some("bearer"), tool, arguments);
        call.peer.may_write = false;
        server.call_until(call, CancellationToken::new())
    };
    assert_eq!(reader("get-orders", json!({})).await.summary(), "ok");
    let refused = reader("create-sales-order", order()).await;
    assert_eq!(refused.summary(), "4001 WRITE_TOKEN_REQUIRED none");
    assert_eq!(server.adapter.count(), 1);
}
