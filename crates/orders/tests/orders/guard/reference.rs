//! `--compat reference`: calls in the form of the reference server, and what of it is refused.

use crate::fixture::guarded::{GuardedServer, SECOND, ServerBuilder};
use crate::fixture::scripted_adapter::{AdapterStep, Steps, fails, raw};
use candor_call_fixtures::{answer, answer_line, call};
use candor_orders::dialect::schemas;
use candor_orders::{Compat, Failure, Response};
use candor_street::FailureForm;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The members of the reference server's tools.
const REFERENCE: &str = include_str!("../fixtures/reference.jsonl");

const GUIDE: &str = include_str!("../../../../../docs/orders.md");

fn builder() -> ServerBuilder {
    let mut builder = ServerBuilder::default();
    builder.config.compat = Some(Compat::Reference);
    builder
}

/// Calls a tool with exactly this text, and returns the message that answers it.
async fn call_text(server: &GuardedServer, tool: &str, arguments: &str) -> Value {
    let answered = answer(&server.dispatcher, call(tool, arguments)).await;
    serde_json::from_str(&answer_line(&answered)).unwrap()
}

/// Calls in the reference's form, each in one way.
const CALLS: [(&str, &str); 16] = [
    (
        "create-sales-order",
        r#"{"order":{"lineItems":[{"sku":"A","quantity":2,"unitPrice":10.5}]}}"#,
    ),
    (
        "create-sales-order",
        r#"{"order":{"lineItems":[{"sku":"A","quantity":2,"unitPrice":"10.50"}]},"idempotencyKey":"k"}"#,
    ),
    (
        "create-sales-order",
        r#"{"order":{"id":"1","createdAt":"c","updatedAt":"u","tenantId":"t","lineItems":[{"id":"l","sku":"A","quantity":1}],"customer":{"id":"cus_1","email":"a@b.example","createdAt":"c","updatedAt":"u","tenantId":"t"}}}"#,
    ),
    (
        "create-sales-order",
        r#"{"order":{"lineItems":[{"sku":"A","quantity":1,"unitDiscount":0.1,"tax":0.30}],"orderNote":"ring","shippingCarrier":"DHL","shippingClass":"parcel","shippingPrice":4.90,"orderDiscount":1,"orderTax":0.07,"subTotal":12.000,"total":15}}"#,
    ),
    (
        "create-sales-order",
        r#"{"order":{"lineItems":[{"sku":"A","quantity":1}],"shipping":{"tax":0.5},"shippingCarrier":"DHL","payments":[{"reference":"p","method":"card","amount":999999999999999.9999}]}}"#,
    ),
    (
        "update-order",
        r#"{"id":"o","updates":{"orderNote":"leave at the door"}}"#,
    ),
    (
        "update-order",
        r#"{"orderId":"o","updates":{"shippingPrice":0,"tenantId":"t","lineItems":[{"id":"l","sku":"A","quantity":0}],"refunds":[{"amount":1.25,"reference":"r"}]}}"#,
    ),
    (
        "cancel-order",
        r#"{"orderId":"o","lineItems":[{"id":"line_1","sku":"A","quantity":1}]}"#,
    ),
    (
        "fulfill-order",
        r#"{"orderId":"o","lineItems":[{"id":"line_1","sku":"A","quantity":1}],"trackingNumbers":["1Z"],"shippingCarrier":"DHL","shippingClass":"parcel"}"#,
    ),
    (
        "create-return",
        r#"{"return":{"orderId":"o","outcome":"refund","returnLineItems":[{"orderLineItemId":"1","sku":"A","quantityReturned":1,"returnReason":"defective"}]}}"#,
    ),
    (
        "create-return",
        r#"{"return":{"id":"r","orderId":"o","outcome":"exchange","returnLineItems":[{"orderLineItemId":"line_001","sku":"A","quantityReturned":1,"returnReason":"smells"},{"sku":"B","quantityReturned":2}],"exchangeLineItems":[{"id":"x","sku":"B","quantity":1,"unitPrice":0.0}]}}"#,
    ),
    (
        "create-return",
        r#"{"orderId":"o","lineItems":[{"sku":"A","quantity":1}],"outcome":"refund","refundAmount":3.5}"#,
    ),
    ("get-orders", r#"{"pageSize":2,"skip":0}"#),
    (
        "get-orders",
        r#"{"pageSize":2,"skip":1.0,"statuses":["pending"]}"#,
    ),
    ("get-customers", r#"{"skip":10000}"#),
    ("get-inventory", r#"{"skus":["A"],"skip":3}"#),
];

#[tokio::test]
async fn reference_calls_reach_the_order_system_in_our_form() {
    let mut table = String::new();
    for (tool, arguments) in CALLS {
        let server = builder().build();
        let message = call_text(&server, tool, arguments).await;
        writeln!(table, "> {tool} {arguments}\n{message}").unwrap();
        for received in server.adapter.received() {
            let request = serde_json::to_string(&received.request).unwrap();
            writeln!(table, "{request}").unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[tokio::test]
async fn other_calls_are_refused_without_the_order_system() {
    let long = format!(
        r#"{{"return":{{"orderId":"o","outcome":"refund","returnLineItems":[{}]}}}}"#,
        (10..40)
            .map(|one| format!(
                r#"{{"sku":"A","quantityReturned":1,"returnReason":"{one}{}"}}"#,
                "r".repeat(250)
            ))
            .collect::<Vec<_>>()
            .join(",")
    );
    let calls = [
        (
            "create-sales-order",
            r#"{"order":{"lineItems":[{"sku":"A","quantity":1,"unitPrice":-1}]}}"#,
        ),
        (
            "create-sales-order",
            r#"{"order":{"lineItems":[{"sku":"A","quantity":1,"unitPrice":1e2}]}}"#,
        ),
        (
            "create-sales-order",
            r#"{"order":{"lineItems":[{"sku":"A","quantity":1,"unitPrice":-0.0}]}}"#,
        ),
        (
            "create-sales-order",
            r#"{"order":{"lineItems":[{"sku":"A","quantity":1,"unitPrice":0.30000000000000004}]}}"#,
        ),
        (
            "create-sales-order",
            r#"{"order":{"lineItems":[{"sku":"A","quantity":1,"unitPrice":1000000000000000}]}}"#,
        ),
        (
            "create-sales-order",
            r#"{"order":{"currency":"JPY","lineItems":[{"sku":"A","quantity":1,"unitPrice":1.5}]}}"#,
        ),
        (
            "create-sales-order",
            r#"{"order":{"lineItems":[{"sku":"A","quantity":1.5}]}}"#,
        ),
        (
            "create-sales-order",
            r#"{"order":{"lineItems":[{"sku":"A","quantity":1}],"totalPrice":21.0}}"#,
        ),
        (
            "create-sales-order",
            r#"{"order":{"lineItems":[{"sku":"A","quantity":1}],"tenantId":"a\u202eb"}}"#,
        ),
        (
            "create-sales-order",
            r#"{"order":{"lineItems":[{"sku":"A","quantity":1}],"notes":"a","orderNote":"b"}}"#,
        ),
        (
            "create-sales-order",
            r#"{"order":{"lineItems":[{"sku":"A","quantity":1}],"shipping":{"carrier":"a"},"shippingCarrier":"b"}}"#,
        ),
        (
            "create-sales-order",
            r#"{"order":{"lineItems":[{"sku":"A","quantity":1}]},"idempotencyKey":""}"#,
        ),
        ("create-sales-order", r"{}"),
        ("update-order", r#"{"updates":{"name":"n"}}"#),
        (
            "update-order",
            r#"{"id":"o","orderId":"p","updates":{"name":"n"}}"#,
        ),
        ("update-order", r#"{"id":"o","updates":{}}"#),
        ("update-order", r#"{"id":"o","updates":{"id":"o"}}"#),
        ("cancel-order", r#"{"orderId":"o","notifyCustomer":false}"#),
        (
            "fulfill-order",
            r#"{"orderId":"o","carrier":"a","shippingCarrier":"b"}"#,
        ),
        ("create-return", r"{}"),
        ("create-return", r#"{"orderId":"o","outcome":"refund"}"#),
        (
            "create-return",
            r#"{"return":{"orderId":"o","outcome":"refund","returnLineItems":[{"sku":"A","quantityReturned":1}]},"note":"n"}"#,
        ),
        (
            "create-return",
            r#"{"return":{"orderId":"o","outcome":"refund","returnLineItems":[{"sku":"A","quantityReturned":1,"orderLineItemId":"0"}]}}"#,
        ),
        (
            "create-return",
            r#"{"return":{"orderId":"o","outcome":"refund","returnLineItems":[{"sku":"A","quantityReturned":1,"orderLineItemId":"99999999999999999999"}]}}"#,
        ),
        (
            "create-return",
            r#"{"return":{"orderId":"o","outcome":"keep","returnLineItems":[]}}"#,
        ),
        ("create-return", long.as_str()),
        ("get-orders", r#"{"skip":-1}"#),
        ("get-orders", r#"{"skip":10001}"#),
        ("get-orders", r#"{"skip":"1"}"#),
        ("get-orders", r#"{"skip":1,"cursor":"AAAA"}"#),
        ("get-orders", r#"{"includeLineItems":true}"#),
    ];
    let mut builder = builder().with_every_call(vec![AdapterStep::Panic]);
    builder.config.failures = FailureForm::Jsonrpc;
    let server = builder.build();
    let mut table = String::new();
    for (tool, arguments) in calls {
        let message = call_text(&server, tool, arguments).await;
        let shown: String = arguments.chars().take(200).collect();
        writeln!(table, "> {tool} {shown}\n{message}").unwrap();
    }
    assert_eq!(server.adapter.count(), 0);
    insta::assert_snapshot!(table);
}

/// A change whose answer is lost.
fn lost(failure: Failure) -> Steps {
    vec![AdapterStep::Begin, AdapterStep::Fail(failure)]
}

#[tokio::test(start_paused = true)]
async fn unknown_outcome_of_a_call_without_a_key_invites_no_retry() {
    let valid = jsonschema::validator_for(&schemas::result()).unwrap();
    let without_key = r#"{"order":{"lineItems":[{"sku":"A","quantity":1}]}}"#;
    let with_key = r#"{"order":{"lineItems":[{"sku":"A","quantity":1}]},"idempotencyKey":"k"}"#;
    let down = || Failure::Unavailable(None, None);
    let cases = [
        (
            lost(down()),
            without_key,
            "4001 OUTCOME_UNKNOWN false unknown bound",
        ),
        (
            lost(Failure::TimedOut(None)),
            without_key,
            "4001 OUTCOME_UNKNOWN false unknown bound",
        ),
        (
            vec![AdapterStep::Begin, AdapterStep::Hang],
            without_key,
            "4001 OUTCOME_UNKNOWN false unknown bound",
        ),
        (lost(down()), with_key, "4002 - true unknown keep"),
        // Nothing happened, so the call may be sent again.
        (fails(down()), without_key, "4002 - true none keep"),
        (
            fails(Failure::Limited(SECOND, None)),
            without_key,
            "3001 - true none keep",
        ),
    ];
    for (steps, arguments, expected) in cases {
        let server = builder().with_every_call(steps).with_one_attempt().build();
        let message = call_text(&server, "create-sales-order", arguments).await;
        assert!(valid.is_valid(&message["result"]), "{message}");
        let error = &message["result"]["error"];
        let (details, context) = (&error["details"], &error["details"]["context"]);
        let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let shown = format!(
            "{} {} {} {} {}",
            error["code"],
            word(&details["originalError"]),
            error["retryable"],
            word(&context["effect"]),
            word(&context["key"])
        );
        assert_eq!(shown, expected);
        let key = &message["result"]["_meta"]["dev.candor/key"];
        assert_eq!(key.is_string(), arguments == without_key, "{message}");
    }
}

#[tokio::test]
async fn equal_calls_without_keys_are_two_changes() {
    let drawn = std::sync::atomic::AtomicU64::new(0);
    let random = move || drawn.fetch_add(1, std::sync::atomic::Ordering::SeqCst) | (0xffff << 48);
    let server = builder().build_with_random(random);
    let mut keys = BTreeSet::new();
    for _ in 0..3 {
        let arguments = r#"{"order":{"lineItems":[{"sku":"A","quantity":1}]}}"#;
        let message = call_text(&server, "create-sales-order", arguments).await;
        let key = message["result"]["_meta"]["dev.candor/key"].as_str();
        keys.insert(key.unwrap().to_owned());
    }
    let keys: Vec<_> = keys.into_iter().collect();
    assert_eq!(
        keys,
        [
            "ffff0000-0000-4000-bfff-000000000001",
            "ffff0000-0000-4002-bfff-000000000003",
            "ffff0000-0000-4004-bfff-000000000005"
        ]
    );
}

/// Returns a page of so many entities.
fn page(count: usize, next: Option<&str>) -> Steps {
    let items = vec![json!({ "id": "o" }); count];
    let response = Response::page(raw(&json!(items).to_string()), next.map(str::to_owned));
    vec![AdapterStep::Answer(response)]
}

#[tokio::test]
async fn skip_walks_over_pages() {
    let script = [
        page(100, Some("a")),
        // An order system may send fewer entities than were asked for.
        page(90, Some("b")),
        page(0, Some("c")),
        page(14, Some("d")),
        page(7, Some("e")),
    ];
    let server = builder().with_script(script).build();
    let message = call_text(&server, "get-orders", r#"{"skip":205,"pageSize":7}"#).await;
    let found = &message["result"]["structuredContent"];
    assert_eq!(found["success"], true);
    assert_eq!(found["orders"].as_array().unwrap().len(), 7);
    assert!(found["nextCursor"].is_string());
    let asked: Vec<_> = server.adapter.received().into_iter().collect();
    let asked: Vec<_> = asked
        .iter()
        .map(|received| serde_json::to_value(&received.request).unwrap())
        .map(|query| format!("{} {}", query["pageSize"], query["cursor"]))
        .collect();
    assert_eq!(
        asked,
        [
            "100 null",
            r#"100 "a""#,
            r#"15 "b""#,
            r#"14 "c""#,
            r#"7 "d""#
        ]
    );
    let server = builder().with_script([page(3, None)]).build();
    let message = call_text(&server, "get-orders", r#"{"skip":3}"#).await;
    let over = &message["result"]["structuredContent"];
    assert_eq!(
        *over,
        json!({ "success": true, "orders": [], "nextCursor": null })
    );
    assert_eq!(server.adapter.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn skip_ends_at_the_deadline() {
    let slow = vec![AdapterStep::Take(SECOND), page(100, Some("next")).remove(0)];
    let server = builder().with_every_call(slow).build();
    let message = call_text(&server, "get-orders", r#"{"skip":10000}"#).await;
    assert_eq!(message["result"]["error"]["code"], 3002, "{message}");
    assert!(server.adapter.count() <= 11, "{}", server.adapter.count());
}

fn listed_tools() -> Vec<Value> {
    serde_json::from_str(builder().build().dispatcher.list()).unwrap()
}

#[test]
fn list_has_the_accepted_schemas() {
    let lines: Vec<_> = listed_tools().iter().map(Value::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let largest = lines.join(",").len() + 2;
    assert!(largest <= 40 * 1024, "{largest}");
}

/// Returns true if the schema has the member, looking through references and lists.
fn has_member(root: &Value, path: &str) -> bool {
    let mut schema = root;
    for name in path.split('.') {
        schema = &schema["properties"][name];
        while let Some(pointer) = schema["$ref"].as_str() {
            schema = root.pointer(&pointer[1..]).unwrap();
        }
        if schema.is_null() {
            return false;
        }
        if schema["type"] == "array" {
            schema = &schema["items"];
        }
    }
    true
}

/// Returns the refused members of each tool, without the members of refused ones.
fn refused_members() -> BTreeMap<String, Vec<String>> {
    let tools = listed_tools();
    let mut refused = BTreeMap::new();
    for line in REFERENCE.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let Some(name) = line["tool"].as_str() else {
            continue;
        };
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let mut top: Vec<String> = Vec::new();
        for member in line["members"].as_array().unwrap() {
            let member = member.as_str().unwrap();
            let is_below = |parent: &String| member.starts_with(&format!("{parent}."));
            if !has_member(&tool["inputSchema"], member) && !top.iter().any(is_below) {
                top.push(member.to_owned());
            }
        }
        if !top.is_empty() {
            refused.insert(name.to_owned(), top);
        }
    }
    refused
}

/// The guide has a table with a row for each tool: its name, and its refused members.
#[test]
fn guide_lists_what_is_refused() {
    let section = GUIDE
        .split("### Calls of the reference server\n")
        .nth(1)
        .unwrap();
    let section = section.split("\n#").next().unwrap();
    for (tool, members) in refused_members() {
        let members: Vec<_> = members.iter().map(|member| format!("`{member}`")).collect();
        let row = format!("| `{tool}` | {} |", members.join(", "));
        assert!(section.contains(&row), "{row}");
    }
}
