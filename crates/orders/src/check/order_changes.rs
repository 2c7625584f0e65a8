//! Checks of changes to orders: updates, cancellations, fulfilments and returns.

use super::probe::{StepResult, failed, shown, skipped};
use super::test_orders::{has, quantities, text};
use super::{Check, CheckRun};
use crate::OrderOperation;
use futures_util::FutureExt as _;
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "unknown-order",
        expected: "changes of an unknown order are answered 404 ORDER_NOT_FOUND",
        work: |run| unknown_order(run).boxed(),
    },
    Check {
        name: "update",
        expected: "an update confirms an order and sets its notes, and nothing else",
        work: |run| update(run).boxed(),
    },
    Check {
        name: "invalid-step",
        expected: "pending to delivered is refused as INVALID_ORDER_STATE, with context.status pending",
        work: |run| invalid_step(run).boxed(),
    },
    Check {
        name: "cancel",
        expected: "a part is cancelled by quantity, the rest makes the order cancelled",
        work: |run| cancel(run).boxed(),
    },
    Check {
        name: "cancel-twice",
        expected: "cancelling a cancelled order is refused as INVALID_ORDER_STATE",
        work: |run| cancel_twice(run).boxed(),
    },
    Check {
        name: "fulfill-too-much",
        expected: "more than is open is refused as QUANTITY_EXCEEDS_OPEN, with context.available",
        work: |run| fulfill_too_much(run).boxed(),
    },
    Check {
        name: "fulfill-without-address",
        expected: "an order without a shipping address is not fulfilled",
        work: |run| fulfill_without_address(run).boxed(),
    },
    Check {
        name: "fulfill",
        expected: "a fulfilment names its order and quantities, and the last one makes the order shipped",
        work: |run| fulfill(run).boxed(),
    },
];

async fn unknown_order(run: &mut CheckRun) -> StepResult {
    let id = run.probe.id();
    let lines = quantities("candor-check", 1);
    let arguments = [
        (
            OrderOperation::UpdateOrder,
            json!({ "orderId": id, "updates": { "notes": "x" } }),
        ),
        (OrderOperation::CancelOrder, json!({ "orderId": id })),
        (OrderOperation::FulfillOrder, json!({ "orderId": id })),
        (
            OrderOperation::CreateReturn,
            json!({ "orderId": id, "lineItems": lines, "outcome": "refund" }),
        ),
    ];
    let mut names = Vec::new();
    for (operation, arguments) in arguments {
        if run.probe.needs(&[operation]).is_err() {
            continue;
        }
        let key = run.probe.key();
        let seen = run.probe.ask(operation, &key, &arguments).await?;
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

async fn update(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::UpdateOrder])?;
    let test_order = run.create_order().await?;
    let updates = json!({ "status": "confirmed", "notes": "checked" });
    let arguments = json!({ "orderId": test_order.id, "updates": updates });
    let order = run.step(OrderOperation::UpdateOrder, arguments).await?;
    for (name, expected) in [
        ("id", test_order.id.as_str()),
        ("status", "confirmed"),
        ("notes", "checked"),
    ] {
        has(&order, name, &json!(expected))?;
    }
    has(&order, "lineItems", &test_order.order["lineItems"])?;
    if let Some(stored) = run.read(&test_order).await? {
        has(&stored, "notes", &json!("checked"))?;
        has(&stored, "status", &json!("confirmed"))?;
    }
    Ok(String::from("confirmed, with notes"))
}

async fn invalid_step(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::UpdateOrder])?;
    let test_order = run.create_order().await?;
    let arguments = json!({ "orderId": test_order.id, "updates": { "status": "delivered" } });
    let status = ("status", json!("pending"));
    run.refused_with(
        OrderOperation::UpdateOrder,
        arguments,
        "INVALID_ORDER_STATE",
        status,
    )
    .await
}

async fn cancel(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::CancelOrder])?;
    let test_order = run.create_order().await?;
    let sku = run.sku().await?;
    let part = json!({ "orderId": test_order.id, "lineItems": quantities(&sku, 1) });
    let order = run.step(OrderOperation::CancelOrder, part).await?;
    has(&order, "status", &json!("pending"))?;
    has(&order["lineItems"][0], "cancelledQuantity", &json!(1))?;
    let rest = json!({ "orderId": test_order.id, "reason": "checked" });
    let order = run.step(OrderOperation::CancelOrder, rest).await?;
    has(&order, "status", &json!("cancelled"))?;
    has(&order["lineItems"][0], "cancelledQuantity", &json!(3))?;
    Ok(String::from("one unit, then all three"))
}

async fn cancel_twice(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::CancelOrder])?;
    let test_order = run.create_order().await?;
    let arguments = json!({ "orderId": test_order.id });
    run.step(OrderOperation::CancelOrder, arguments.clone())
        .await?;
    let status = ("status", json!("cancelled"));
    run.refused_with(
        OrderOperation::CancelOrder,
        arguments,
        "INVALID_ORDER_STATE",
        status,
    )
    .await
}

async fn fulfill_too_much(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::FulfillOrder])?;
    let test_order = run.create_order().await?;
    let sku = run.sku().await?;
    let arguments = json!({ "orderId": test_order.id, "lineItems": quantities(&sku, 4) });
    let open = ("available", json!(3));
    run.refused_with(
        OrderOperation::FulfillOrder,
        arguments,
        "QUANTITY_EXCEEDS_OPEN",
        open,
    )
    .await
}

async fn fulfill_without_address(run: &mut CheckRun) -> StepResult {
    let operations = [OrderOperation::CreateOrder, OrderOperation::FulfillOrder];
    run.probe.needs(&operations)?;
    let sku = run.sku().await?;
    let external = run.probe.id();
    let arguments =
        json!({ "order": { "externalId": external, "lineItems": quantities(&sku, 1) } });
    let order = run.step(OrderOperation::CreateOrder, arguments).await?;
    let key = run.probe.key();
    let arguments = json!({ "orderId": text(&order, "id") });
    let seen = run
        .probe
        .ask(OrderOperation::FulfillOrder, &key, &arguments)
        .await?;
    match seen.status() {
        400..=499 => Ok(seen.words()),
        _ => failed(seen.words()),
    }
}

async fn fulfill(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::FulfillOrder])?;
    let test_order = run.create_order().await?;
    let sku = run.sku().await?;
    let sent = |made: &Value| -> i64 {
        let lines = made["lineItems"].as_array().cloned().unwrap_or_default();
        lines
            .iter()
            .filter_map(|line| line["quantity"].as_i64())
            .sum()
    };
    let part = json!({ "orderId": test_order.id, "lineItems": quantities(&sku, 2), "trackingNumbers": ["CHECK-1"] });
    let first = run.step(OrderOperation::FulfillOrder, part).await?;
    has(&first, "orderId", &json!(test_order.id))?;
    has(&first, "trackingNumbers", &json!(["CHECK-1"]))?;
    let status = run.status(&test_order).await?;
    if status
        .as_deref()
        .is_some_and(|status| status != "confirmed")
    {
        return failed("after a part of it was sent, a pending order is not confirmed");
    }
    let rest = json!({ "orderId": test_order.id });
    let second = run.step(OrderOperation::FulfillOrder, rest).await?;
    if (sent(&first), sent(&second)) != (2, 1) {
        return failed(format!("{} and {} units", sent(&first), sent(&second)));
    }
    match run.status(&test_order).await?.as_deref() {
        None | Some("shipped") => Ok(String::from("two units, then the third")),
        Some(status) => failed(format!("the order is {}", shown(status))),
    }
}
