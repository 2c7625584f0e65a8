//! Bad values for every member that support work added. The schema shows what is wrong, so each is
//! −32602, without the order system and without the value.

use crate::fixture::guarded::ServerBuilder;
use crate::fixture::scripted_adapter::AdapterStep;
use candor_call_fixtures::call;
use candor_orders::dialect::schemas;
use candor_street::{CancellationToken, FailureForm};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The text and the digits that no answer may repeat.
const CANARY: &str = "CANARY";
const DIGITS: &str = "8675309";

/// The kinds of members, each with its own set of bad values.
#[derive(Clone)]
enum Kind {
    Text,
    Notes,
    Amount,
    Word,
    Flag,
    Object,
    /// A whole number between these bounds.
    Number(i64, i64),
    /// A list of at most this many of these items.
    List(usize, Value),
    /// A filter: a list of at most 100 texts.
    Texts,
    /// A filter: a list of words, each at most once.
    Words(&'static [&'static str]),
}

fn bad_texts(most: usize) -> Vec<(&'static str, Value)> {
    vec![
        ("wrong type", json!(8_675_309)),
        ("null", Value::Null),
        ("overlong", CANARY.repeat(most / 6 + 1).into()),
        ("control character", format!("{CANARY}\u{7}").into()),
        ("direction character", format!("{CANARY}\u{202e}").into()),
    ]
}

impl Kind {
    fn bad_values(&self) -> Vec<(&'static str, Value)> {
        match self {
            Kind::Text => {
                let mut values = bad_texts(255);
                values.push(("empty", json!("")));
                values
            }
            Kind::Notes => bad_texts(5_000),
            Kind::Amount => vec![
                ("wrong type", json!(8_675_309.5)),
                ("null", Value::Null),
                ("empty", json!("")),
                ("overlong", json!("8675309867530986")),
                ("too many places", json!("8675309.86753")),
                ("negative", json!("-8675309.00")),
                ("exponent", json!("8675309e3")),
                ("control character", json!("8675309\u{7}")),
                ("direction character", json!("8675309\u{202e}")),
            ],
            Kind::Word => vec![
                ("wrong type", json!(8_675_309)),
                ("null", Value::Null),
                ("empty", json!("")),
                ("another word", json!(CANARY)),
                ("overlong", CANARY.repeat(100).into()),
                ("control character", format!("{CANARY}\u{7}").into()),
                ("direction character", format!("{CANARY}\u{202e}").into()),
            ],
            Kind::Flag => vec![("wrong type", json!(CANARY)), ("null", Value::Null)],
            Kind::Object => vec![
                ("wrong type", json!(CANARY)),
                ("null", Value::Null),
                ("list", json!([])),
                ("unknown member", json!({ "unknown": CANARY })),
            ],
            Kind::Number(least, most) => vec![
                ("wrong type", json!(DIGITS)),
                ("null", Value::Null),
                ("too small", json!(least - 1)),
                ("too large", json!(most + 1)),
                ("fraction", json!(1.5)),
            ],
            Kind::List(most, item) => vec![
                ("wrong type", json!({ "0": CANARY })),
                ("null", Value::Null),
                ("empty", json!([])),
                ("one too many", json!(vec![item; most + 1])),
                ("item of a wrong type", json!([CANARY])),
            ],
            Kind::Texts => {
                let mut values = Kind::List(100, json!(CANARY)).bad_values();
                values.pop();
                let items = Kind::Text.bad_values().into_iter();
                values.extend(items.map(|(name, value)| (name, json!([value]))));
                values
            }
            Kind::Words(words) => {
                let mut values = Kind::List(words.len(), json!(words[0])).bad_values();
                values.pop();
                let items = Kind::Word.bad_values().into_iter();
                values.extend(items.map(|(name, value)| (name, json!([value]))));
                values
            }
        }
    }
}

/// A member of a tool's arguments.
struct Member {
    tool: &'static str,
    path: String,
    kind: Kind,
    is_required: bool,
}

/// Collects the members of one tool.
struct Members {
    tool: &'static str,
    all: Vec<Member>,
}

impl Members {
    fn of(tool: &'static str) -> Members {
        let all = Vec::new();
        Members { tool, all }
    }

    fn with(mut self, parent: &str, names: &[&str], kind: &Kind) -> Members {
        self.add(parent, names, kind, false);
        self
    }

    fn with_required(mut self, parent: &str, names: &[&str], kind: &Kind) -> Members {
        self.add(parent, names, kind, true);
        self
    }

    fn add(&mut self, parent: &str, names: &[&str], kind: &Kind, is_required: bool) {
        self.all.extend(names.iter().map(|name| Member {
            tool: self.tool,
            path: format!("{parent}/{name}"),
            kind: kind.clone(),
            is_required,
        }));
    }

    fn with_shipping(self, parent: &str) -> Members {
        let shipping = format!("{parent}/shipping");
        self.with(parent, &["shipping"], &Kind::Object)
            .with(
                &shipping,
                &["carrier", "service", "instructions"],
                &Kind::Text,
            )
            .with(&shipping, &["price", "tax"], &Kind::Amount)
    }

    fn with_payments(self, parent: &str) -> Members {
        let payment = format!("{parent}/payments/0");
        self.with(parent, &["payments"], &Kind::List(100, payments()))
            .with_required(&payment, &["reference"], &Kind::Text)
            .with_required(&payment, &["method"], &Kind::Word)
            .with_required(&payment, &["amount"], &Kind::Amount)
            .with(&payment, &["status"], &Kind::Word)
    }
}

fn payments() -> Value {
    json!({ "reference": "p", "method": "card", "amount": "1.00" })
}

fn refund() -> Value {
    json!({ "reference": "r", "amount": "1.00" })
}

fn line() -> Value {
    json!({ "sku": "A", "quantity": 1 })
}

/// Returns valid arguments of a tool, with an entry in every list.
fn valid_arguments(tool: &str) -> Value {
    match tool {
        "create-sales-order" => json!({
            "order": {
                "lineItems": [line()], "customer": { "email": "a@b.example" }, "shipping": {},
                "payments": [payments()]
            },
            "idempotencyKey": "k"
        }),
        "update-order" => json!({
            "orderId": "1",
            "updates": {
                "shipping": {}, "lineItems": [line()], "payments": [payments()],
                "refunds": [refund()], "returns": [{ "id": "1", "status": "received" }]
            },
            "idempotencyKey": "k"
        }),
        "cancel-order" | "fulfill-order" => {
            json!({ "orderId": "1", "lineItems": [line()], "idempotencyKey": "k" })
        }
        "create-return" => json!({
            "orderId": "1", "lineItems": [line()], "outcome": "exchange",
            "exchangeLineItems": [line()], "idempotencyKey": "k"
        }),
        _ => json!({}),
    }
}

fn changes() -> Vec<Member> {
    let quantity = |least| Kind::Number(least, 1_000_000);
    let line_number = Kind::Number(1, 1_000_000);
    let step = json!({ "id": "1", "status": "received" });
    let totals = ["orderDiscount", "orderTax", "shippingTotal", "taxTotal"];
    let create = Members::of("create-sales-order")
        .with("/order/lineItems/0", &["tax"], &Kind::Amount)
        .with("/order/customer", &["phone"], &Kind::Text)
        .with("/order", &totals, &Kind::Amount)
        .with("/order", &["taxIncluded"], &Kind::Flag)
        .with_shipping("/order")
        .with_payments("/order");
    let (edit, back) = ("/updates/lineItems/0", "/updates/returns/0");
    let update = Members::of("update-order")
        .with_shipping("/updates")
        .with("/updates", &["lineItems"], &Kind::List(500, line()))
        .with_required(edit, &["sku"], &Kind::Text)
        .with_required(edit, &["quantity"], &quantity(0))
        .with(edit, &["line"], &line_number)
        .with(edit, &["unitPrice", "unitDiscount", "tax"], &Kind::Amount)
        .with(edit, &["name"], &Kind::Text)
        .with_payments("/updates")
        .with("/updates", &["refunds"], &Kind::List(100, refund()))
        .with_required("/updates/refunds/0", &["amount"], &Kind::Amount)
        .with_required("/updates/refunds/0", &["reference"], &Kind::Text)
        .with("/updates/refunds/0", &["reason", "returnId"], &Kind::Text)
        .with("/updates", &["returns"], &Kind::List(100, step))
        .with_required(back, &["id"], &Kind::Text)
        .with_required(back, &["status"], &Kind::Word)
        .with(back, &["note"], &Kind::Notes)
        .with(back, &["restockLocationId"], &Kind::Text);
    let cancel = Members::of("cancel-order").with("/lineItems/0", &["line"], &line_number);
    let fulfill = Members::of("fulfill-order")
        .with("/lineItems/0", &["line"], &line_number)
        .with("", &["carrier", "service"], &Kind::Text);
    let exchange = "/exchangeLineItems/0";
    let create_return = Members::of("create-return")
        .with("/lineItems/0", &["line"], &line_number)
        .with("/lineItems/0", &["reason"], &Kind::Word)
        .with("", &["note"], &Kind::Notes)
        .with("", &["refundAmount"], &Kind::Amount)
        .with("", &["exchangeLineItems"], &Kind::List(100, line()))
        .with_required(exchange, &["sku"], &Kind::Text)
        .with_required(exchange, &["quantity"], &quantity(1))
        .with(exchange, &["unitPrice"], &Kind::Amount);
    let tools = [create, update, cancel, fulfill, create_return];
    tools.into_iter().flat_map(|tool| tool.all).collect()
}

fn queries() -> Vec<Member> {
    let lookups = [
        "orderNumbers",
        "names",
        "trackingNumbers",
        "customerIds",
        "customerNames",
        "phones",
    ];
    let payment_statuses = &[
        "unpaid",
        "partially-paid",
        "paid",
        "partially-refunded",
        "refunded",
    ];
    let statuses = &["requested", "received", "completed", "declined"];
    let outcomes = &["refund", "exchange", "store-credit"];
    let tools = [
        Members::of("get-orders")
            .with("", &lookups, &Kind::Texts)
            .with("", &["paymentStatuses"], &Kind::Words(payment_statuses))
            .with("", &["sort"], &Kind::Word),
        Members::of("get-customers")
            .with("", &["names", "phones"], &Kind::Texts)
            .with("", &["sort"], &Kind::Word),
        Members::of("get-fulfillments")
            .with("", &["trackingNumbers"], &Kind::Texts)
            .with("", &["sort"], &Kind::Word),
        Members::of("get-returns")
            .with("", &["statuses"], &Kind::Words(statuses))
            .with("", &["outcomes"], &Kind::Words(outcomes))
            .with("", &["sort"], &Kind::Word),
    ];
    tools.into_iter().flat_map(|tool| tool.all).collect()
}

/// Returns valid arguments with another value of the member, or without it.
fn arguments_with(member: &Member, value: Option<Value>) -> Value {
    let mut arguments = valid_arguments(member.tool);
    let (parent, name) = member.path.rsplit_once('/').unwrap();
    let parent = arguments.pointer_mut(parent).unwrap();
    match value {
        Some(value) => parent[name] = value,
        None => drop(parent.as_object_mut().unwrap().shift_remove(name)),
    }
    arguments
}

#[tokio::test]
async fn bad_values_of_new_members_are_shown_by_the_schema() {
    let mut builder = ServerBuilder::default().with_every_call(vec![AdapterStep::Panic]);
    builder.config.failures = FailureForm::Jsonrpc;
    let server = builder.build();
    let error_schema = jsonschema::validator_for(&schemas::error()).unwrap();
    let mut table = String::new();
    for member in changes().into_iter().chain(queries()) {
        let field = member.path.trim_start_matches('/').replace('/', ".");
        writeln!(table, "# {} {field}", member.tool).unwrap();
        let bad = member.kind.bad_values().into_iter();
        let bad = bad.map(|(name, value)| (name, Some(value)));
        let missing = member.is_required.then_some(("missing", None));
        for (name, value) in bad.chain(missing) {
            let call = call(member.tool, arguments_with(&member, value));
            let response = server.call_until(call, CancellationToken::new()).await;
            let error = &response.message()["error"];
            assert_eq!(error["code"], -32602, "{field}: {name}: {}", response.line);
            assert!(error_schema.is_valid(error), "{}", response.line);
            let named = error["data"]["field"].as_str().unwrap();
            assert!(named.starts_with(&field), "{field}: {name}: {named}");
            for secret in [CANARY, DIGITS] {
                assert!(!response.line.contains(secret), "{}", response.line);
            }
            writeln!(table, "{name}: {error}").unwrap();
        }
    }
    assert_eq!(server.adapter.count(), 0);
    insta::assert_snapshot!(table);
}

#[tokio::test]
async fn valid_values_of_new_members_reach_the_order_system() {
    let server = ServerBuilder::default().build();
    let tools: Vec<_> = changes().into_iter().map(|member| member.tool).collect();
    for tool in tools {
        let summary = server.call(tool, valid_arguments(tool)).await.summary();
        assert_eq!(summary, "ok", "{tool}");
    }
}
