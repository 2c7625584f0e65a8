//! Support work: totals with tax and shipping, payments, edits, returns, exchanges and lookups.

use crate::fixture::store::StoreFixture;
use crate::requests::ToolResponse;
use serde_json::{Value, json};

fn address() -> Value {
    json!({
        "address1": "Lindenweg 4", "city": "Berlin", "country": "DE",
        "firstName": "Ada", "lastName": "Keller", "phone": "+49 30 5550101"
    })
}

async fn create(fixture: &StoreFixture, order: Value) -> ToolResponse {
    let arguments = json!({ "order": order });
    fixture.call_recorded("create-sales-order", arguments).await
}

async fn update(fixture: &StoreFixture, id: &str, updates: Value) -> ToolResponse {
    let arguments = json!({ "orderId": id, "updates": updates });
    fixture.call_recorded("update-order", arguments).await
}

/// Creates an order of one mug and two small shirts with an address, and returns its id.
async fn order(fixture: &StoreFixture) -> String {
    let lines = json!([{ "sku": "MUG", "quantity": 1 }, { "sku": "SHIRT-S", "quantity": 2 }]);
    let order = json!({ "lineItems": lines, "shippingAddress": address() });
    create(fixture, order).await.order().to_owned()
}

async fn ship(fixture: &StoreFixture, id: &str) -> ToolResponse {
    let arguments = json!({
        "orderId": id, "trackingNumbers": ["1Z999"], "carrier": "DHL", "service": "express"
    });
    fixture.call_recorded("fulfill-order", arguments).await
}

pub(crate) async fn totals(fixture: &StoreFixture) {
    let lines = json!([
        { "sku": "MUG", "quantity": 2, "unitDiscount": "0.50", "tax": "2.66" },
        { "sku": "SHIRT-S", "quantity": 1, "tax": "0" }
    ]);
    let shipping = json!({ "carrier": "DHL", "service": "parcel", "price": "4.90", "tax": "0.78", "instructions": "ring twice" });
    for tax_included in [false, true] {
        let order = json!({
            "lineItems": lines, "shipping": shipping, "orderDiscount": "3.99", "orderTax": "1.10",
            "taxIncluded": tax_included, "subTotal": "34.99", "discountTotal": "4.99",
            "shippingTotal": "4.90", "taxTotal": "4.54",
            "total": if tax_included { "34.90" } else { "39.44" },
            "payments": [{ "reference": "ch_1", "method": "card", "amount": "10" }]
        });
        let created = create(fixture, order).await;
        assert!(!created.is_failure(), "{}", created.whole);
    }
    insta::assert_snapshot!("totals", fixture.transcript());
}

pub(crate) async fn wrong_totals(fixture: &StoreFixture) {
    let line = json!({ "sku": "MUG", "quantity": 2 });
    let with = |name: &str, value: Value| {
        let mut order = json!({ "lineItems": [line] });
        order[name] = value;
        order
    };
    let cases = [
        (
            with("shippingTotal", json!("1.00")),
            "order.shippingTotal",
            "total",
        ),
        (with("taxTotal", json!("0.01")), "order.taxTotal", "total"),
        (
            with("orderDiscount", json!("15.01")),
            "order.orderDiscount",
            "discount",
        ),
        (
            with("orderTax", json!("9999999999999.99")),
            "order.lineItems",
            "digits",
        ),
        (
            with("shipping", json!({ "price": "1.00", "tax": "1.01" })),
            "order.shipping.tax",
            "tax",
        ),
        (
            with(
                "lineItems",
                json!([{ "sku": "MUG", "quantity": 2, "tax": "15.01" }]),
            ),
            "order.lineItems.0.tax",
            "tax",
        ),
    ];
    for (order, field, reason) in cases {
        let refused = fixture
            .server
            .call("create-sales-order", json!({ "order": order }))
            .await;
        assert_eq!(refused.failure(), (2001, ""), "{}", refused.whole);
        assert_eq!(refused.at("/error/details/field"), field);
        assert_eq!(refused.at("/error/details/reason"), reason);
    }
}

pub(crate) async fn payments(fixture: &StoreFixture) {
    let id = order(fixture).await;
    let pay = |entry: Value| json!({ "payments": [entry] });
    let entry = |reference: &str, amount: &str, status: &str| json!({ "reference": reference, "method": "card", "amount": amount, "status": status });
    update(fixture, &id, pay(entry("auth", "47.48", "authorized"))).await;
    update(fixture, &id, pay(entry("auth", "47.00", "captured"))).await;
    let rest = json!({ "reference": "gift", "method": "gift-card", "amount": "0.48" });
    update(fixture, &id, pay(rest)).await;
    for again in [
        entry("auth", "1.00", "captured"),
        entry("auth", "1.00", "authorized"),
    ] {
        let refused = update(fixture, &id, pay(again)).await;
        assert_eq!(refused.failure(), (4001, "PAYMENT_REFERENCE_CONFLICT"));
    }
    update(fixture, &id, pay(entry("big", "5.00", "authorized"))).await;
    let larger = update(fixture, &id, pay(entry("big", "5.01", "captured"))).await;
    assert_eq!(larger.failure(), (4001, "PAYMENT_REFERENCE_CONFLICT"));
    insta::assert_snapshot!("payments", fixture.transcript());
    let many: Vec<_> = (0..98)
        .map(|one| entry(&format!("p{one}"), "0", "captured"))
        .collect();
    let full = update(fixture, &id, json!({ "payments": many })).await;
    assert_eq!(full.failure(), (2001, ""), "{}", full.whole);
    assert_eq!(full.at("/error/details/reason"), "maxItems");
    fixture.transcript();
}

pub(crate) async fn refunds(fixture: &StoreFixture) {
    let id = order(fixture).await;
    let refund = |reference: &str, amount: &str| json!({ "reference": reference, "amount": amount, "reason": "goodwill" });
    let none = update(fixture, &id, json!({ "refunds": [refund("r0", "0.01")] })).await;
    assert_eq!(none.failure(), (4001, "REFUND_EXCEEDS_PAID"));
    assert_eq!(none.context("availableAmount"), "0.00");
    // Payments are applied before refunds.
    let both = json!({
        "payments": [{ "reference": "c", "method": "cash", "amount": "10.00" }],
        "refunds": [refund("r1", "4.00")]
    });
    update(fixture, &id, both).await;
    let more = update(fixture, &id, json!({ "refunds": [refund("r2", "6.01")] })).await;
    assert_eq!(more.context("availableAmount"), "6.00");
    let twice = update(fixture, &id, json!({ "refunds": [refund("r1", "1.00")] })).await;
    assert_eq!(twice.failure(), (4001, "PAYMENT_REFERENCE_CONFLICT"));
    let foreign = json!({ "amount": "1.00", "reference": "r3", "returnId": "ret_none" });
    let foreign = update(fixture, &id, json!({ "refunds": [foreign] })).await;
    assert_eq!(foreign.failure(), (4001, "RETURN_NOT_FOUND"));
    let all = update(fixture, &id, json!({ "refunds": [refund("r2", "6.00")] })).await;
    assert_eq!(all.at("/order/paymentStatus"), "refunded");
    insta::assert_snapshot!("refunds", fixture.transcript());
}

pub(crate) async fn edits(fixture: &StoreFixture) {
    let id = order(fixture).await;
    let edit = |lines: Value| json!({ "lineItems": lines });
    update(
        fixture,
        &id,
        edit(json!([{ "sku": "MUG", "quantity": 3, "tax": "1.00", "unitPrice": "7.00" }])),
    )
    .await;
    update(
        fixture,
        &id,
        edit(json!([{ "sku": "PIN", "quantity": 5 }, { "sku": "SHIRT-S", "quantity": 0 }])),
    )
    .await;
    let mixed = json!({ "lineItems": [{ "sku": "PIN", "quantity": 6, "unitDiscount": "0.01" }], "shipping": { "price": "5.00" }, "status": "confirmed" });
    update(fixture, &id, mixed).await;
    update(
        fixture,
        &id,
        json!({ "shipping": { "service": "express" } }),
    )
    .await;
    fixture.record_stock("%").await;
    insta::assert_snapshot!("edits", fixture.transcript());
}

pub(crate) async fn refused_edits(fixture: &StoreFixture) {
    let id = order(fixture).await;
    let part = json!({ "orderId": id, "lineItems": [{ "sku": "SHIRT-S", "quantity": 1 }] });
    fixture.call_recorded("fulfill-order", part).await;
    let edit = async |line: Value| update(fixture, &id, json!({ "lineItems": [line] })).await;
    let below = edit(json!({ "sku": "SHIRT-S", "quantity": 0 })).await;
    assert_eq!(below.failure(), (4001, "QUANTITY_EXCEEDS_OPEN"));
    assert_eq!(below.context("available"), 1);
    let short = edit(json!({ "sku": "SHIRT-S", "quantity": 9 })).await;
    assert_eq!(short.failure(), (4001, "INSUFFICIENT_INVENTORY"));
    assert_eq!(short.context("available"), 6);
    for unknown in [
        json!({ "sku": "NONE", "quantity": 1 }),
        json!({ "sku": "PIN", "quantity": 0 }),
    ] {
        assert_eq!(edit(unknown).await.failure(), (4001, "SKU_NOT_FOUND"));
    }
    let reason = |refused: &ToolResponse| {
        assert_eq!(refused.failure(), (2001, ""), "{}", refused.whole);
        refused.at("/error/details/reason").clone()
    };
    let reduced = edit(json!({ "sku": "MUG", "quantity": 1, "unitDiscount": "7.51" })).await;
    assert_eq!(reason(&reduced), "discount");
    let taxed = edit(json!({ "sku": "MUG", "quantity": 1, "tax": "7.51" })).await;
    assert_eq!(reason(&taxed), "tax");
    let wrong_line = edit(json!({ "sku": "MUG", "quantity": 1, "line": 2 })).await;
    assert_eq!(reason(&wrong_line), "line");
    let single = create(
        fixture,
        json!({ "lineItems": [{ "sku": "MUG", "quantity": 1 }] }),
    )
    .await;
    let removal = json!({ "lineItems": [{ "sku": "MUG", "quantity": 0 }] });
    let last = update(fixture, single.order(), removal).await;
    assert_eq!(reason(&last), "lines");
    // The other units have been shipped.
    edit(json!({ "sku": "MUG", "quantity": 0 })).await;
    let done = edit(json!({ "sku": "SHIRT-S", "quantity": 1 })).await;
    assert_eq!(done.status(), "shipped");
    fixture.transcript();
}

pub(crate) async fn line_numbers(fixture: &StoreFixture) {
    let lines = json!([{ "sku": "PIN", "quantity": 2 }, { "sku": "PIN", "quantity": 3, "unitPrice": "1.00" }]);
    let order = json!({ "lineItems": lines, "shippingAddress": address() });
    let id = create(fixture, order).await.order().to_owned();
    let unnamed = update(
        fixture,
        &id,
        json!({ "lineItems": [{ "sku": "PIN", "quantity": 1 }] }),
    )
    .await;
    assert_eq!(unnamed.at("/error/details/reason"), "line");
    update(
        fixture,
        &id,
        json!({ "lineItems": [{ "sku": "PIN", "quantity": 0, "line": 2 }] }),
    )
    .await;
    // The number of a removed line is not used again.
    let added = update(
        fixture,
        &id,
        json!({ "lineItems": [{ "sku": "MUG", "quantity": 4 }] }),
    )
    .await;
    assert_eq!(added.at("/order/lineItems/1/line"), 3);
    let named = |line: i64, quantity: i64| json!({ "orderId": id, "lineItems": [{ "sku": "MUG", "quantity": quantity, "line": line }] });
    let wrong = fixture.call_recorded("cancel-order", named(1, 1)).await;
    assert_eq!(wrong.at("/error/details/reason"), "line");
    fixture.call_recorded("cancel-order", named(3, 1)).await;
    fixture.call_recorded("fulfill-order", named(3, 2)).await;
    let mut back = named(3, 2);
    back["outcome"] = "refund".into();
    back["lineItems"][0]["reason"] = "size".into();
    fixture.call_recorded("create-return", back).await;
    insta::assert_snapshot!("line_numbers", fixture.transcript());
}

pub(crate) async fn shipped_orders(fixture: &StoreFixture) {
    let id = order(fixture).await;
    ship(fixture, &id).await;
    for updates in [
        json!({ "shippingAddress": address() }),
        json!({ "shipping": { "carrier": "UPS" } }),
        json!({ "lineItems": [{ "sku": "MUG", "quantity": 2 }] }),
    ] {
        let refused = update(fixture, &id, updates).await;
        assert_eq!(refused.failure(), (4001, "INVALID_ORDER_STATE"));
        assert_eq!(refused.context("status"), "shipped");
    }
    let billing = update(fixture, &id, json!({ "billingAddress": address() })).await;
    assert!(!billing.is_failure(), "{}", billing.whole);
    fixture.transcript();
}

pub(crate) async fn returns(fixture: &StoreFixture) {
    let id = order(fixture).await;
    ship(fixture, &id).await;
    let back = |sku: &str, outcome: &str| json!({ "orderId": id, "lineItems": [{ "sku": sku, "quantity": 1, "reason": "damaged" }], "outcome": outcome, "note": "torn" });
    let first = fixture
        .call_recorded("create-return", back("SHIRT-S", "refund"))
        .await;
    let first = first.at("/return/id").as_str().unwrap().to_owned();
    let mut credit = back("MUG", "store-credit");
    credit["refundAmount"] = "27.50".into();
    let too_much = fixture.call_recorded("create-return", credit.clone()).await;
    assert_eq!(too_much.failure(), (4001, "REFUND_EXCEEDS_PAID"));
    assert_eq!(too_much.context("availableAmount"), "27.49");
    credit["refundAmount"] = "27.49".into();
    fixture.call_recorded("create-return", credit).await;
    let step = |status: &str| json!({ "returns": [{ "id": first, "status": status }] });
    let early = update(fixture, &id, step("completed")).await;
    assert_eq!(early.failure(), (4001, "INVALID_RETURN_STATE"));
    assert_eq!(early.context("returnStatus"), "requested");
    let unknown = json!({ "returns": [{ "id": "ret_none", "status": "received" }] });
    assert_eq!(
        update(fixture, &id, unknown).await.failure(),
        (4001, "RETURN_NOT_FOUND")
    );
    let mut wrong = step("declined");
    wrong["returns"][0]["restockLocationId"] = "loc_east".into();
    let wrong = update(fixture, &id, wrong).await;
    assert_eq!(wrong.at("/error/details/reason"), "restock");
    let mut nowhere = step("received");
    nowhere["returns"][0]["restockLocationId"] = "loc_none".into();
    assert_eq!(
        update(fixture, &id, nowhere).await.failure(),
        (4001, "LOCATION_NOT_FOUND")
    );
    let mut received = step("received");
    received["returns"][0]["restockLocationId"] = "loc_west".into();
    received["returns"][0]["note"] = "in good order".into();
    update(fixture, &id, received).await;
    fixture.record_stock("SHIRT-S").await;
    // The units are ordered again, so they cannot leave the stock.
    let rest = json!({ "lineItems": [{ "sku": "SHIRT-S", "quantity": 7 }] });
    create(fixture, rest).await;
    let gone = update(fixture, &id, step("declined")).await;
    assert_eq!(gone.failure(), (4001, "INSUFFICIENT_INVENTORY"));
    update(fixture, &id, step("completed")).await;
    let query = json!({ "statuses": ["completed", "requested"], "outcomes": ["refund", "store-credit"], "sort": "updatedAt" });
    let found = fixture
        .server
        .call_text(None, "get-returns", query.to_string())
        .await;
    let statuses: Vec<_> = (0..2)
        .map(|one| found.at(&format!("/returns/{one}/status")).clone())
        .collect();
    assert_eq!(statuses, ["requested", "completed"]);
    insta::assert_snapshot!("returns", fixture.transcript());
}

pub(crate) async fn exchange(fixture: &StoreFixture) {
    let id = order(fixture).await;
    ship(fixture, &id).await;
    let back = |outcome: &str, sku: &str, quantity: i64| {
        json!({
            "orderId": id, "outcome": outcome, "lineItems": [{ "sku": "SHIRT-S", "quantity": 1, "reason": "size" }],
            "exchangeLineItems": [{ "sku": sku, "quantity": quantity }]
        })
    };
    let refund = fixture
        .call_recorded("create-return", back("refund", "SHIRT-L", 1))
        .await;
    assert_eq!(refund.failure(), (2001, ""));
    assert_eq!(refund.at("/error/details/reason"), "outcome");
    let short = fixture
        .call_recorded("create-return", back("exchange", "SHIRT-L", 11))
        .await;
    assert_eq!(short.failure(), (4001, "INSUFFICIENT_INVENTORY"));
    assert_eq!(short.context("field"), "exchangeLineItems.0.quantity");
    let unknown = fixture
        .call_recorded("create-return", back("exchange", "NONE", 1))
        .await;
    assert_eq!(unknown.failure(), (4001, "SKU_NOT_FOUND"));
    let made = fixture
        .call_recorded("create-return", back("exchange", "SHIRT-L", 1))
        .await;
    let order = made
        .at("/return/exchangeOrderId")
        .as_str()
        .unwrap()
        .to_owned();
    let query = json!({ "ids": [order] }).to_string();
    let replacement = fixture.server.call_text(None, "get-orders", query).await;
    let shown = |name: &str| replacement.at(&format!("/orders/0/{name}")).clone();
    assert_eq!(shown("exchangeFor"), *made.at("/return/id"));
    assert_eq!(shown("status"), "pending");
    assert_eq!(shown("shippingAddress"), address());
    assert_eq!(shown("total"), "21.50");
    // A declined return takes its units back from the line.
    let declined = json!({ "returns": [{ "id": made.at("/return/id"), "status": "declined" }] });
    let declined = update(fixture, &id, declined).await;
    assert_eq!(declined.at("/order/lineItems/1/returnedQuantity"), 0);
    fixture.record_stock("SHIRT-%").await;
    insta::assert_snapshot!("exchange", fixture.transcript());
}

pub(crate) async fn lookups(fixture: &StoreFixture) {
    let customer = json!({ "email": "g@example.com", "firstName": "Grace", "lastName": "van der Berg", "phone": "(212) 765-4321" });
    let order = json!({
        "name": "#A-17", "lineItems": [{ "sku": "MUG", "quantity": 1 }],
        "customer": customer, "shippingAddress": address()
    });
    let id = create(fixture, order).await.order().to_owned();
    ship(fixture, &id).await;
    let found = async |tool: &str, query: Value| {
        let response = fixture
            .server
            .call_text(None, tool, query.to_string())
            .await;
        let member = tool.strip_prefix("get-").unwrap();
        response
            .at(&format!("/{member}"))
            .as_array()
            .map_or(usize::MAX, Vec::len)
    };
    for (query, count) in [
        (json!({ "orderNumbers": ["1001", "x", "01001"] }), 1),
        (json!({ "orderNumbers": ["01001"] }), 0),
        (json!({ "names": ["a-17"] }), 1),
        (json!({ "names": ["#A-17"] }), 1),
        (json!({ "names": ["##A-17"] }), 0),
        (json!({ "trackingNumbers": ["1Z999"] }), 1),
        (json!({ "trackingNumbers": ["1z999"] }), 0),
        (json!({ "customerNames": ["KELLER"] }), 1),
        (json!({ "customerNames": ["Van  der berg, grace"] }), 1),
        (json!({ "customerNames": ["grace"] }), 0),
        (json!({ "phones": ["030/555 01 01"] }), 1),
        (
            json!({ "phones": ["+1 212 765 4321"], "customerNames": ["Keller, Ada"] }),
            1,
        ),
        (json!({ "phones": ["+1 212 765 4322"] }), 0),
        (
            json!({ "paymentStatuses": ["unpaid"], "sort": "updatedAt" }),
            1,
        ),
        (json!({ "paymentStatuses": ["paid"] }), 0),
    ] {
        assert_eq!(found("get-orders", query.clone()).await, count, "{query}");
    }
    for (tool, query, count) in [
        ("get-customers", json!({ "names": ["berg"] }), 0),
        ("get-customers", json!({ "names": ["van der Berg"] }), 1),
        (
            "get-customers",
            json!({ "phones": ["765-4321"], "sort": "updatedAt" }),
            1,
        ),
        (
            "get-fulfillments",
            json!({ "trackingNumbers": ["1Z999"] }),
            1,
        ),
        (
            "get-fulfillments",
            json!({ "trackingNumbers": ["x"], "sort": "createdAt" }),
            0,
        ),
    ] {
        assert_eq!(found(tool, query.clone()).await, count, "{query}");
    }
    let short = json!({ "phones": ["+49 30 12"] }).to_string();
    let short = fixture.server.call_text(None, "get-orders", short).await;
    assert_eq!(short.failure(), (2003, ""), "{}", short.whole);
    // A new name replaces the old one.
    update(fixture, &id, json!({ "name": "B" })).await;
    assert_eq!(found("get-orders", json!({ "names": ["a-17"] })).await, 0);
    assert_eq!(found("get-orders", json!({ "names": ["b"] })).await, 1);
    fixture.transcript();
}
