//! Every answer of our own store, sent by an order system, is accepted to the byte; a change of one
//! member that contradicts the request is not.

use super::comparison::{Backend, Exchange};
use crate::fixture::database::TestDatabase;
use crate::fixture::store::StoreFixture;
use candor_testkit::is_long;
use serde_json::{Value, json};

/// A small generator: the same calls in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % below
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.next(count) == 0
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.next(list.len() as u64) as usize].clone()
    }
}

const SKUS: [&str; 3] = ["PIN", "MUG", "SHIRT-L"];

fn lines(numbers: &mut Numbers, most: u64) -> Value {
    let count = 1 + numbers.next(3);
    let line = |numbers: &mut Numbers| {
        let sku = if numbers.one_in(8) {
            numbers.pick(&SKUS)
        } else {
            "PIN"
        };
        json!({ "sku": sku, "quantity": 1 + numbers.next(most) })
    };
    (0..count).map(|_| line(numbers)).collect()
}

/// Returns a random call about one of these orders.
fn random_call(numbers: &mut Numbers, count: usize, ids: &[String]) -> (&'static str, Value) {
    let id = match ids.is_empty() {
        true => String::from("ord_none"),
        false => numbers.pick(&ids[ids.len().saturating_sub(40)..]),
    };
    match numbers.next(12) {
        0..=2 => {
            let mut order = json!({ "lineItems": lines(numbers, 5) });
            if numbers.one_in(2) {
                order["externalId"] = json!(format!("x-{count}"));
                order["currency"] = json!("USD");
            }
            if numbers.one_in(2) {
                order["customer"] =
                    json!({ "email": format!("Mail{}@Example.com", numbers.next(9)) });
            }
            if !numbers.one_in(4) {
                order["shippingAddress"] =
                    json!({ "address1": "1 Way", "city": "Ulm", "country": "DE" });
            }
            if numbers.one_in(2) {
                order["lineItems"][0]["unitPrice"] = json!(format!("{}.5", numbers.next(90)));
                order["tags"] = json!(["a", "b"]);
            }
            ("create-sales-order", json!({ "order": order }))
        }
        3 => {
            let updates = match numbers.next(3) {
                0 => json!({ "status": "confirmed" }),
                1 => json!({ "notes": "One.\nTwo – \"three\".", "name": "N" }),
                _ => {
                    json!({ "shippingAddress": { "address1": "2 Way", "city": "Bonn", "country": "DE" }, "tags": ["c"] })
                }
            };
            ("update-order", json!({ "orderId": id, "updates": updates }))
        }
        4 => ("cancel-order", json!({ "orderId": id })),
        5 => (
            "cancel-order",
            json!({ "orderId": id, "lineItems": lines(numbers, 1) }),
        ),
        6 => (
            "fulfill-order",
            json!({ "orderId": id, "trackingNumbers": ["T1", "T2"] }),
        ),
        7 => (
            "fulfill-order",
            json!({ "orderId": id, "lineItems": lines(numbers, 2), "locationId": "loc_east" }),
        ),
        8 => (
            "create-return",
            json!({ "orderId": id, "lineItems": lines(numbers, 1), "outcome": "refund" }),
        ),
        9 => ("get-orders", json!({ "ids": [id], "skus": ["PIN", "MUG"] })),
        10 => (
            "get-orders",
            json!({ "statuses": ["pending", "shipped"], "pageSize": 3 }),
        ),
        _ => {
            let tool = numbers.pick(&["get-fulfillments", "get-returns"]);
            (tool, json!({ "orderIds": [id] }))
        }
    }
}

/// Returns the pointer of every value that has no members.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(name, value)| leaves(value, &format!("{at}/{name}"), found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, value)| leaves(value, &format!("{at}/{index}"), found)),
        _ => found.push(at.to_owned()),
    }
}

/// Returns another value of the same kind.
fn other_value(member: &str, value: &Value, arguments: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_i64().unwrap() + 1_000_000),
        Value::String(word) if member == "status" => match arguments["statuses"].is_array() {
            true => json!("processing"),
            false if word == "delivered" => json!("shipped"),
            false => json!("delivered"),
        },
        Value::String(text)
            if text.starts_with(|one: char| one.is_ascii_digit()) && text.contains('.') =>
        {
            json!(format!("1{text}"))
        }
        Value::String(text) => json!(format!("{text}x")),
        other => panic!("{member}: {other}"),
    }
}

/// Returns true if another value of this member contradicts the request or the entity itself.
fn is_detectable(exchange: &Exchange, pointer: &str) -> bool {
    let arguments = &exchange.arguments;
    let steps: Vec<_> = pointer
        .split('/')
        .filter(|step| !step.is_empty() && step.parse::<usize>().is_err())
        .collect();
    let member = *steps.last().unwrap();
    let in_lines = steps.contains(&"lineItems");
    let is_order = ["order", "orders"].contains(&steps[0]);
    let sums = [
        "subTotal",
        "discountTotal",
        "total",
        "unitPrice",
        "unitDiscount",
    ];
    let counts = [
        "quantity",
        "fulfilledQuantity",
        "cancelledQuantity",
        "returnedQuantity",
    ];
    if is_order && (sums.contains(&member) || (in_lines && counts.contains(&member))) {
        return true;
    }
    match exchange.tool {
        "create-sales-order" => {
            let given = &arguments["order"];
            member == "status"
                || (in_lines && member == "sku")
                || (steps.contains(&"shippingAddress"))
                || (steps.contains(&"customer") && member == "email")
                || (["externalId", "currency"].contains(&member) && given.get(member).is_some())
        }
        "update-order" => {
            let given = |name: &str| arguments["updates"].get(name).is_some();
            steps == ["order", "id"]
                || (steps.len() == 2 && given(member) && member != "tags")
                || (steps.contains(&"tags") && given("tags"))
                || (steps.contains(&"shippingAddress") && given("shippingAddress"))
        }
        "cancel-order" => {
            steps == ["order", "id"] || (member == "status" && arguments.get("lineItems").is_none())
        }
        "fulfill-order" => match member {
            "orderId" => true,
            "trackingNumbers" => arguments.get("trackingNumbers").is_some(),
            "locationId" => arguments.get("locationId").is_some(),
            "sku" | "quantity" => arguments.get("lineItems").is_some(),
            _ => false,
        },
        "create-return" => ["orderId", "outcome", "sku", "quantity"].contains(&member),
        "get-orders" => {
            (steps == ["orders", "id"] && arguments.get("ids").is_some())
                || (member == "status" && arguments.get("statuses").is_some())
        }
        _ => member == "orderId" || member == "outcome",
    }
}

#[tokio::test]
async fn honest_answers_of_the_store_pass_and_contradictions_do_not() {
    let wanted = if is_long() { 10_000 } else { 1_000 };
    let store = StoreFixture::on(TestDatabase::sqlite()).await;
    let backend = Backend::start().await;
    let mut numbers = Numbers(16);
    let (mut accepted, mut refused, mut count) = (0, 0, 0);
    let mut ids = Vec::new();
    while accepted < wanted {
        count += 1;
        let (tool, arguments) = random_call(&mut numbers, count, &ids);
        let response = match tool.starts_with("get-") {
            true => {
                store
                    .server
                    .call_text(None, tool, arguments.to_string())
                    .await
            }
            false => store.server.call(tool, arguments.clone()).await,
        };
        if response.summary() != "ok" {
            continue;
        }
        accepted += 1;
        let answer: Value = serde_json::from_str(&response.text).unwrap();
        if tool == "create-sales-order" {
            ids.push(answer["order"]["id"].as_str().unwrap().to_owned());
        }
        let mut exchange = Exchange {
            tool,
            arguments,
            answer,
        };
        // The cursor is in the form of clients; an order system has its own.
        let has_next = exchange
            .answer
            .get("nextCursor")
            .is_some_and(Value::is_string);
        if has_next {
            exchange.answer["nextCursor"] = json!("17");
        }
        if !tool.starts_with("get-") {
            exchange.arguments["idempotencyKey"] = json!(format!("k-{count}"));
        }
        let passed = backend.send(&exchange).await;
        assert_eq!(passed.summary(), "ok", "{exchange:?} {}", passed.text);
        if !has_next {
            assert_eq!(passed.text, response.text);
        }
        if !numbers.one_in(25) {
            continue;
        }
        let mut pointers = Vec::new();
        leaves(&exchange.answer, "", &mut pointers);
        for pointer in pointers {
            if !is_detectable(&exchange, &pointer) {
                continue;
            }
            let mut lie = exchange.clone();
            let leaf = lie.answer.pointer_mut(&pointer).unwrap();
            let member = pointer
                .rsplit('/')
                .find(|step| step.parse::<usize>().is_err());
            *leaf = other_value(member.unwrap(), leaf, &exchange.arguments);
            let answered = backend.send(&lie).await;
            let is_refused = answered
                .summary()
                .starts_with("4001 INVALID_ADAPTER_RESPONSE");
            let is_omitted = answered.text.contains(",\"omitted\":[{");
            assert!(
                is_refused || is_omitted,
                "{pointer} {lie:?} {}",
                answered.text
            );
            refused += 1;
        }
    }
    assert!(refused >= wanted / 10, "{refused}");
}
