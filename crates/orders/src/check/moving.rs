//! Checks of what becomes of orders: changed, cancelled, sent, returned.

use super::placing::{Placed, has, quantities, text};
use super::probe::{Checked, failed, shown, skipped};
use super::{Check, Stage};
use crate::Operation;
use futures_util::FutureExt as _;
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
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
