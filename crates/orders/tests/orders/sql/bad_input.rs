//! Bad values of support work that no schema can show: each has its code, its field and the state of
//! its key, and none is repeated.

use crate::fixture::store::StoreFixture;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Digits that no answer may repeat.
const DIGITS: &str = "8675309";

/// Amounts that have the form of an amount and are not money: too many places, too many digits.
const BAD_AMOUNTS: [(&str, &str); 2] = [("places", "8675309.123"), ("digits", "86753091234567")];

/// The answers to bad calls, in one table.
struct Table<'a> {
    fixture: &'a StoreFixture,
    rows: String,
}

impl Table<'_> {
    async fn add(&mut self, name: &str, tool: &str, arguments: Value) {
        let response = self.fixture.server.call(tool, arguments).await;
        assert!(response.is_failure(), "{name}: {}", response.whole);
        assert!(!response.text.contains(DIGITS), "{name}: {}", response.text);
        writeln!(self.rows, "{tool}, {name}: {}", response.text).unwrap();
    }

    /// Adds a query, which has no key.
    async fn add_query(&mut self, name: &str, tool: &str, arguments: Value) {
        let server = &self.fixture.server;
        let response = server.call_text(None, tool, arguments.to_string()).await;
        assert!(response.is_failure(), "{name}: {}", response.whole);
        writeln!(self.rows, "{tool}, {name}: {}", response.text).unwrap();
    }

    /// Sets each member to amounts that are not money.
    async fn add_amounts(&mut self, tool: &str, valid: &Value, members: &[&str]) {
        for member in members {
            for (name, amount) in BAD_AMOUNTS {
                let mut arguments = valid.clone();
                *arguments.pointer_mut(member).unwrap() = amount.into();
                self.add(&format!("{member} {name}"), tool, arguments).await;
            }
        }
    }
}

fn payment(reference: &str) -> Value {
    json!({ "reference": reference, "method": "card", "amount": "1.00" })
}

/// Creates an order that is shipped and paid, with one return, and returns both ids.
async fn shipped_order(fixture: &StoreFixture) -> (String, String) {
    let address = json!({ "address1": "Lindenweg 4", "city": "Berlin", "country": "DE" });
    let lines = json!([{ "sku": "MUG", "quantity": 2 }, { "sku": "PIN", "quantity": 1 }, { "sku": "PIN", "quantity": 1 }]);
    let order =
        json!({ "lineItems": lines, "shippingAddress": address, "payments": [payment("p")] });
    let server = &fixture.server;
    let created = server
        .call("create-sales-order", json!({ "order": order }))
        .await;
    let id = created.order().to_owned();
    let part = json!({ "orderId": id, "lineItems": [{ "sku": "MUG", "quantity": 1 }] });
    server.call("fulfill-order", part).await;
    let back = json!({ "orderId": id, "lineItems": [{ "sku": "MUG", "quantity": 1 }], "outcome": "store-credit" });
    let back = server.call("create-return", back).await;
    (id, back.at("/return/id").as_str().unwrap().to_owned())
}

/// Amounts of a new order, with the currency of the store and with a given one.
async fn add_new_orders(table: &mut Table<'_>) {
    let order = json!({
        "lineItems": [{ "sku": "MUG", "quantity": 1, "tax": "0" }],
        "shipping": { "price": "0", "tax": "0" }, "orderDiscount": "0", "orderTax": "0",
        "shippingTotal": "0", "taxTotal": "0", "payments": [payment("p")]
    });
    let members = [
        "/order/lineItems/0/tax",
        "/order/shipping/price",
        "/order/shipping/tax",
        "/order/orderDiscount",
        "/order/orderTax",
        "/order/shippingTotal",
        "/order/taxTotal",
        "/order/payments/0/amount",
    ];
    let create = "create-sales-order";
    let mut arguments = json!({ "order": order });
    table.add_amounts(create, &arguments, &members).await;
    arguments["order"]["currency"] = "EUR".into();
    table.add_amounts(create, &arguments, &members).await;
    let with = |name: &str, value: Value| {
        let mut order = json!({ "lineItems": [{ "sku": "MUG", "quantity": 1 }] });
        order[name] = value;
        json!({ "order": order })
    };
    let twice = with("payments", json!([payment("p"), payment("p")]));
    table.add("duplicate reference", create, twice).await;
    let many: Vec<_> = ["a", "b"]
        .map(|one| json!({ "reference": one, "method": "other", "amount": "9999999999999.99" }))
        .into();
    let rich = with("payments", json!(many));
    table
        .add("payments with too many digits", create, rich)
        .await;
    for (name, member, value) in [
        ("wrong shippingTotal", "shippingTotal", json!("1.00")),
        ("wrong taxTotal", "taxTotal", json!("1.00")),
        ("too large orderDiscount", "orderDiscount", json!("7.51")),
        (
            "total with too many digits",
            "orderTax",
            json!("9999999999999.99"),
        ),
        (
            "shipping taxed too much",
            "shipping",
            json!({ "price": "1", "tax": "1.01" }),
        ),
        (
            "line taxed too much",
            "lineItems",
            json!([{ "sku": "MUG", "quantity": 1, "tax": "7.51" }]),
        ),
    ] {
        table.add(name, create, with(member, value)).await;
    }
}

/// Updates of an order of which one unit is shipped.
async fn add_updates(table: &mut Table<'_>, id: &str, back: &str) {
    let update = "update-order";
    let with = |name: &str, value: Value| json!({ "orderId": id, "updates": { name: value } });
    let edit = |value: Value| with("lineItems", json!([value]));
    let amounts =
        json!({ "sku": "MUG", "quantity": 2, "unitPrice": "0", "unitDiscount": "0", "tax": "0" });
    let of_line =
        ["unitPrice", "unitDiscount", "tax"].map(|name| format!("/updates/lineItems/0/{name}"));
    let of_line: Vec<_> = of_line.iter().map(String::as_str).collect();
    table.add_amounts(update, &edit(amounts), &of_line).await;
    let shipping = with("shipping", json!({ "price": "0", "tax": "0" }));
    let of_shipping = ["/updates/shipping/price", "/updates/shipping/tax"];
    table.add_amounts(update, &shipping, &of_shipping).await;
    let payments = with("payments", json!([payment("q")]));
    table
        .add_amounts(update, &payments, &["/updates/payments/0/amount"])
        .await;
    let refund = |reference: &str| json!({ "reference": reference, "amount": "0" });
    let refunds = with("refunds", json!([refund("r")]));
    table
        .add_amounts(update, &refunds, &["/updates/refunds/0/amount"])
        .await;
    let step = |status: &str| json!({ "id": back, "status": status });
    let restocked = |status: &str, location: &str| json!({ "id": back, "status": status, "restockLocationId": location });
    let cases = [
        (
            "duplicate payment",
            with("payments", json!([payment("q"), payment("q")])),
        ),
        ("known payment", with("payments", json!([payment("p")]))),
        (
            "duplicate refund",
            with("refunds", json!([refund("r"), refund("r")])),
        ),
        (
            "100 more payments",
            with(
                "payments",
                (0..100).map(|one| payment(&format!("n{one}"))).collect(),
            ),
        ),
        (
            "refund above what was paid",
            with("refunds", json!([{ "reference": "r", "amount": "1.01" }])),
        ),
        (
            "refund of an unknown return",
            with(
                "refunds",
                json!([{ "reference": "r", "amount": "0", "returnId": DIGITS }]),
            ),
        ),
        (
            "unknown return",
            with("returns", json!([{ "id": DIGITS, "status": "received" }])),
        ),
        (
            "one return twice",
            with("returns", json!([step("received"), step("received")])),
        ),
        (
            "step that is left out",
            with("returns", json!([step("completed")])),
        ),
        (
            "stock of a declined return",
            with("returns", json!([restocked("declined", "loc_east")])),
        ),
        (
            "stock at an unknown location",
            with("returns", json!([restocked("received", DIGITS)])),
        ),
        (
            "line of another SKU",
            edit(json!({ "sku": "MUG", "quantity": 2, "line": 2 })),
        ),
        (
            "line that does not exist",
            edit(json!({ "sku": "MUG", "quantity": 2, "line": 9 })),
        ),
        (
            "line of a new SKU",
            edit(json!({ "sku": "SHIRT-S", "quantity": 2, "line": 4 })),
        ),
        (
            "SKU of several lines",
            edit(json!({ "sku": "PIN", "quantity": 2 })),
        ),
        (
            "removal of a SKU that is not there",
            edit(json!({ "sku": "SHIRT-S", "quantity": 0 })),
        ),
        ("unknown SKU", edit(json!({ "sku": DIGITS, "quantity": 1 }))),
        (
            "more units than there are",
            edit(json!({ "sku": "MUG", "quantity": 1_000_000 })),
        ),
        (
            "fewer units than were shipped",
            edit(json!({ "sku": "MUG", "quantity": 0 })),
        ),
        (
            "discount above the price",
            edit(json!({ "sku": "MUG", "quantity": 2, "unitDiscount": "7.51" })),
        ),
        (
            "tax above the line",
            edit(json!({ "sku": "MUG", "quantity": 2, "tax": "15.01" })),
        ),
    ];
    for (name, arguments) in cases {
        table.add(name, update, arguments).await;
    }
}

/// Parts, returns and exchanges of the same order.
async fn add_parts(table: &mut Table<'_>, id: &str) {
    let part = |line: i64| json!({ "orderId": id, "lineItems": [{ "sku": "MUG", "quantity": 1, "line": line }] });
    table
        .add("line of another SKU", "cancel-order", part(2))
        .await;
    table
        .add("line of another SKU", "fulfill-order", part(2))
        .await;
    let back = |line: i64| {
        let mut back = part(line);
        back["outcome"] = "exchange".into();
        back
    };
    let create = "create-return";
    table.add("line of another SKU", create, back(2)).await;
    table.add("more than was shipped", create, back(1)).await;
    let part = json!({ "orderId": id, "lineItems": [{ "sku": "PIN", "quantity": 1, "line": 2 }] });
    table
        .fixture
        .server
        .call("fulfill-order", part.clone())
        .await;
    let mut exchange = part;
    exchange["outcome"] = "exchange".into();
    exchange["refundAmount"] = "0".into();
    exchange["exchangeLineItems"] = json!([{ "sku": "MUG", "quantity": 1, "unitPrice": "0" }]);
    let amounts = ["/refundAmount", "/exchangeLineItems/0/unitPrice"];
    table.add_amounts(create, &exchange, &amounts).await;
    let with = |pointer: &str, value: Value| {
        let mut arguments = exchange.clone();
        *arguments.pointer_mut(pointer).unwrap() = value;
        arguments
    };
    let sku = "/exchangeLineItems/0/sku";
    let cases = [
        ("replacement of a refund", with("/outcome", json!("refund"))),
        (
            "refund above the total",
            with("/refundAmount", json!("15.21")),
        ),
        ("unknown replacement", with(sku, json!(DIGITS))),
        ("replacement that is sold out", with(sku, json!("GONE"))),
    ];
    for (name, arguments) in cases {
        table.add(name, create, arguments).await;
    }
}

/// Queries that no page answers.
async fn add_queries(table: &mut Table<'_>) {
    for (name, tool, arguments) in [
        (
            "short phone",
            "get-orders",
            json!({ "phones": ["+49 30 5550101", "00 12 34 56"] }),
        ),
        (
            "phone without digits",
            "get-customers",
            json!({ "phones": ["none"] }),
        ),
    ] {
        table.add_query(name, tool, arguments).await;
    }
    for (tool, member) in [("get-orders", "sort"), ("get-fulfillments", "sort")] {
        let page = json!({ "pageSize": 1, member: "updatedAt" }).to_string();
        let page = table.fixture.server.call_text(None, tool, page).await;
        let cursor = page.at("/nextCursor");
        let other = json!({ "cursor": cursor });
        table
            .add_query("cursor of another order", tool, other)
            .await;
    }
}

pub(crate) async fn rules(fixture: &StoreFixture) {
    let rows = String::new();
    let mut table = Table { fixture, rows };
    add_new_orders(&mut table).await;
    let (id, back) = shipped_order(fixture).await;
    let (_, _) = shipped_order(fixture).await;
    add_updates(&mut table, &id, &back).await;
    add_parts(&mut table, &id).await;
    add_queries(&mut table).await;
    insta::assert_snapshot!("bad_input_rules", table.rows);
}

pub(crate) async fn lines(fixture: &StoreFixture) {
    let server = &fixture.server;
    let line = json!({ "sku": "PIN", "quantity": 1 });
    let order = json!({ "order": { "lineItems": vec![line; 500] } });
    let id = server
        .call("create-sales-order", order)
        .await
        .order()
        .to_owned();
    let more =
        json!({ "orderId": id, "updates": { "lineItems": [{ "sku": "MUG", "quantity": 1 }] } });
    let refused = server.call("update-order", more).await;
    insta::assert_snapshot!(refused.text, @r#"{"error":{"code":2001,"message":"Validation error: updates.lineItems would be more than 500 lines of the order","retryable":false,"details":{"field":"updates.lineItems","reason":"maxItems","suggestion":"Put the further lines into another order with create-sales-order. This call did not bind the idempotencyKey.","context":{"class":"caller","effect":"none","retryAfterMs":null,"key":"free"}}}}"#);
}
