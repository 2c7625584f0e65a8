//! Checks of what becomes of orders: made, found, changed, cancelled, sent, returned.

use super::probe::{Checked, failed, shown, skipped};
use super::{Check, Stage, UNITS};
use crate::Operation;
use futures_util::FutureExt as _;
use serde_json::{Value, json};

/// How many pages of stock are looked through for a SKU.
const PAGES: usize = 10;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "create",
        expected: "a new order is pending, has the id it was given, and the sums of its lines",
        work: |stage| create(stage).boxed(),
    },
    Check {
        name: "find",
        expected: "a new order is found by id and by externalId, and alone",
        work: |stage| find(stage).boxed(),
    },
    Check {
        name: "pages",
        expected: "pages of one show each of three orders once, oldest first, and then end",
        work: |stage| pages(stage).boxed(),
    },
    Check {
        name: "unknown-sku",
        expected: "an order of an unknown SKU is refused as SKU_NOT_FOUND and not made",
        work: |stage| unknown_sku(stage).boxed(),
    },
    Check {
        name: "wrong-total",
        expected: "an order with a wrong total is refused and not made",
        work: |stage| wrong_total(stage).boxed(),
    },
    Check {
        name: "external-id-conflict",
        expected: "a second order with the same externalId is refused as EXTERNAL_ID_CONFLICT",
        work: |stage| external_id_conflict(stage).boxed(),
    },
    Check {
        name: "unknown-order",
        expected: "changes of an unknown order are answered 404 ORDER_NOT_FOUND",
        work: |stage| unknown_order(stage).boxed(),
    },
    Check {
        name: "update",
        expected: "an update confirms an order and sets its notes, and nothing else",
        work: |stage| update(stage).boxed(),
    },
    Check {
        name: "invalid-step",
        expected: "pending to delivered is refused as INVALID_ORDER_STATE, with context.status pending",
        work: |stage| invalid_step(stage).boxed(),
    },
    Check {
        name: "cancel",
        expected: "a part is cancelled by quantity, the rest makes the order cancelled",
        work: |stage| cancel(stage).boxed(),
    },
    Check {
        name: "cancel-twice",
        expected: "cancelling a cancelled order is refused as INVALID_ORDER_STATE",
        work: |stage| cancel_twice(stage).boxed(),
    },
    Check {
        name: "fulfill-too-much",
        expected: "more than is open is refused as QUANTITY_EXCEEDS_OPEN, with context.available",
        work: |stage| fulfill_too_much(stage).boxed(),
    },
    Check {
        name: "fulfill-without-address",
        expected: "an order without a shipping address is not fulfilled",
        work: |stage| fulfill_without_address(stage).boxed(),
    },
    Check {
        name: "fulfill",
        expected: "a fulfilment names its order and quantities, and the last one makes the order shipped",
        work: |stage| fulfill(stage).boxed(),
    },
    Check {
        name: "return",
        expected: "a return of fulfilled units names its order and quantities",
        work: |stage| create_return(stage).boxed(),
    },
    Check {
        name: "return-too-much",
        expected: "more than was fulfilled is refused as RETURN_EXCEEDS_FULFILLED, with context.available",
        work: |stage| return_too_much(stage).boxed(),
    },
];

/// An order that a check made.
pub(super) struct Placed {
    pub(super) id: String,
    pub(super) external: String,
    pub(super) order: Value,
}

impl Stage {
    /// A SKU with enough stock for every check.
    pub(super) async fn sku(&mut self) -> Checked<String> {
        if let Some(sku) = &self.goods.sku {
            return Ok(sku.clone());
        }
        let none = format!("no SKU with {UNITS} units in stock was found; name one");
        if self.probe.needs(&[Operation::GetInventory]).is_err() {
            return skipped(none);
        }
        let mut asked = json!({});
        for _ in 0..PAGES {
            let page = self.probe.page(Operation::GetInventory, 100, asked).await?;
            let plenty = |item: &&Value| item["availableTotal"].as_i64() >= Some(UNITS);
            if let Some(item) = page.0.iter().find(plenty) {
                let sku = item["sku"].as_str().unwrap_or_default().to_owned();
                self.goods.sku = Some(sku.clone());
                return Ok(sku);
            }
            match page.1 {
                Some(next) => asked = json!({ "cursor": next }),
                None => break,
            }
        }
        skipped(none)
    }

    /// A new order of three units, which come to 3 after discounts.
    pub(super) async fn order(&mut self, external: &str) -> Checked<Value> {
        let sku = self.sku().await?;
        let line = json!({ "sku": sku, "quantity": 3, "unitPrice": "2", "unitDiscount": "1" });
        let address = json!({ "address1": "Check 1", "city": "Berlin", "country": "DE" });
        Ok(json!({ "order": {
            "externalId": external,
            "lineItems": [line],
            "customer": { "email": "check@example.com" },
            "shippingAddress": address,
        } }))
    }

    /// Makes an order.
    pub(super) async fn place(&mut self) -> Checked<Placed> {
        self.probe.needs(&[Operation::CreateOrder])?;
        let external = self.probe.id();
        let asked = self.order(&external).await?;
        let key = self.probe.key();
        let order = self
            .probe
            .change(Operation::CreateOrder, &key, &asked)
            .await?;
        Ok(Placed {
            id: text(&order, "id"),
            external,
            order,
        })
    }

    /// Makes a change of an order that must succeed.
    async fn step(&self, operation: Operation, asked: Value) -> Checked<Value> {
        let key = self.probe.key();
        self.probe.change(operation, &key, &asked).await
    }

    /// Makes a change of an order that must be refused with this code.
    async fn refused(&self, operation: Operation, asked: Value, code: &str) -> Checked {
        let key = self.probe.key();
        let seen = self.probe.ask(operation, &key, &asked).await?;
        seen.refused(code)
    }

    /// As [`Stage::refused`], with a fact that its context must hold.
    async fn refused_with(
        &self,
        operation: Operation,
        asked: Value,
        code: &str,
        (fact, wanted): (&str, Value),
    ) -> Checked {
        let key = self.probe.key();
        let seen = self.probe.ask(operation, &key, &asked).await?;
        let words = seen.refused(code)?;
        let body: Value = serde_json::from_slice(&seen.heard.body).unwrap_or_default();
        let found = &body["error"]["context"][fact];
        match *found == wanted {
            true => Ok(format!("{words} with {fact} {wanted}")),
            false => failed(format!("{words} with {fact} {}", shown(&found.to_string()))),
        }
    }

    /// That no order has this external id.
    async fn not_made(&self, external: &str) -> Checked<()> {
        if self.probe.needs(&[Operation::GetOrders]).is_err() {
            return Ok(());
        }
        match self.probe.orders(external).await?.len() {
            0 => Ok(()),
            _ => failed("refused, and made all the same"),
        }
    }

    /// The status of an order now, where that can be asked for.
    pub(super) async fn status(&self, placed: &Placed) -> Checked<Option<String>> {
        if self.probe.needs(&[Operation::GetOrders]).is_err() {
            return Ok(None);
        }
        let found = self.probe.orders(&placed.external).await?;
        Ok(found.first().map(|order| text(order, "status")))
    }
}

pub(super) fn text(entity: &Value, name: &str) -> String {
    entity[name].as_str().unwrap_or_default().to_owned()
}

/// That a member has a value; how it is written does not matter for amounts.
fn has(entity: &Value, name: &str, wanted: &Value) -> Checked<()> {
    let plain = |value: &Value| match value.as_str() {
        Some(text) if text.contains('.') => {
            json!(text.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => value.clone(),
    };
    match plain(&entity[name]) == *wanted {
        true => Ok(()),
        false => {
            let found = shown(&entity[name].to_string());
            failed(format!("{name} is {found}, not {wanted}"))
        }
    }
}

fn quantities(sku: &str, quantity: i64) -> Value {
    json!([{ "sku": sku, "quantity": quantity }])
}

async fn create(stage: &mut Stage) -> Checked {
    let placed = stage.place().await?;
    let order = &placed.order;
    has(order, "status", &json!("pending"))?;
    has(order, "externalId", &json!(placed.external))?;
    has(order, "subTotal", &json!("6"))?;
    has(order, "discountTotal", &json!("3"))?;
    has(order, "total", &json!("3"))?;
    let line = &order["lineItems"][0];
    for (name, wanted) in [
        ("quantity", 3),
        ("fulfilledQuantity", 0),
        ("cancelledQuantity", 0),
        ("returnedQuantity", 0),
    ] {
        has(line, name, &json!(wanted))?;
    }
    Ok(format!("made {}", shown(&placed.id)))
}

async fn find(stage: &mut Stage) -> Checked {
    stage.probe.needs(&[Operation::GetOrders])?;
    let placed = stage.place().await?;
    let filters = [("ids", &placed.id), ("externalIds", &placed.external)];
    for (filter, id) in filters {
        let asked = json!({ filter: [id] });
        let (found, next) = stage.probe.page(Operation::GetOrders, 5, asked).await?;
        let ids: Vec<_> = found.iter().map(|order| text(order, "id")).collect();
        if ids != [placed.id.as_str()] || next.is_some() {
            return failed(format!("{} orders for {filter} of one", ids.len()));
        }
    }
    Ok(format!("found {}", shown(&placed.id)))
}

async fn pages(stage: &mut Stage) -> Checked {
    stage.probe.needs(&[Operation::GetOrders])?;
    let mut made = Vec::new();
    let mut externals = Vec::new();
    for _ in 0..3 {
        let placed = stage.place().await?;
        made.push(placed.id);
        externals.push(placed.external);
    }
    let mut seen = Vec::new();
    let mut asked = json!({ "externalIds": externals });
    // One more than there are orders: an empty page may tell that it was the last.
    for _ in 0..=made.len() {
        let page = stage.probe.page(Operation::GetOrders, 1, asked.clone());
        let (orders, next) = page.await?;
        seen.extend(orders.iter().map(|order| text(order, "id")));
        match next {
            Some(next) => asked["cursor"] = json!(next),
            None if seen == made => return Ok(String::from("three pages, in order")),
            None => return failed(format!("{} orders, or in another order", seen.len())),
        }
    }
    failed("the pages do not end")
}

async fn unknown_sku(stage: &mut Stage) -> Checked {
    stage.probe.needs(&[Operation::CreateOrder])?;
    let (external, sku) = (stage.probe.id(), stage.probe.id());
    let asked = json!({ "order": { "externalId": external, "lineItems": quantities(&sku, 1) } });
    let words = stage
        .refused(Operation::CreateOrder, asked, "SKU_NOT_FOUND")
        .await?;
    stage.not_made(&external).await?;
    Ok(words)
}

async fn wrong_total(stage: &mut Stage) -> Checked {
    stage.probe.needs(&[Operation::CreateOrder])?;
    let external = stage.probe.id();
    let mut asked = stage.order(&external).await?;
    asked["order"]["total"] = json!("4");
    let key = stage.probe.key();
    let seen = stage
        .probe
        .ask(Operation::CreateOrder, &key, &asked)
        .await?;
    if !matches!(seen.status(), 400..=499) {
        return failed(seen.words());
    }
    stage.not_made(&external).await?;
    Ok(seen.words())
}

async fn external_id_conflict(stage: &mut Stage) -> Checked {
    let placed = stage.place().await?;
    let asked = stage.order(&placed.external).await?;
    stage
        .refused(Operation::CreateOrder, asked, "EXTERNAL_ID_CONFLICT")
        .await
}

async fn unknown_order(stage: &mut Stage) -> Checked {
    let id = stage.probe.id();
    let lines = quantities("candor-check", 1);
    let asked = [
        (
            Operation::UpdateOrder,
            json!({ "orderId": id, "updates": { "notes": "x" } }),
        ),
        (Operation::CancelOrder, json!({ "orderId": id })),
        (Operation::FulfillOrder, json!({ "orderId": id })),
        (
            Operation::CreateReturn,
            json!({ "orderId": id, "lineItems": lines, "outcome": "refund" }),
        ),
    ];
    let mut names = Vec::new();
    for (operation, asked) in asked {
        if stage.probe.needs(&[operation]).is_err() {
            continue;
        }
        let key = stage.probe.key();
        let seen = stage.probe.ask(operation, &key, &asked).await?;
        seen.refused("ORDER_NOT_FOUND")?;
        if seen.status() != 404 {
            return failed(seen.words());
        }
        names.push(operation.name());
    }
    match names.is_empty() {
        true => skipped("no change of orders is offered"),
        false => Ok(format!("so by {}", names.join(", "))),
    }
}

async fn update(stage: &mut Stage) -> Checked {
    stage.probe.needs(&[Operation::UpdateOrder])?;
    let placed = stage.place().await?;
    let updates = json!({ "status": "confirmed", "notes": "checked" });
    let asked = json!({ "orderId": placed.id, "updates": updates });
    let order = stage.step(Operation::UpdateOrder, asked).await?;
    for (name, wanted) in [
        ("id", placed.id.as_str()),
        ("status", "confirmed"),
        ("notes", "checked"),
    ] {
        has(&order, name, &json!(wanted))?;
    }
    has(&order, "lineItems", &placed.order["lineItems"])?;
    Ok(String::from("confirmed, with notes"))
}

async fn invalid_step(stage: &mut Stage) -> Checked {
    stage.probe.needs(&[Operation::UpdateOrder])?;
    let placed = stage.place().await?;
    let asked = json!({ "orderId": placed.id, "updates": { "status": "delivered" } });
    let status = ("status", json!("pending"));
    stage
        .refused_with(Operation::UpdateOrder, asked, "INVALID_ORDER_STATE", status)
        .await
}

async fn cancel(stage: &mut Stage) -> Checked {
    stage.probe.needs(&[Operation::CancelOrder])?;
    let placed = stage.place().await?;
    let sku = stage.sku().await?;
    let part = json!({ "orderId": placed.id, "lineItems": quantities(&sku, 1) });
    let order = stage.step(Operation::CancelOrder, part).await?;
    has(&order, "status", &json!("pending"))?;
    has(&order["lineItems"][0], "cancelledQuantity", &json!(1))?;
    let rest = json!({ "orderId": placed.id, "reason": "checked" });
    let order = stage.step(Operation::CancelOrder, rest).await?;
    has(&order, "status", &json!("cancelled"))?;
    has(&order["lineItems"][0], "cancelledQuantity", &json!(3))?;
    Ok(String::from("one unit, then all three"))
}

async fn cancel_twice(stage: &mut Stage) -> Checked {
    stage.probe.needs(&[Operation::CancelOrder])?;
    let placed = stage.place().await?;
    let asked = json!({ "orderId": placed.id });
    stage.step(Operation::CancelOrder, asked.clone()).await?;
    let status = ("status", json!("cancelled"));
    stage
        .refused_with(Operation::CancelOrder, asked, "INVALID_ORDER_STATE", status)
        .await
}

async fn fulfill_too_much(stage: &mut Stage) -> Checked {
    stage.probe.needs(&[Operation::FulfillOrder])?;
    let placed = stage.place().await?;
    let sku = stage.sku().await?;
    let asked = json!({ "orderId": placed.id, "lineItems": quantities(&sku, 4) });
    let open = ("available", json!(3));
    stage
        .refused_with(
            Operation::FulfillOrder,
            asked,
            "QUANTITY_EXCEEDS_OPEN",
            open,
        )
        .await
}

async fn fulfill_without_address(stage: &mut Stage) -> Checked {
    let operations = [Operation::CreateOrder, Operation::FulfillOrder];
    stage.probe.needs(&operations)?;
    let sku = stage.sku().await?;
    let external = stage.probe.id();
    let asked = json!({ "order": { "externalId": external, "lineItems": quantities(&sku, 1) } });
    let order = stage.step(Operation::CreateOrder, asked).await?;
    let key = stage.probe.key();
    let asked = json!({ "orderId": text(&order, "id") });
    let seen = stage
        .probe
        .ask(Operation::FulfillOrder, &key, &asked)
        .await?;
    match seen.status() {
        400..=499 => Ok(seen.words()),
        _ => failed(seen.words()),
    }
}

async fn fulfill(stage: &mut Stage) -> Checked {
    stage.probe.needs(&[Operation::FulfillOrder])?;
    let placed = stage.place().await?;
    let sku = stage.sku().await?;
    let sent = |made: &Value| -> i64 {
        let lines = made["lineItems"].as_array().cloned().unwrap_or_default();
        lines
            .iter()
            .filter_map(|line| line["quantity"].as_i64())
            .sum()
    };
    let part = json!({ "orderId": placed.id, "lineItems": quantities(&sku, 2), "trackingNumbers": ["CHECK-1"] });
    let first = stage.step(Operation::FulfillOrder, part).await?;
    has(&first, "orderId", &json!(placed.id))?;
    has(&first, "trackingNumbers", &json!(["CHECK-1"]))?;
    let status = stage.status(&placed).await?;
    if status
        .as_deref()
        .is_some_and(|status| status != "confirmed")
    {
        return failed("after a part of it was sent, a pending order is not confirmed");
    }
    let rest = json!({ "orderId": placed.id });
    let second = stage.step(Operation::FulfillOrder, rest).await?;
    if (sent(&first), sent(&second)) != (2, 1) {
        return failed(format!("{} and {} units", sent(&first), sent(&second)));
    }
    match stage.status(&placed).await?.as_deref() {
        None | Some("shipped") => Ok(String::from("two units, then the third")),
        Some(status) => failed(format!("the order is {}", shown(status))),
    }
}

/// An order whose three units were sent.
async fn shipped(stage: &mut Stage) -> Checked<Placed> {
    stage
        .probe
        .needs(&[Operation::FulfillOrder, Operation::CreateReturn])?;
    let placed = stage.place().await?;
    let asked = json!({ "orderId": placed.id });
    stage.step(Operation::FulfillOrder, asked).await?;
    Ok(placed)
}

async fn create_return(stage: &mut Stage) -> Checked {
    let placed = shipped(stage).await?;
    let lines = quantities(&stage.sku().await?, 2);
    let asked = json!({ "orderId": placed.id, "lineItems": lines, "outcome": "refund" });
    let made = stage.step(Operation::CreateReturn, asked).await?;
    has(&made, "orderId", &json!(placed.id))?;
    has(&made, "outcome", &json!("refund"))?;
    has(&made, "lineItems", &lines)?;
    Ok(String::from("two units came back"))
}

async fn return_too_much(stage: &mut Stage) -> Checked {
    let placed = shipped(stage).await?;
    let lines = quantities(&stage.sku().await?, 4);
    let asked = json!({ "orderId": placed.id, "lineItems": lines, "outcome": "refund" });
    let sent = ("available", json!(3));
    stage
        .refused_with(
            Operation::CreateReturn,
            asked,
            "RETURN_EXCEEDS_FULFILLED",
            sent,
        )
        .await
}
