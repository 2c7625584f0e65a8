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

/// The entities that earlier calls have made.
#[derive(Default)]
struct Known {
    orders: Vec<String>,
    /// Each return with its order.
    returns: Vec<(String, String)>,
}

const PEOPLE: [(&str, &str, &str); 3] = [
    ("Kim", "Berg", "+49 30 1234567"),
    ("Ada Maria", "Keller", "030/7654321"),
    ("Lin", "Wu", "(212) 555-0100"),
];

/// Returns a random new order.
fn random_order(numbers: &mut Numbers, count: usize) -> Value {
    let mut order = json!({ "lineItems": lines(numbers, 5) });
    if numbers.one_in(2) {
        order["externalId"] = json!(format!("x-{count}"));
        order["currency"] = json!("USD");
    }
    match numbers.next(4) {
        0 => {
            order["customer"] = json!({ "email": format!("Mail{}@Example.com", numbers.next(9)) });
        }
        1 => {
            let (first, last, phone) = numbers.pick(&PEOPLE);
            order["customer"] = json!({
                "email": format!("{last}@example.com"), "firstName": first, "lastName": last,
                "phone": phone
            });
        }
        _ => {}
    }
    if !numbers.one_in(4) {
        order["shippingAddress"] = json!({ "address1": "1 Way", "city": "Ulm", "country": "DE" });
    }
    if numbers.one_in(2) {
        order["lineItems"][0]["unitPrice"] = json!(format!("{}.5", 1 + numbers.next(90)));
        order["tags"] = json!(["a", "b"]);
    }
    if numbers.one_in(2) {
        order["lineItems"][0]["tax"] = json!("0.25");
        order["orderTax"] = json!("0.5");
        order["taxIncluded"] = json!(numbers.one_in(2));
    }
    if numbers.one_in(3) {
        order["shipping"] = json!({ "carrier": "Post", "price": "4.90", "tax": "0.1" });
        order["shippingTotal"] = json!("4.9");
        order["orderDiscount"] = json!("0.05");
    }
    if numbers.one_in(3) {
        order["name"] = json!(format!("#N{count}"));
        order["payments"] = json!([
            { "reference": format!("c{count}"), "method": "card", "amount": "1.50" },
            { "reference": format!("a{count}"), "method": "cash", "amount": "2", "status": "authorized" }
        ]);
    }
    order
}

/// Returns random updates of an order.
fn random_updates(numbers: &mut Numbers, known: &Known, count: usize) -> (String, Value) {
    let mut id = pick_order(numbers, known);
    let updates = match numbers.next(9) {
        0 => json!({ "status": "confirmed" }),
        1 => json!({ "notes": "One.\nTwo – \"three\".", "name": "N" }),
        2 => {
            json!({ "shippingAddress": { "address1": "2 Way", "city": "Bonn", "country": "DE" }, "tags": ["c"] })
        }
        3 => json!({ "shipping": { "service": "Express", "price": "2.50" } }),
        4 => {
            json!({ "payments": [{ "reference": format!("p{count}"), "method": "card", "amount": "3" }] })
        }
        5 => json!({
            "payments": [{ "reference": format!("q{count}"), "method": "other", "amount": "1" }],
            "refunds": [{ "amount": "0.75", "reference": format!("r{count}"), "reason": "Late" }]
        }),
        6 => {
            json!({ "lineItems": [{ "sku": "SHIRT-L", "quantity": 1 + numbers.next(4), "tax": "0.10" }] })
        }
        7 => {
            json!({ "lineItems": [{ "sku": "PIN", "quantity": 1 + numbers.next(6), "line": 1, "unitDiscount": "0.05" }] })
        }
        _ => {
            if known.returns.is_empty() {
                return (id, json!({ "name": "N" }));
            }
            let last = known.returns.len().saturating_sub(5);
            let (returned, order) = numbers.pick(&known.returns[last..]);
            id = order;
            let status = numbers.pick(&["received", "completed", "declined"]);
            json!({ "returns": [{ "id": returned, "status": status, "note": "Seen." }] })
        }
    };
    (id, updates)
}

fn random_return(numbers: &mut Numbers, id: String) -> Value {
    let mut asked = json!({ "orderId": id, "lineItems": lines(numbers, 1), "outcome": "refund" });
    match numbers.next(4) {
        0 => {
            asked["outcome"] = json!("exchange");
            asked["exchangeLineItems"] = json!([{ "sku": "PIN", "quantity": 1 }]);
        }
        1 => {
            asked["lineItems"] =
                json!([{ "sku": "PIN", "quantity": 1, "line": 1, "reason": "damaged" }]);
            asked["note"] = json!("Torn.");
            asked["refundAmount"] = json!("0.15");
        }
        _ => {}
    }
    asked
}

fn random_query(numbers: &mut Numbers, id: String, count: usize) -> (&'static str, Value) {
    let (first, last, phone) = numbers.pick(&PEOPLE);
    match numbers.next(15) {
        0 | 1 => ("get-orders", json!({ "ids": [id], "skus": ["PIN", "MUG"] })),
        2 => (
            "get-orders",
            json!({ "statuses": ["pending", "shipped"], "pageSize": 3 }),
        ),
        3 => ("get-orders", json!({ "phones": [phone], "pageSize": 3 })),
        4 => (
            "get-orders",
            json!({ "customerNames": [format!("{last}, {first}")], "pageSize": 3 }),
        ),
        5 => {
            let number = 1001 + numbers.next(count as u64);
            (
                "get-orders",
                json!({ "orderNumbers": [number.to_string()] }),
            )
        }
        6 => {
            let name = format!("n{}", numbers.next(count as u64));
            ("get-orders", json!({ "names": [name] }))
        }
        7 => {
            let status = numbers.pick(&["unpaid", "paid", "partially-paid", "refunded"]);
            (
                "get-orders",
                json!({ "paymentStatuses": [status], "sort": "updatedAt", "pageSize": 3 }),
            )
        }
        8 => (
            "get-orders",
            json!({ "trackingNumbers": ["T1"], "pageSize": 3 }),
        ),
        9 => (
            "get-customers",
            json!({ "names": [last], "phones": [phone] }),
        ),
        10 => (
            "get-fulfillments",
            json!({ "trackingNumbers": ["T2"], "pageSize": 3 }),
        ),
        11 => {
            let status = numbers.pick(&["requested", "received", "completed", "declined"]);
            (
                "get-returns",
                json!({ "statuses": [status], "pageSize": 3 }),
            )
        }
        12 => (
            "get-returns",
            json!({ "outcomes": ["exchange"], "sort": "updatedAt", "pageSize": 3 }),
        ),
        _ => {
            let tool = numbers.pick(&["get-fulfillments", "get-returns"]);
            (tool, json!({ "orderIds": [id] }))
        }
    }
}

fn pick_order(numbers: &mut Numbers, known: &Known) -> String {
    let ids = &known.orders;
    match ids.is_empty() {
        true => String::from("ord_none"),
        false => numbers.pick(&ids[ids.len().saturating_sub(40)..]),
    }
}

/// Returns a random call about one of these orders.
fn random_call(numbers: &mut Numbers, count: usize, known: &Known) -> (&'static str, Value) {
    let id = pick_order(numbers, known);
    match numbers.next(16) {
        0..=2 => (
            "create-sales-order",
            json!({ "order": random_order(numbers, count) }),
        ),
        3 | 4 => {
            let (id, updates) = random_updates(numbers, known, count);
            ("update-order", json!({ "orderId": id, "updates": updates }))
        }
        5 => ("cancel-order", json!({ "orderId": id })),
        6 => (
            "cancel-order",
            json!({ "orderId": id, "lineItems": lines(numbers, 1) }),
        ),
        7 => (
            "cancel-order",
            json!({ "orderId": id, "lineItems": [{ "sku": "PIN", "quantity": 1, "line": 1 }] }),
        ),
        8 => (
            "fulfill-order",
            json!({ "orderId": id, "trackingNumbers": ["T1", "T2"], "carrier": "Post", "service": "Air" }),
        ),
        9 => (
            "fulfill-order",
            json!({ "orderId": id, "lineItems": lines(numbers, 2), "locationId": "loc_east" }),
        ),
        10..=12 => ("create-return", random_return(numbers, id)),
        _ => random_query(numbers, id, count),
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
        Value::Bool(flag) => json!(!flag),
        // A letter would not change the digits, by which phones are compared.
        Value::String(text) if member == "phone" => json!(format!("{text}1")),
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
        "shippingTotal",
        "taxTotal",
        "paidTotal",
        "refundedTotal",
        "orderDiscount",
        "orderTax",
        "tax",
        "price",
        "paymentStatus",
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
    let parent = pointer.rsplit_once('/').unwrap().0;
    let entry = exchange.answer.pointer(parent).unwrap();
    let entity = steps.iter().rev().nth(1).copied().unwrap_or_default();
    // Returns true if the request has an entry with the same reference, or any entry for a new one.
    let is_given = |entries: &Value| {
        let mut entries = entries.as_array().into_iter().flatten();
        entries.any(|given| given["reference"] == entry["reference"])
    };
    if is_order && member == "taxIncluded" {
        let order = exchange.answer.pointer(parent).unwrap();
        return order["taxTotal"] != "0.00";
    }
    if is_order && member == "amount" {
        let is_sum = entity == "refunds" || entry["status"] == "captured";
        let given = [
            &arguments["order"]["payments"],
            &arguments["updates"]["payments"],
        ];
        return is_sum || given.into_iter().any(is_given);
    }
    if is_order && ["method", "status"].contains(&member) && entity == "payments" {
        return true;
    }
    match exchange.tool {
        "create-sales-order" if entity == "payments" => member == "reference",
        "create-sales-order" if entity == "shipping" => true,
        "create-sales-order" if entity == "customer" && member == "phone" => {
            arguments["order"]["customer"].get("phone").is_some()
        }
        "update-order" if entity == "payments" => {
            member == "reference" && is_given(&arguments["updates"]["payments"])
        }
        "update-order" if entity == "refunds" => {
            ["reference", "reason"].contains(&member) && is_given(&arguments["updates"]["refunds"])
        }
        "update-order" if entity == "shipping" => {
            arguments["updates"]["shipping"].get(member).is_some()
        }
        "update-order" if entity == "lineItems" && member == "sku" => {
            let edits = arguments["updates"]["lineItems"].as_array();
            edits
                .into_iter()
                .flatten()
                .any(|edit| match edit.get("line") {
                    Some(line) => *line == entry["line"],
                    None => edit["sku"] == entry["sku"],
                })
        }
        "update-order" if entity == "lineItems" && member == "line" => {
            let edits = arguments["updates"]["lineItems"].as_array();
            let mut edits = edits.into_iter().flatten();
            edits.any(|edit| edit["line"] == entry["line"])
        }
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
            "carrier" | "service" => arguments.get(member).is_some(),
            "sku" | "quantity" => arguments.get("lineItems").is_some(),
            _ => false,
        },
        "create-return" => match member {
            "orderId" | "outcome" | "sku" | "quantity" | "status" | "reason" => true,
            "note" | "refundAmount" => arguments.get(member).is_some(),
            "line" => arguments["lineItems"][0].get("line").is_some(),
            _ => false,
        },
        "get-orders" => {
            let has = |filter: &str| arguments.get(filter).is_some();
            (steps == ["orders", "id"] && has("ids"))
                || (steps == ["orders", "status"] && has("statuses"))
                || (member == "orderNumber" && has("orderNumbers"))
                || (steps == ["orders", "name"] && has("names"))
                || (member == "phone" && has("phones"))
                || (["firstName", "lastName"].contains(&member) && has("customerNames"))
        }
        "get-customers" => ["lastName", "phone"].contains(&member),
        "get-fulfillments" => member == "orderId" && arguments.get("orderIds").is_some(),
        _ => {
            member == "outcome"
                || (member == "orderId" && arguments.get("orderIds").is_some())
                || (steps == ["returns", "status"] && arguments.get("statuses").is_some())
        }
    }
}

/// Returns the exchange without a member of its answer, or `None` if the answer means the same
/// without it: an amount of zero, a `false`, and the states of payments and of a new return, which an
/// order system need not have.
fn without_member(exchange: &Exchange, pointer: &str) -> Option<Exchange> {
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    if member == "paymentStatus" || pointer == "/return/status" {
        return None;
    }
    let mut lie = exchange.clone();
    let members = lie.answer.pointer_mut(parent).unwrap().as_object_mut()?;
    let value = members.shift_remove(member)?;
    let is_nothing = [json!("0.00"), json!(0), json!(false)].contains(&value);
    (!is_nothing).then_some(lie)
}

/// Sends a lie, which must be refused, or left out of its page. Returns 1.
async fn expect_refusal(backend: &Backend, lie: &Exchange, pointer: &str) -> usize {
    let answered = backend.send(lie).await;
    let is_refused = answered
        .summary()
        .starts_with("4001 INVALID_ADAPTER_RESPONSE");
    let is_omitted = answered.text.contains(",\"omitted\":[{");
    assert!(
        is_refused || is_omitted,
        "{pointer} {lie:?} {}",
        answered.text
    );
    1
}

#[tokio::test]
async fn honest_answers_of_the_store_pass_and_contradictions_do_not() {
    let wanted = if is_long() { 10_000 } else { 1_000 };
    let store = StoreFixture::on(TestDatabase::sqlite()).await;
    let backend = Backend::start().await;
    let mut numbers = Numbers(16);
    let (mut accepted, mut refused, mut removed, mut count) = (0, 0, 0, 0);
    let mut known = Known::default();
    let mut shown = [0; 5];
    while accepted < wanted {
        count += 1;
        let (tool, arguments) = random_call(&mut numbers, count, &known);
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
            known
                .orders
                .push(answer["order"]["id"].as_str().unwrap().to_owned());
        }
        if tool == "create-return" {
            let text = |name: &str| answer["return"][name].as_str().unwrap().to_owned();
            known.returns.push((text("id"), text("orderId")));
            if let Some(exchange) = answer["return"]["exchangeOrderId"].as_str() {
                known.orders.push(exchange.to_owned());
            }
        }
        for (index, part) in [
            "\"taxIncluded\":true",
            "\"refundedTotal\":\"0.75\"",
            "\"exchangeFor\"",
            "\"status\":\"received\"",
            "\"carrier\"",
        ]
        .into_iter()
        .enumerate()
        {
            shown[index] += usize::from(response.text.contains(part));
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
        if !numbers.one_in(if is_long() { 10 } else { 25 }) {
            continue;
        }
        let mut pointers = Vec::new();
        leaves(&exchange.answer, "", &mut pointers);
        for pointer in pointers {
            if !is_detectable(&exchange, &pointer) {
                continue;
            }
            let member = pointer
                .rsplit('/')
                .find(|step| step.parse::<usize>().is_err());
            let mut lie = exchange.clone();
            let leaf = lie.answer.pointer_mut(&pointer).unwrap();
            *leaf = other_value(member.unwrap(), leaf, &exchange.arguments);
            refused += expect_refusal(&backend, &lie, &pointer).await;
            if let Some(lie) = without_member(&exchange, &pointer) {
                removed += expect_refusal(&backend, &lie, &pointer).await;
            }
        }
    }
    assert!(removed >= wanted / 20, "{removed}");
    assert!(refused >= wanted / 10, "{refused}");
    // Tax, refunds, exchanges, steps of returns and carriers are among them.
    assert!(shown.iter().all(|count| *count > 0), "{shown:?}");
}
