//! Answers that contradict their request are refused, honest ones pass, and entities that cannot be
//! shown are left out by name.

use super::feature_comparison;
use crate::fixture::http_adapter::{CANARY, settings};
use crate::fixture::http_server::{full_capabilities, start_with};
use crate::fixture::log::Log;
use crate::requests::ToolResponse;
use candor_call_fixtures::{answer, call_by, specification_instant};
use candor_orders::http::HttpAdapter;
use candor_orders::{Config, OrdersServer};
use candor_street::{Dispatcher, MetricsHub};
use candor_testkit::scripted_http::{ScriptedResponse, ScriptedServer};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// A tool call and an honest answer to it.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    pub(super) answer: Value,
}

/// A change of an exchange: JSON pointers with their new values; `null` removes a member.
pub(super) type Patch = Vec<(&'static str, Value)>;

fn patch(value: &mut Value, patch: &Patch) {
    for (pointer, new) in patch {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = value.pointer_mut(parent).unwrap();
        match (parent, name.parse::<usize>()) {
            (Value::Array(items), Ok(index)) if index < items.len() => items[index] = new.clone(),
            (Value::Array(items), _) => items.push(new.clone()),
            (Value::Object(members), _) if new.is_null() => {
                members.shift_remove(name).unwrap();
            }
            (Value::Object(members), _) => {
                members.insert(name.to_owned(), new.clone());
            }
            (other, _) => panic!("{pointer} in {other}"),
        }
    }
}

impl Exchange {
    pub(super) fn with_answer(mut self, changes: Patch) -> Exchange {
        patch(&mut self.answer, &changes);
        self
    }

    pub(super) fn with_arguments(mut self, changes: Patch) -> Exchange {
        patch(&mut self.arguments, &changes);
        self
    }
}

pub(super) const TIME: &str = "2025-10-12T12:00:00Z";

pub(super) fn line(sku: &str, quantity: i64, price: &str, discount: &str) -> Value {
    json!({
        "sku": sku, "quantity": quantity, "unitPrice": price, "unitDiscount": discount,
        "fulfilledQuantity": 0, "cancelledQuantity": 0, "returnedQuantity": 0
    })
}

/// An order of seven A and one B.
pub(super) fn order() -> Value {
    json!({
        "id": "ord_1", "externalId": "x-1", "name": "Gift", "status": "pending", "currency": "EUR",
        "lineItems": [line("A", 7, "2.50", "0.50"), line("B", 1, "9.00", "0.00")],
        "customer": { "id": "cus_1", "email": "kim@example.com", "firstName": "Kim" },
        "shippingAddress": { "address1": "Hauptstr. 1", "city": "Berlin", "country": "DE", "phone": "030 1" },
        "billingAddress": { "address1": "Weg 2", "city": "Köln", "country": "DE" },
        "tags": ["a", "b"], "customFields": [{ "name": "channel", "value": "web" }],
        "notes": "Ring twice.\nThen wait.",
        "subTotal": "26.50", "discountTotal": "3.50", "total": "23.00",
        "createdAt": TIME, "updatedAt": TIME
    })
}

pub(super) fn create() -> Exchange {
    Exchange {
        tool: "create-sales-order",
        arguments: json!({ "idempotencyKey": "k", "order": {
            "externalId": "x-1", "currency": "EUR",
            "lineItems": [
                { "sku": "A", "quantity": 7, "unitPrice": "2.50", "unitDiscount": "0.50" },
                { "sku": "B", "quantity": 1 }
            ],
            "customer": { "id": "cus_1", "email": "Kim@Example.com" },
            "shippingAddress": { "address1": "Hauptstr. 1", "city": "Berlin", "country": "DE", "phone": "030 1" },
            "billingAddress": { "address1": "Weg 2", "city": "Köln", "country": "DE" },
            "subTotal": "26.50", "discountTotal": "3.50", "total": "23"
        } }),
        answer: json!({ "order": order() }),
    }
}

pub(super) fn update() -> Exchange {
    let updates = json!({
        "status": "confirmed", "name": "Gift", "notes": "Ring twice.\nThen wait.",
        "tags": ["a", "b"], "customFields": [{ "name": "channel", "value": "web" }],
        "shippingAddress": { "address1": "Hauptstr. 1", "city": "Berlin", "country": "DE" },
        "billingAddress": { "address1": "Weg 2", "city": "Köln", "country": "DE" }
    });
    Exchange {
        tool: "update-order",
        arguments: json!({ "orderId": "ord_1", "idempotencyKey": "k", "updates": updates }),
        answer: json!({ "order": order() }),
    }
    .with_answer(vec![("/order/status", json!("confirmed"))])
}

fn cancel_all() -> Exchange {
    Exchange {
        tool: "cancel-order",
        arguments: json!({ "orderId": "ord_1", "idempotencyKey": "k" }),
        answer: json!({ "order": order() }),
    }
    .with_answer(vec![
        ("/order/status", json!("cancelled")),
        ("/order/lineItems/0/cancelledQuantity", json!(7)),
        ("/order/lineItems/1/cancelledQuantity", json!(1)),
    ])
}

pub(super) fn cancel_some() -> Exchange {
    let asked = json!([{ "sku": "A", "quantity": 2 }, { "sku": "A", "quantity": 1 }]);
    Exchange {
        tool: "cancel-order",
        arguments: json!({ "orderId": "ord_1", "lineItems": asked, "idempotencyKey": "k" }),
        answer: json!({ "order": order() }),
    }
    .with_answer(vec![("/order/lineItems/0/cancelledQuantity", json!(3))])
}

pub(super) fn fulfillment() -> Value {
    json!({
        "id": "ful_1", "orderId": "ord_1", "trackingNumbers": ["T1", "T2"],
        "lineItems": [
            { "sku": "A", "quantity": 2, "locationId": "loc_1" },
            { "sku": "A", "quantity": 1, "locationId": "loc_1" },
            { "sku": "B", "quantity": 1, "locationId": "loc_1" }
        ],
        "createdAt": TIME, "updatedAt": TIME
    })
}

pub(super) fn fulfill() -> Exchange {
    let asked = json!([{ "sku": "A", "quantity": 3 }, { "sku": "B", "quantity": 1 }]);
    Exchange {
        tool: "fulfill-order",
        arguments: json!({
            "orderId": "ord_1", "lineItems": asked, "trackingNumbers": ["T1", "T2"],
            "locationId": "loc_1", "idempotencyKey": "k"
        }),
        answer: json!({ "fulfillment": fulfillment() }),
    }
}

fn fulfill_open() -> Exchange {
    fulfill().with_arguments(vec![
        ("/lineItems", Value::Null),
        ("/trackingNumbers", Value::Null),
        ("/locationId", Value::Null),
    ])
}

pub(super) fn returned() -> Value {
    json!({
        "id": "ret_1", "orderId": "ord_1", "outcome": "refund",
        "lineItems": [{ "sku": "A", "quantity": 2 }], "createdAt": TIME, "updatedAt": TIME
    })
}

pub(super) fn give_back() -> Exchange {
    Exchange {
        tool: "create-return",
        arguments: json!({
            "orderId": "ord_1", "lineItems": [{ "sku": "A", "quantity": 2 }],
            "outcome": "refund", "idempotencyKey": "k"
        }),
        answer: json!({ "return": returned() }),
    }
}

/// A query that every entity in the answer fits.
pub(super) fn find(tool: &'static str, filters: Value, entities: Vec<Value>) -> Exchange {
    let member = match tool {
        "get-product-variants" => "productVariants",
        _ => tool.trim_start_matches("get-"),
    };
    Exchange {
        tool,
        arguments: filters,
        answer: json!({ member: entities, "nextCursor": null }),
    }
}

pub(super) fn find_orders(filters: Value) -> Exchange {
    let mut second = order();
    patch(
        &mut second,
        &vec![("/id", json!("ord_2")), ("/externalId", json!("x-2"))],
    );
    find("get-orders", filters, vec![order(), second])
}

pub(super) fn customer() -> Value {
    json!({ "id": "cus_1", "email": "Kim@Example.com", "createdAt": TIME, "updatedAt": TIME })
}

fn variant() -> Value {
    json!({
        "id": "var_1", "productId": "prod_1", "sku": "A", "name": "A", "currency": "EUR",
        "price": "2.50", "createdAt": TIME, "updatedAt": TIME
    })
}

fn stock() -> Value {
    json!({
        "sku": "A", "locationId": "loc_1", "onHand": 5, "reservedTotal": 1, "availableTotal": 4,
        "createdAt": TIME, "updatedAt": TIME
    })
}

fn product() -> Value {
    json!({ "id": "prod_1", "name": "A", "createdAt": TIME, "updatedAt": TIME })
}

/// The order tools in front of a system that sends the current answer.
pub(super) struct Backend {
    current: Arc<Mutex<ScriptedResponse>>,
    dispatcher: Arc<Dispatcher<OrdersServer>>,
    metrics: MetricsHub,
    _server: Option<ScriptedServer>,
}

impl Backend {
    pub(super) async fn start() -> Backend {
        let current = Arc::new(Mutex::new(ScriptedResponse::text(500, "")));
        let server = start_with(full_capabilities(), Arc::clone(&current)).await;
        let mut backend = Backend::in_front_of(&server).await;
        backend.current = current;
        backend._server = Some(server);
        backend
    }

    /// Returns the order tools in front of a system that is already running.
    pub(super) async fn in_front_of(server: &ScriptedServer) -> Backend {
        let adapter = HttpAdapter::connect(&settings(server.url())).await.unwrap();
        let mut config = Config {
            calls_a_minute: None,
            tool_calls_a_minute: None,
            secrets: vec![CANARY.to_owned()],
            ..Config::default()
        };
        config.guard.breaker_failures = None;
        let metrics = MetricsHub::default();
        let orders = OrdersServer::new(Arc::new(adapter), config, Arc::new(|| 0), metrics.clone());
        let clock = Arc::new(specification_instant);
        Backend {
            current: Arc::new(Mutex::new(ScriptedResponse::text(500, ""))),
            dispatcher: Dispatcher::new(orders, clock, &metrics).unwrap(),
            metrics,
            _server: None,
        }
    }

    pub(super) async fn send(&self, exchange: &Exchange) -> ToolResponse {
        self.play(exchange, ScriptedResponse::json(200, &exchange.answer))
            .await
    }

    pub(super) async fn play(
        &self,
        exchange: &Exchange,
        response: ScriptedResponse,
    ) -> ToolResponse {
        *self.current.lock().unwrap() = response;
        let call = call_by(Some("shop"), exchange.tool, exchange.arguments.clone());
        ToolResponse::new(&answer(&self.dispatcher, call).await)
    }
}

/// Lies about changes.
fn lies_about_changes() -> Vec<(&'static str, Exchange)> {
    let create = |changes: Patch| create().with_answer(changes);
    let update = |changes: Patch| update().with_answer(changes);
    let all = |changes: Patch| cancel_all().with_answer(changes);
    let some = |changes: Patch| cancel_some().with_answer(changes);
    let fulfill = |changes: Patch| fulfill().with_answer(changes);
    let back = |changes: Patch| give_back().with_answer(changes);
    vec![
        (
            "create: shipped",
            create(vec![("/order/status", json!("shipped"))]),
        ),
        (
            "create: cancelled",
            create(vec![("/order/status", json!("cancelled"))]),
        ),
        (
            "create: fulfilled units",
            create(vec![("/order/lineItems/0/fulfilledQuantity", json!(1))]),
        ),
        (
            "create: cancelled units",
            create(vec![("/order/lineItems/1/cancelledQuantity", json!(1))]),
        ),
        (
            "create: too many units",
            create(vec![
                ("/order/lineItems/1", line("B", 2, "9.00", "0.00")),
                ("/order/subTotal", json!("35.50")),
                ("/order/total", json!("32.00")),
            ])
            .with_arguments(vec![
                ("/order/subTotal", Value::Null),
                ("/order/total", Value::Null),
            ]),
        ),
        (
            "create: one unit of another SKU",
            create(vec![
                ("/order/lineItems", json!([line("ZZZ", 1, "1.00", "0.00")])),
                ("/order/subTotal", json!("1.00")),
                ("/order/discountTotal", json!("0.00")),
                ("/order/total", json!("1.00")),
            ]),
        ),
        (
            "create: another SKU",
            create(vec![("/order/lineItems/1/sku", json!("C"))]),
        ),
        (
            "create: another SKU beside",
            create(vec![("/order/lineItems/2", line("C", 1, "0.00", "0.00"))]),
        ),
        (
            "create: a line is missing",
            create(vec![
                ("/order/lineItems", json!([line("A", 7, "2.50", "0.50")])),
                ("/order/subTotal", json!("17.50")),
                ("/order/total", json!("14.00")),
            ]),
        ),
        (
            "create: another price",
            create(vec![
                ("/order/lineItems/0/unitPrice", json!("2.60")),
                ("/order/subTotal", json!("27.20")),
                ("/order/total", json!("23.70")),
            ])
            .with_arguments(vec![
                ("/order/subTotal", Value::Null),
                ("/order/total", Value::Null),
            ]),
        ),
        (
            "create: another discount",
            create(vec![
                ("/order/lineItems/0/unitDiscount", json!("0.00")),
                ("/order/discountTotal", json!("0.00")),
                ("/order/total", json!("26.50")),
            ])
            .with_arguments(vec![
                ("/order/discountTotal", Value::Null),
                ("/order/total", Value::Null),
            ]),
        ),
        (
            "create: another external id",
            create(vec![("/order/externalId", json!("x-2"))]),
        ),
        (
            "create: no external id",
            create(vec![("/order/externalId", Value::Null)]),
        ),
        (
            "create: another currency",
            create(vec![("/order/currency", json!("USD"))]),
        ),
        (
            "create: another customer",
            create(vec![("/order/customer/id", json!("cus_2"))]),
        ),
        (
            "create: another address of mail",
            create(vec![("/order/customer/email", json!("ann@example.com"))]),
        ),
        (
            "create: no customer",
            create(vec![("/order/customer", Value::Null)]),
        ),
        (
            "create: another street",
            create(vec![(
                "/order/shippingAddress/address1",
                json!("Hauptstr. 11"),
            )]),
        ),
        (
            "create: no phone",
            create(vec![("/order/shippingAddress/phone", Value::Null)]),
        ),
        (
            "create: no shipping address",
            create(vec![("/order/shippingAddress", Value::Null)]),
        ),
        (
            "create: another city to bill",
            create(vec![("/order/billingAddress/city", json!("Bonn"))]),
        ),
        (
            "create: a total of its own",
            create(vec![("/order/total", json!("999.00"))]),
        ),
        (
            "create: another price of the catalogue than the given total",
            create(vec![
                ("/order/lineItems/1/unitPrice", json!("8.00")),
                ("/order/subTotal", json!("25.50")),
                ("/order/total", json!("22.00")),
            ]),
        ),
        (
            "create: control character in the id",
            create(vec![("/order/id", json!("ord\u{7}1"))]),
        ),
        (
            "create: direction character in a SKU",
            create(vec![("/order/lineItems/1/sku", json!("B\u{202e}"))]),
        ),
        (
            "update: another order",
            update(vec![("/order/id", json!("ord_2"))]),
        ),
        (
            "update: untouched status",
            update(vec![("/order/status", json!("pending"))]),
        ),
        (
            "update: untouched name",
            update(vec![("/order/name", json!("Old"))]),
        ),
        (
            "update: no name",
            update(vec![("/order/name", Value::Null)]),
        ),
        (
            "update: untouched notes",
            update(vec![("/order/notes", json!("Ring once."))]),
        ),
        (
            "update: untouched tags",
            update(vec![("/order/tags", json!(["a"]))]),
        ),
        (
            "update: other fields",
            update(vec![("/order/customFields/0/value", json!("shop"))]),
        ),
        (
            "update: untouched address",
            update(vec![("/order/shippingAddress/city", json!("Bonn"))]),
        ),
        (
            "update: other country to bill",
            update(vec![("/order/billingAddress/country", json!("AT"))]),
        ),
        (
            "cancel: another order",
            all(vec![("/order/id", json!("ord_2"))]),
        ),
        (
            "cancel: untouched order",
            Exchange {
                answer: json!({ "order": order() }),
                ..cancel_all()
            },
        ),
        (
            "cancel: status of before",
            all(vec![("/order/status", json!("pending"))]),
        ),
        (
            "cancel: a unit is open",
            all(vec![("/order/lineItems/0/cancelledQuantity", json!(6))]),
        ),
        (
            "cancel: cancelled although units were shipped",
            all(vec![
                ("/order/lineItems/0/cancelledQuantity", json!(6)),
                ("/order/lineItems/0/fulfilledQuantity", json!(1)),
            ]),
        ),
        (
            "cancel: shipped although nothing was",
            all(vec![("/order/status", json!("shipped"))]),
        ),
        (
            "cancel some: another order",
            some(vec![("/order/id", json!("ord_2"))]),
        ),
        (
            "cancel some: fewer units",
            some(vec![("/order/lineItems/0/cancelledQuantity", json!(2))]),
        ),
        (
            "cancel some: units of another SKU",
            some(vec![
                ("/order/lineItems/0/cancelledQuantity", json!(0)),
                ("/order/lineItems/1/cancelledQuantity", json!(1)),
            ]),
        ),
        (
            "fulfill: another order",
            fulfill(vec![("/fulfillment/orderId", json!("ord_2"))]),
        ),
        (
            "fulfill: fewer units",
            fulfill(vec![("/fulfillment/lineItems/0/quantity", json!(1))]),
        ),
        (
            "fulfill: more units",
            fulfill(vec![("/fulfillment/lineItems/2/quantity", json!(2))]),
        ),
        (
            "fulfill: another SKU",
            fulfill(vec![("/fulfillment/lineItems/2/sku", json!("C"))]),
        ),
        (
            "fulfill: another tracking number",
            fulfill(vec![("/fulfillment/trackingNumbers/1", json!("T3"))]),
        ),
        (
            "fulfill: no tracking numbers",
            fulfill(vec![("/fulfillment/trackingNumbers", Value::Null)]),
        ),
        (
            "fulfill: another location",
            fulfill(vec![(
                "/fulfillment/lineItems/1/locationId",
                json!("loc_2"),
            )]),
        ),
        (
            "fulfill: no location",
            fulfill(vec![("/fulfillment/lineItems/1/locationId", Value::Null)]),
        ),
        (
            "fulfill open: no units",
            fulfill_open().with_answer(vec![("/fulfillment/lineItems", json!([]))]),
        ),
        (
            "return: another order",
            back(vec![("/return/orderId", json!("ord_2"))]),
        ),
        (
            "return: another outcome",
            back(vec![("/return/outcome", json!("exchange"))]),
        ),
        (
            "return: fewer units",
            back(vec![("/return/lineItems/0/quantity", json!(1))]),
        ),
        (
            "return: another SKU",
            back(vec![("/return/lineItems/0/sku", json!("B"))]),
        ),
    ]
}

/// Lies about queries.
fn lies_about_queries() -> Vec<(&'static str, Exchange)> {
    let orders = |filters: Value, changes: Patch| find_orders(filters).with_answer(changes);
    vec![
        (
            "ids: another order",
            orders(json!({ "ids": ["ord_1"] }), vec![]),
        ),
        (
            "externalIds: another order",
            orders(json!({ "externalIds": ["x-1"] }), vec![]),
        ),
        (
            "externalIds: none",
            orders(
                json!({ "externalIds": ["x-1", "x-2"] }),
                vec![("/orders/1/externalId", Value::Null)],
            ),
        ),
        (
            "statuses: another",
            orders(
                json!({ "statuses": ["pending"] }),
                vec![("/orders/1/status", json!("confirmed"))],
            ),
        ),
        (
            "statuses: an unknown one",
            orders(
                json!({ "statuses": ["pending"] }),
                vec![("/orders/1/status", json!("on_hold"))],
            ),
        ),
        (
            "skus: none of them",
            orders(
                json!({ "skus": ["A"] }),
                vec![("/orders/1/lineItems/0/sku", json!("C"))],
            ),
        ),
        (
            "emails: somebody else",
            orders(
                json!({ "emails": ["kim@example.com"] }),
                vec![("/orders/1/customer/email", json!("ann@example.com"))],
            ),
        ),
        (
            "emails: nobody",
            orders(
                json!({ "emails": ["kim@example.com"] }),
                vec![("/orders/1/customer", Value::Null)],
            ),
        ),
        (
            "createdAtMin: too early",
            orders(
                json!({ "createdAtMin": "2025-10-12T12:00:00.000001Z" }),
                vec![],
            ),
        ),
        (
            "createdAtMax: too late",
            orders(json!({ "createdAtMax": "2025-10-12T11:59:59Z" }), vec![]),
        ),
        (
            "updatedAtMin: too early",
            orders(
                json!({ "updatedAtMin": "2025-10-13T00:00:00Z" }),
                vec![("/orders/1/updatedAt", json!("2025-10-13T00:00:00Z"))],
            ),
        ),
        (
            "updatedAtMax: too late",
            orders(
                json!({ "updatedAtMax": TIME }),
                vec![("/orders/1/updatedAt", json!("2025-10-13T00:00:00Z"))],
            ),
        ),
        (
            "the same order twice",
            orders(json!({}), vec![("/orders/1/id", json!("ord_1"))]),
        ),
        (
            "newest first",
            orders(
                json!({}),
                vec![("/orders/1/createdAt", json!("2025-10-12T11:00:00Z"))],
            ),
        ),
        (
            "newest first, with offsets",
            orders(
                json!({}),
                vec![("/orders/1/createdAt", json!("2025-10-12T13:59:00+02:00"))],
            ),
        ),
        (
            "an id that cannot be read",
            orders(json!({}), vec![("/orders/1/id", json!(7))]),
        ),
        (
            "an empty id",
            orders(
                json!({}),
                vec![
                    ("/orders/1/id", json!("")),
                    ("/orders/1/total", json!("1.00")),
                ],
            ),
        ),
        (
            "customers: another id",
            find(
                "get-customers",
                json!({ "ids": ["cus_2"] }),
                vec![customer()],
            ),
        ),
        (
            "customers: another email",
            find(
                "get-customers",
                json!({ "emails": ["ann@example.com"] }),
                vec![customer()],
            ),
        ),
        (
            "products: another id",
            find(
                "get-products",
                json!({ "ids": ["prod_2"] }),
                vec![product()],
            ),
        ),
        (
            "variants: another product",
            find(
                "get-product-variants",
                json!({ "productIds": ["prod_2"] }),
                vec![variant()],
            ),
        ),
        (
            "variants: another SKU",
            find(
                "get-product-variants",
                json!({ "skus": ["B"] }),
                vec![variant()],
            ),
        ),
        (
            "inventory: another SKU",
            find("get-inventory", json!({ "skus": ["B"] }), vec![stock()]),
        ),
        (
            "inventory: another location",
            find(
                "get-inventory",
                json!({ "locationIds": ["loc_2"] }),
                vec![stock()],
            ),
        ),
        (
            "inventory: twice",
            find("get-inventory", json!({}), vec![stock(), stock()]),
        ),
        (
            "fulfillments: another order",
            find(
                "get-fulfillments",
                json!({ "orderIds": ["ord_2"] }),
                vec![fulfillment()],
            ),
        ),
        (
            "fulfillments: another id",
            find(
                "get-fulfillments",
                json!({ "ids": ["ful_2"] }),
                vec![fulfillment()],
            ),
        ),
        (
            "returns: another order",
            find(
                "get-returns",
                json!({ "orderIds": ["ord_2"] }),
                vec![returned()],
            ),
        ),
    ]
}

/// Answers that differ from the request in form only.
fn honest_answers() -> Vec<(&'static str, Exchange)> {
    let merged = line("A", 7, "2.50", "0.50");
    let split = json!([
        line("A", 3, "2.50", "0.50"),
        line("B", 1, "9.00", "0.00"),
        line("A", 4, "2.50", "0.50")
    ]);
    let two_lines = json!([
        { "sku": "A", "quantity": 3, "unitPrice": "2.50", "unitDiscount": "0.50" },
        { "sku": "B", "quantity": 1 },
        { "sku": "A", "quantity": 4, "unitPrice": "2.5", "unitDiscount": "0.5" }
    ]);
    let half_priced = json!([
        { "sku": "A", "quantity": 3, "unitPrice": "2.50" },
        { "sku": "B", "quantity": 1 },
        { "sku": "A", "quantity": 4 }
    ]);
    let minimal =
        json!({ "lineItems": [{ "sku": "A", "quantity": 7 }, { "sku": "B", "quantity": 1 }] });
    vec![
        ("create", create()),
        (
            "create: confirmed",
            create().with_answer(vec![("/order/status", json!("confirmed"))]),
        ),
        (
            "create: processing",
            create().with_answer(vec![("/order/status", json!("processing"))]),
        ),
        (
            "create: letter case of the email",
            create().with_answer(vec![("/order/customer/email", json!("KIM@EXAMPLE.COM"))]),
        ),
        (
            "create: letter case of the address",
            create().with_answer(vec![("/order/shippingAddress/city", json!("BERLIN"))]),
        ),
        (
            "create: spaces in the address",
            create().with_answer(vec![(
                "/order/shippingAddress/address1",
                json!(" Hauptstr.  1"),
            )]),
        ),
        (
            "create: more of the address",
            create().with_answer(vec![(
                "/order/shippingAddress/stateOrProvince",
                json!("BE"),
            )]),
        ),
        (
            "create: letter case of the currency",
            create().with_answer(vec![("/order/currency", json!("eur"))]),
        ),
        (
            "create: other places of amounts",
            create().with_answer(vec![
                ("/order/total", json!("23")),
                ("/order/subTotal", json!("26.5")),
            ]),
        ),
        (
            "create: other offset",
            create().with_answer(vec![(
                "/order/createdAt",
                json!("2025-10-12T14:00:00+02:00"),
            )]),
        ),
        (
            "create: split lines",
            create().with_answer(vec![("/order/lineItems", split)]),
        ),
        (
            "create: merged lines",
            create()
                .with_arguments(vec![("/order/lineItems", two_lines)])
                .with_answer(vec![("/order/lineItems/0", merged)]),
        ),
        (
            "create: some prices",
            create().with_arguments(vec![("/order/lineItems", half_priced)]),
        ),
        (
            "create: minimal",
            create().with_arguments(vec![("/order", minimal)]),
        ),
        (
            "create: a name of the store's own",
            create().with_answer(vec![("/order/name", json!("#1001"))]),
        ),
        ("update", update()),
        (
            "update: order of tags",
            update().with_answer(vec![("/order/tags", json!(["b", "A"]))]),
        ),
        (
            "update: line ends",
            update().with_answer(vec![("/order/notes", json!("Ring twice.\r\nThen wait.\n"))]),
        ),
        (
            "update: nothing of notes",
            update()
                .with_arguments(vec![("/updates", json!({ "notes": "" }))])
                .with_answer(vec![("/order/notes", Value::Null)]),
        ),
        (
            "update: no tags",
            update()
                .with_arguments(vec![("/updates", json!({ "tags": [] }))])
                .with_answer(vec![("/order/tags", Value::Null)]),
        ),
        ("cancel", cancel_all()),
        (
            "cancel: the rest",
            cancel_all().with_answer(vec![
                ("/order/status", json!("shipped")),
                ("/order/lineItems/0/cancelledQuantity", json!(5)),
                ("/order/lineItems/0/fulfilledQuantity", json!(2)),
            ]),
        ),
        ("cancel some", cancel_some()),
        (
            "cancel some: after others",
            cancel_some().with_answer(vec![("/order/lineItems/0/cancelledQuantity", json!(5))]),
        ),
        ("fulfill", fulfill()),
        (
            "fulfill: order of numbers",
            fulfill().with_answer(vec![("/fulfillment/trackingNumbers", json!(["T2", "T1"]))]),
        ),
        ("fulfill open", fulfill_open()),
        ("return", give_back()),
        (
            "return: two lines",
            give_back().with_answer(vec![(
                "/return/lineItems",
                json!([{ "sku": "A", "quantity": 1 }, { "sku": "A", "quantity": 1 }]),
            )]),
        ),
        (
            "orders",
            find_orders(
                json!({ "ids": ["ord_1", "ord_2"], "statuses": ["pending"], "skus": ["B"], "emails": ["KIM@example.com"] }),
            ),
        ),
        (
            "orders: bounds are inclusive",
            find_orders(
                json!({ "createdAtMin": "2025-10-12T14:00:00+02:00", "createdAtMax": TIME, "updatedAtMin": TIME, "updatedAtMax": TIME }),
            ),
        ),
        (
            "orders: letter case of emails",
            find_orders(json!({ "emails": ["kim@example.com"] }))
                .with_answer(vec![("/orders/0/customer/email", json!("KIM@example.com"))]),
        ),
        (
            "customers",
            find(
                "get-customers",
                json!({ "emails": ["kim@example.com"] }),
                vec![customer()],
            ),
        ),
        (
            "products by SKU",
            find("get-products", json!({ "skus": ["A"] }), vec![product()]),
        ),
        (
            "variants",
            find(
                "get-product-variants",
                json!({ "skus": ["A"], "productIds": ["prod_1"] }),
                vec![variant()],
            ),
        ),
        (
            "inventory",
            find(
                "get-inventory",
                json!({ "skus": ["A"], "locationIds": ["loc_1"] }),
                vec![stock()],
            ),
        ),
        (
            "fulfillments",
            find(
                "get-fulfillments",
                json!({ "orderIds": ["ord_1"] }),
                vec![fulfillment()],
            ),
        ),
        (
            "returns",
            find(
                "get-returns",
                json!({ "orderIds": ["ord_1"] }),
                vec![returned()],
            ),
        ),
    ]
}

#[tokio::test]
async fn lies_are_refused() {
    let backend = Backend::start().await;
    let lies: Vec<_> = lies_about_changes()
        .into_iter()
        .chain(lies_about_queries())
        .chain(feature_comparison::lies())
        .collect();
    assert!(lies.len() >= 60, "{}", lies.len());
    for (name, exchange) in &lies {
        let effect = match exchange.tool.starts_with("get-") {
            true => "none",
            false => "unknown",
        };
        let response = backend.send(exchange).await;
        let expected = format!("4001 INVALID_ADAPTER_RESPONSE {effect}");
        assert_eq!(response.summary(), expected, "{name}: {}", response.text);
        assert!(response.text.contains("\"retryable\":false"), "{name}");
    }
    let text = backend.metrics.text();
    let mut counted: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("candor_orders_invalid_answers_total"))
        .filter_map(|line| line.rsplit_once(' ')?.1.parse::<usize>().ok())
        .collect();
    counted.sort_unstable();
    assert_eq!(counted.iter().sum::<usize>(), lies.len(), "{text}");
}

#[tokio::test]
async fn honest_answers_pass() {
    let backend = Backend::start().await;
    let mut honest = honest_answers();
    honest.extend(feature_comparison::honest_answers());
    assert!(honest.len() >= 30, "{}", honest.len());
    for (name, exchange) in &honest {
        let response = backend.send(exchange).await;
        assert_eq!(response.summary(), "ok", "{name}: {}", response.text);
        assert!(!response.text.contains("\"cleaned\""), "{name}");
        assert!(!response.text.contains("\"omitted\""), "{name}");
    }
    assert!(!backend.metrics.text().contains("candor_orders"));
}

#[tokio::test]
async fn repeated_cursor_is_refused() {
    let backend = Backend::start().await;
    let page = |next: &str| find_orders(json!({})).with_answer(vec![("/nextCursor", json!(next))]);
    let first = backend.send(&page("17")).await.message();
    let cursor = &first["result"]["structuredContent"]["nextCursor"];
    let next = |position: &str| page(position).with_arguments(vec![("/cursor", cursor.clone())]);
    assert_eq!(backend.send(&next("18")).await.summary(), "ok");
    let summary = backend.send(&next("17")).await.summary();
    assert_eq!(summary, "4001 INVALID_ADAPTER_RESPONSE none");
}

#[tokio::test]
async fn entities_that_cannot_be_shown_are_named() {
    let backend = Backend::start().await;
    let mut fourth = order();
    patch(
        &mut fourth,
        &vec![("/id", json!("ord_4")), ("/externalId", json!("x\u{7}"))],
    );
    let mut fifth = order();
    patch(
        &mut fifth,
        &vec![("/id", json!("ord\u{202e}5")), ("/currency", json!(5))],
    );
    let page = find_orders(json!({})).with_answer(vec![
        ("/orders/0/status", json!("on_hold")),
        ("/orders/1/total", json!("999.00")),
        ("/orders/-", {
            let mut third = order();
            third["id"] = json!("ord_3");
            third
        }),
        ("/orders/-", fourth),
        ("/orders/-", fifth),
        ("/orders/-", {
            let mut sixth = order();
            patch(
                &mut sixth,
                &vec![
                    ("/id", json!("ord_6")),
                    ("/lineItems/0/returnedQuantity", json!(1)),
                ],
            );
            sixth
        }),
    ]);
    let response = backend.send(&page).await;
    let result = response.message();
    let content = &result["result"]["structuredContent"];
    assert_eq!(content["orders"].as_array().unwrap().len(), 1);
    insta::assert_snapshot!(content["omitted"].to_string(), @r#"[{"id":"ord_1","reason":"status"},{"id":"ord_2","reason":"sums"},{"id":"ord_4","reason":"text"},{"id":"ord�5","reason":"schema"},{"id":"ord_6","reason":"sums"}]"#);
    let counted = r#"candor_orders_omitted_total{tool="get-orders"} 5"#;
    assert!(backend.metrics.text().contains(counted));
    let stock = find("get-inventory", json!({}), vec![stock()])
        .with_answer(vec![("/inventory/0/onHand", json!(-1))]);
    let response = backend.send(&stock).await;
    insta::assert_snapshot!(response.text, @r#"{"inventory":[],"nextCursor":null,"omitted":[{"id":"A","reason":"schema"}]}"#);
}

#[tokio::test]
async fn hidden_characters_in_texts_are_replaced_and_counted() {
    let backend = Backend::start().await;
    let dirty = create().with_answer(vec![
        ("/order/name", json!("a\u{202e}b")),
        ("/order/cancelReason", json!("\u{7}")),
    ]);
    let response = backend.send(&dirty).await;
    assert!(
        response.text.contains("\"name\":\"a\u{fffd}b\""),
        "{}",
        response.text
    );
    assert!(
        response.text.ends_with(r#"},"cleaned":2}"#),
        "{}",
        response.text
    );
    let page = find_orders(json!({})).with_answer(vec![("/orders/1/notes", json!("\u{2028}"))]);
    let response = backend.send(&page).await;
    assert!(
        response.text.ends_with(r#""nextCursor":null,"cleaned":1}"#),
        "{}",
        response.text
    );
}

#[tokio::test]
async fn every_kind_of_wrong_answer_is_logged_once_without_secrets() {
    let log = Log::default();
    let _guard = log.listen();
    let backend = Backend::start().await;
    let played = |status, body: &str| ScriptedResponse::text(status, body);
    let lower_case = format!(r#"{{"error":{{"code":"no_way","message":"{CANARY}"}}}}"#);
    for _ in 0..2 {
        backend
            .send(&cancel_all().with_answer(vec![("/order/id", json!(CANARY))]))
            .await;
        backend
            .send(
                &find_orders(json!({ "ids": ["ord_1"] }))
                    .with_answer(vec![("/orders/0/name", json!(CANARY))]),
            )
            .await;
        backend
            .send(&find_orders(json!({})).with_answer(vec![("/orders/0/total", json!("1.00"))]))
            .await;
        backend
            .play(&find_orders(json!({})), played(200, "{\"orders\":{}}"))
            .await;
        backend.play(&cancel_all(), played(409, &lower_case)).await;
        backend.play(&cancel_all(), played(403, CANARY)).await;
        backend.play(&cancel_all(), played(504, CANARY)).await;
        backend.play(&cancel_all(), played(500, CANARY)).await;
    }
    let log: String = log
        .text()
        .lines()
        .map(|line| format!("{}\n", line.trim_start()))
        .collect();
    insta::assert_snapshot!(log, @r#"
    WARN candor_orders::failure_log: the order system's answer cannot be used tool="cancel-order" code=4001 original_error="INVALID_ADAPTER_RESPONSE" client="default" cause="entity 0 of the answer: id is not the order of the request"
    WARN candor_orders::failure_log: the order system's answer cannot be used tool="get-orders" code=4001 original_error="INVALID_ADAPTER_RESPONSE" client="default" cause="entity 1 of the answer: id does not fit the filter"
    WARN candor_orders::failure_log: entities were left out of a page tool="get-orders" client="default" cause="total is not the sum of its parts"
    WARN candor_orders::failure_log: the order system's answer cannot be used tool="get-orders" code=4001 original_error="INVALID_ADAPTER_RESPONSE" client="default" cause="orders is no array"
    WARN candor_orders::failure_log: the order system refused a call without a valid code tool="cancel-order" code=4001 original_error="BACKEND_REFUSED" client="default" cause="{\"status\":409,\"body\":\"{\\\"error\\\":{\\\"code\\\":\\\"no_way\\\",\\\"message\\\":\\\"[hidden]\\\"}}\"}"
    ERROR candor_orders::failure_log: the order system refuses this server's credentials: check its token tool="cancel-order" code=4001 original_error="ADAPTER_UNAUTHORIZED" client="default" cause="{\"status\":403,\"body\":\"[hidden]\"}"
    WARN candor_orders::failure_log: the order system gave up on a call tool="cancel-order" code=3002 client="default" cause="{\"status\":504,\"body\":\"[hidden]\"}"
    WARN candor_orders::failure_log: the order system is unavailable tool="cancel-order" code=4002 client="default" cause="{\"status\":500,\"body\":\"[hidden]\"}"
    "#);
}
