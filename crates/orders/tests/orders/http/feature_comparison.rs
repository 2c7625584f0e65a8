//! Lies and honest answers about the declared features and filters: tax, shipping, payments, edits,
//! returns, names, phones and sorting.

use super::comparison::{
    Exchange, Patch, TIME, cancel_some, create, customer, find, find_orders, fulfill, fulfillment,
    give_back, order, returned, update,
};
use serde_json::{Value, json};

/// A line with its number and tax.
fn line(number: i64, sku: &str, quantity: i64, price: &str, tax: &str) -> Value {
    json!({
        "line": number, "sku": sku, "name": sku, "quantity": quantity, "unitPrice": price,
        "unitDiscount": "0.00", "tax": tax,
        "fulfilledQuantity": 0, "cancelledQuantity": 0, "returnedQuantity": 0
    })
}

fn payment(reference: &str, amount: &str, status: &str) -> Value {
    json!({
        "id": format!("pay_{reference}"), "reference": reference, "method": "card",
        "amount": amount, "status": status, "at": TIME
    })
}

/// An order of 2 A and 3 A, with everything that an order can have.
fn full_order() -> Value {
    let mut shown = order();
    for (name, value) in [
        ("orderNumber", json!("1001")),
        (
            "lineItems",
            json!([
                line(1, "A", 2, "10.00", "2.00"),
                line(2, "A", 3, "10.00", "1.00")
            ]),
        ),
        (
            "customer",
            json!({ "id": "cus_1", "email": "kim@example.com", "firstName": "Kim", "lastName": "Berg", "phone": "+49 30 1234567" }),
        ),
        (
            "shipping",
            json!({ "carrier": "Post", "service": "Express", "price": "5.00", "tax": "0.50", "instructions": "Ring." }),
        ),
        ("orderDiscount", json!("6.00")),
        ("orderTax", json!("0.25")),
        ("taxIncluded", json!(false)),
        ("subTotal", json!("50.00")),
        ("discountTotal", json!("6.00")),
        ("shippingTotal", json!("5.00")),
        ("taxTotal", json!("3.75")),
        ("total", json!("52.75")),
        (
            "payments",
            json!([
                payment("p1", "20.00", "captured"),
                payment("p2", "9.00", "authorized")
            ]),
        ),
        ("refunds", json!([])),
        ("paidTotal", json!("20.00")),
        ("refundedTotal", json!("0.00")),
        ("paymentStatus", json!("partially-paid")),
    ] {
        shown[name] = value;
    }
    shown
}

fn full_create() -> Exchange {
    Exchange {
        tool: "create-sales-order",
        arguments: json!({ "idempotencyKey": "k", "order": {
            "lineItems": [
                { "sku": "A", "quantity": 2, "unitPrice": "10", "tax": "2" },
                { "sku": "A", "quantity": 3, "unitPrice": "10", "tax": "1" }
            ],
            "customer": { "email": "kim@example.com", "phone": "030 1234567" },
            "shipping": { "carrier": "Post", "service": "Express", "price": "5", "tax": "0.5", "instructions": "Ring." },
            "orderDiscount": "6", "orderTax": "0.25", "taxIncluded": false,
            "payments": [
                { "reference": "p1", "method": "card", "amount": "20" },
                { "reference": "p2", "method": "card", "amount": "9", "status": "authorized" }
            ]
        } }),
        answer: json!({ "order": full_order() }),
    }
    .with_arguments(vec![("/order/customer/phone", json!("+49 30/1234567"))])
}

fn update_with(updates: Value) -> Exchange {
    Exchange {
        tool: "update-order",
        arguments: json!({ "orderId": "ord_1", "idempotencyKey": "k", "updates": updates }),
        answer: json!({ "order": full_order() }),
    }
}

fn refund() -> Exchange {
    let refund = json!({ "amount": "7", "reference": "r1", "reason": "Late", "returnId": "ret_1" });
    let mut shown = refund.clone();
    shown["id"] = json!("ref_1");
    shown["at"] = json!(TIME);
    update_with(json!({ "refunds": [refund] })).with_answer(vec![
        ("/order/refunds", json!([shown])),
        ("/order/refundedTotal", json!("7.00")),
        ("/order/paymentStatus", json!("partially-refunded")),
    ])
}

fn capture() -> Exchange {
    let captured = json!([
        { "reference": "p2", "method": "card", "amount": "9", "status": "authorized" },
        { "reference": "p2", "method": "card", "amount": "8" }
    ]);
    update_with(json!({ "payments": captured })).with_answer(vec![
        ("/order/payments/1", payment("p2", "8.00", "captured")),
        ("/order/paidTotal", json!("28.00")),
    ])
}

fn edit() -> Exchange {
    update_with(json!({ "lineItems": [
        { "sku": "A", "line": 2, "quantity": 3, "unitPrice": "10", "unitDiscount": "0", "tax": "1", "name": "a" },
        { "sku": "B", "quantity": 0 }
    ] }))
}

fn ship() -> Exchange {
    let changed: Patch = vec![("/carrier", json!("Post")), ("/service", json!("Express"))];
    fulfill().with_arguments(changed).with_answer(vec![
        ("/fulfillment/carrier", json!("POST")),
        ("/fulfillment/service", json!("Express")),
    ])
}

fn exchange() -> Exchange {
    give_back()
        .with_arguments(vec![
            ("/outcome", json!("exchange")),
            ("/note", json!("Torn.")),
            ("/refundAmount", json!("1.5")),
            ("/exchangeLineItems", json!([{ "sku": "B", "quantity": 1 }])),
            (
                "/lineItems",
                json!([{ "sku": "A", "quantity": 2, "line": 1, "reason": "damaged" }]),
            ),
        ])
        .with_answer(vec![
            ("/return/outcome", json!("exchange")),
            ("/return/status", json!("requested")),
            ("/return/note", json!("Torn.")),
            ("/return/refundAmount", json!("1.50")),
            ("/return/exchangeOrderId", json!("ord_2")),
            (
                "/return/lineItems",
                json!([{ "sku": "A", "quantity": 2, "line": 1, "reason": "damaged" }]),
            ),
        ])
}

fn cancel_line() -> Exchange {
    let asked = json!([{ "sku": "A", "quantity": 2, "line": 2 }]);
    let mut shown = full_order();
    shown["lineItems"][1]["cancelledQuantity"] = json!(2);
    cancel_some()
        .with_arguments(vec![("/lineItems", asked)])
        .with_answer(vec![("/order", shown)])
}

/// A query that the full order fits.
fn find_full(filters: Value) -> Exchange {
    find("get-orders", filters, vec![full_order()])
}

fn person() -> Value {
    let mut person = customer();
    person["firstName"] = json!("Kim Lee");
    person["lastName"] = json!("Berg");
    person["phone"] = json!("(030) 123 45 67");
    person
}

/// A return with its status.
fn requested() -> Value {
    let mut shown = returned();
    shown["status"] = json!("requested");
    shown
}

const LATER: &str = "2025-10-13T00:00:00Z";

pub(super) fn lies() -> Vec<(&'static str, Exchange)> {
    let create = |changes: Patch| full_create().with_answer(changes);
    let full = |filters: Value, changes: Patch| find_full(filters).with_answer(changes);
    let edit = |changes: Patch| edit().with_answer(changes);
    let exchange = |changes: Patch| exchange().with_answer(changes);
    vec![
        (
            "create: tax of a line moved to the order",
            create(vec![
                ("/order/lineItems/0/tax", json!("0.00")),
                ("/order/orderTax", json!("2.25")),
            ]),
        ),
        (
            "create: another order discount",
            create(vec![
                ("/order/orderDiscount", json!("5.00")),
                ("/order/discountTotal", json!("5.00")),
                ("/order/total", json!("53.75")),
            ]),
        ),
        (
            "create: no order tax",
            create(vec![
                ("/order/orderTax", Value::Null),
                ("/order/taxTotal", json!("3.50")),
                ("/order/total", json!("52.50")),
            ]),
        ),
        (
            "create: tax is included",
            create(vec![
                ("/order/taxIncluded", json!(true)),
                ("/order/total", json!("49.00")),
            ]),
        ),
        (
            "create: tax total that was not asked for",
            full_create().with_arguments(vec![("/order/taxTotal", json!("3.76"))]),
        ),
        (
            "create: shipping total that was not asked for",
            full_create().with_arguments(vec![("/order/shippingTotal", json!("5.01"))]),
        ),
        (
            "create: another carrier",
            create(vec![("/order/shipping/carrier", json!("Pigeon"))]),
        ),
        (
            "create: no instructions",
            create(vec![("/order/shipping/instructions", Value::Null)]),
        ),
        (
            "create: free shipping",
            create(vec![
                ("/order/shipping/price", json!("0.00")),
                ("/order/shippingTotal", json!("0.00")),
                ("/order/total", json!("47.75")),
            ]),
        ),
        (
            "create: no shipping",
            create(vec![
                ("/order/shipping", Value::Null),
                ("/order/shippingTotal", Value::Null),
                ("/order/taxTotal", json!("3.25")),
                ("/order/total", json!("47.25")),
            ]),
        ),
        (
            "create: another phone",
            create(vec![("/order/customer/phone", json!("+49 30 1234568"))]),
        ),
        (
            "create: no phone of the customer",
            create(vec![("/order/customer/phone", Value::Null)]),
        ),
        (
            "create: a payment is missing",
            create(vec![(
                "/order/payments",
                json!([payment("p1", "20.00", "captured")]),
            )]),
        ),
        (
            "create: another payment beside",
            create(vec![(
                "/order/payments/2",
                payment("p3", "1.00", "authorized"),
            )]),
        ),
        (
            "create: another method",
            create(vec![("/order/payments/1/method", json!("cash"))]),
        ),
        (
            "create: captured what was authorized",
            create(vec![
                ("/order/payments/1/status", json!("captured")),
                ("/order/paidTotal", json!("29.00")),
            ]),
        ),
        (
            "create: another amount was authorized",
            create(vec![("/order/payments/1/amount", json!("9.01"))]),
        ),
        (
            "update: shipping as before",
            update_with(json!({ "shipping": { "service": "Slow" } })),
        ),
        (
            "update: price of the shipping as before",
            update_with(json!({ "shipping": { "price": "4" } })),
        ),
        (
            "update: payment as before",
            capture().with_answer(vec![
                ("/order/payments/1", payment("p2", "9.00", "authorized")),
                ("/order/paidTotal", json!("20.00")),
            ]),
        ),
        (
            "update: a reference twice",
            capture().with_answer(vec![
                ("/order/payments/2", payment("p2", "1.00", "captured")),
                ("/order/paidTotal", json!("29.00")),
            ]),
        ),
        (
            "update: no refund",
            refund().with_answer(vec![
                ("/order/refunds", json!([])),
                ("/order/refundedTotal", json!("0.00")),
                ("/order/paymentStatus", json!("partially-paid")),
            ]),
        ),
        (
            "update: another refund",
            refund().with_answer(vec![
                ("/order/refunds/0/amount", json!("8.00")),
                ("/order/refundedTotal", json!("8.00")),
            ]),
        ),
        (
            "update: a refund of another return",
            refund().with_answer(vec![("/order/refunds/0/returnId", json!("ret_2"))]),
        ),
        (
            "update: another reason of the refund",
            refund().with_answer(vec![("/order/refunds/0/reason", json!("Early"))]),
        ),
        (
            "edit: quantity as before",
            edit(vec![
                ("/order/lineItems/1/quantity", json!(2)),
                ("/order/subTotal", json!("40.00")),
                ("/order/total", json!("42.75")),
            ]),
        ),
        (
            "edit: quantities of the lines are swapped",
            edit(vec![
                ("/order/lineItems/0/quantity", json!(3)),
                ("/order/lineItems/1/quantity", json!(2)),
            ]),
        ),
        (
            "edit: no line numbers",
            edit(vec![
                ("/order/lineItems/0/line", Value::Null),
                ("/order/lineItems/1/line", Value::Null),
            ]),
        ),
        (
            "edit: prices of the lines are swapped",
            edit(vec![
                ("/order/lineItems/0/unitPrice", json!("13.00")),
                ("/order/lineItems/1/unitPrice", json!("8.00")),
            ]),
        ),
        (
            "edit: another discount",
            edit(vec![
                ("/order/lineItems/1/unitDiscount", json!("1.00")),
                ("/order/discountTotal", json!("9.00")),
                ("/order/total", json!("49.75")),
            ]),
        ),
        (
            "edit: tax of another line",
            edit(vec![
                ("/order/lineItems/0/tax", json!("1.00")),
                ("/order/lineItems/1/tax", json!("2.00")),
            ]),
        ),
        (
            "edit: another name",
            edit(vec![("/order/lineItems/1/name", json!("b"))]),
        ),
        (
            "edit: a removed line is there",
            edit(vec![(
                "/order/lineItems/2",
                line(3, "B", 1, "0.00", "0.00"),
            )]),
        ),
        (
            "edit: a line of another SKU",
            edit(vec![("/order/lineItems/1/sku", json!("C"))]),
        ),
        (
            "cancel: units of another line",
            cancel_line().with_answer(vec![
                ("/order/lineItems/0/cancelledQuantity", json!(2)),
                ("/order/lineItems/1/cancelledQuantity", json!(0)),
            ]),
        ),
        (
            "fulfill: another carrier",
            ship().with_answer(vec![("/fulfillment/carrier", json!("Pigeon"))]),
        ),
        (
            "fulfill: no service",
            ship().with_answer(vec![("/fulfillment/service", Value::Null)]),
        ),
        (
            "return: declined at once",
            exchange(vec![("/return/status", json!("declined"))]),
        ),
        (
            "return: another note",
            exchange(vec![("/return/note", json!("Fine."))]),
        ),
        (
            "return: another amount",
            exchange(vec![("/return/refundAmount", json!("15.00"))]),
        ),
        (
            "return: no amount",
            exchange(vec![("/return/refundAmount", Value::Null)]),
        ),
        (
            "return: another reason",
            exchange(vec![("/return/lineItems/0/reason", json!("late"))]),
        ),
        (
            "return: another line",
            exchange(vec![("/return/lineItems/0/line", json!(2))]),
        ),
        (
            "return: no exchange",
            exchange(vec![("/return/exchangeOrderId", Value::Null)]),
        ),
        (
            "return: the exchange is the order itself",
            exchange(vec![("/return/exchangeOrderId", json!("ord_1"))]),
        ),
        (
            "orderNumbers: another",
            full(json!({ "orderNumbers": ["1002"] }), vec![]),
        ),
        (
            "orderNumbers: none",
            full(
                json!({ "orderNumbers": ["1001"] }),
                vec![("/orders/0/orderNumber", Value::Null)],
            ),
        ),
        (
            "names: another",
            full(json!({ "names": ["gifts"] }), vec![]),
        ),
        (
            "customerIds: another",
            full(json!({ "customerIds": ["cus_2"] }), vec![]),
        ),
        (
            "customerNames: another",
            full(json!({ "customerNames": ["Kim"] }), vec![]),
        ),
        (
            "phones: another",
            full(json!({ "phones": ["1234568"] }), vec![]),
        ),
        (
            "paymentStatuses: another",
            full(json!({ "paymentStatuses": ["paid"] }), vec![]),
        ),
        (
            "paymentStatuses: none",
            full(
                json!({ "paymentStatuses": ["partially-paid"] }),
                vec![("/orders/0/paymentStatus", Value::Null)],
            ),
        ),
        (
            "sort: by creation",
            find_orders(json!({ "sort": "updatedAt" }))
                .with_answer(vec![("/orders/0/updatedAt", json!(LATER))]),
        ),
        (
            "customers: another name",
            find(
                "get-customers",
                json!({ "names": ["Kim Berg"] }),
                vec![person()],
            ),
        ),
        (
            "customers: another phone",
            find(
                "get-customers",
                json!({ "phones": ["+49 30 7654321"] }),
                vec![person()],
            ),
        ),
        (
            "fulfillments: another tracking number",
            find(
                "get-fulfillments",
                json!({ "trackingNumbers": ["T3"] }),
                vec![fulfillment()],
            ),
        ),
        (
            "returns: another status",
            find(
                "get-returns",
                json!({ "statuses": ["received"] }),
                vec![requested()],
            ),
        ),
        (
            "returns: no status",
            find(
                "get-returns",
                json!({ "statuses": ["requested"] }),
                vec![returned()],
            ),
        ),
        (
            "returns: another outcome",
            find(
                "get-returns",
                json!({ "outcomes": ["exchange"] }),
                vec![requested()],
            ),
        ),
    ]
}

pub(super) fn honest_answers() -> Vec<(&'static str, Exchange)> {
    let merged = json!([line(1, "A", 5, "10.00", "3.00")]);
    let no_taxes = json!([
        { "sku": "A", "quantity": 2, "tax": "2" },
        { "sku": "A", "quantity": 3 }
    ]);
    let all = json!({
        "orderNumbers": ["1001"], "names": ["#gift"], "trackingNumbers": ["T1"],
        "customerIds": ["cus_1"], "customerNames": ["BERG,  kim"], "phones": ["0301234567"],
        "paymentStatuses": ["partially-paid", "paid"], "sort": "updatedAt"
    });
    vec![
        ("create: everything", full_create()),
        (
            "create: merged taxes",
            full_create().with_answer(vec![("/order/lineItems", merged)]),
        ),
        (
            "create: taxes of the system's own",
            full_create().with_arguments(vec![("/order/lineItems", no_taxes)]),
        ),
        (
            "create: the phone in another form",
            full_create()
                .with_answer(vec![("/order/customer/phone", json!("0049301234567"))])
                .with_arguments(vec![("/order/customer/phone", json!("+49 (30) 1234567"))]),
        ),
        (
            "create: letter case of the carrier",
            full_create().with_answer(vec![("/order/shipping/carrier", json!("POST"))]),
        ),
        (
            "create: tax that is not included is not shown",
            full_create().with_answer(vec![("/order/taxIncluded", Value::Null)]),
        ),
        (
            "create: zero is not shown",
            create().with_arguments(vec![
                ("/order/orderTax", json!("0")),
                ("/order/orderDiscount", json!("0.00")),
                ("/order/shippingTotal", json!("0")),
                ("/order/taxTotal", json!("0.0")),
            ]),
        ),
        ("update: capture", capture()),
        ("update: refund", refund()),
        (
            "update: earlier payments stay",
            update_with(
                json!({ "payments": [{ "reference": "p1", "method": "card", "amount": "20" }] }),
            ),
        ),
        (
            "update: one member of the shipping",
            update_with(json!({ "shipping": { "service": "express" } })),
        ),
        (
            "update: steps of returns are not shown",
            update_with(json!({ "returns": [{ "id": "ret_1", "status": "received" }] })),
        ),
        ("update: all of the first version", update()),
        ("edit", edit()),
        (
            "edit: by SKU",
            update_with(json!({ "lineItems": [{ "sku": "A", "quantity": 5, "tax": "3" }] }))
                .with_answer(vec![(
                    "/order/lineItems",
                    json!([line(1, "A", 5, "10.00", "3.00")]),
                )]),
        ),
        (
            "edit: the last one counts",
            update_with(json!({ "lineItems": [
                { "sku": "A", "quantity": 1, "line": 1 }, { "sku": "A", "quantity": 5 }
            ] }))
            .with_answer(vec![(
                "/order/lineItems",
                json!([line(1, "A", 5, "10.00", "3.00")]),
            )]),
        ),
        ("cancel: a line", cancel_line()),
        ("fulfill: carrier", ship()),
        ("exchange", exchange()),
        ("orders: every filter", find_full(all)),
        (
            "orders: a name in an address",
            find_full(json!({ "customerNames": ["Ann Berg"] })).with_answer(vec![
                ("/orders/0/billingAddress/firstName", json!("Ann")),
                ("/orders/0/billingAddress/lastName", json!("BERG")),
            ]),
        ),
        (
            "orders: a phone in an address",
            find_full(json!({ "phones": ["+1 (212) 555-0100"] })).with_answer(vec![(
                "/orders/0/shippingAddress/phone",
                json!("2125550100"),
            )]),
        ),
        (
            "orders: by update",
            find_orders(json!({ "sort": "updatedAt" })).with_answer(vec![
                ("/orders/1/updatedAt", json!(LATER)),
                ("/orders/1/createdAt", json!("2025-10-12T11:00:00Z")),
            ]),
        ),
        (
            "customers: name and phone",
            find(
                "get-customers",
                json!({ "names": ["kim lee berg"], "phones": ["+49 30 1234567"], "sort": "createdAt" }),
                vec![person()],
            ),
        ),
        (
            "fulfillments: one of the numbers",
            find(
                "get-fulfillments",
                json!({ "trackingNumbers": ["T2", "T9"] }),
                vec![fulfillment()],
            ),
        ),
        (
            "returns: status and outcome",
            find(
                "get-returns",
                json!({ "statuses": ["requested"], "outcomes": ["refund"] }),
                vec![requested()],
            ),
        ),
    ]
}
