//! Checks of stock: what can be ordered, what is reserved, and where goods leave.

use super::probe::{StepResult, failed, skipped};
use super::test_orders::{quantities, text};
use super::{Check, CheckRun};
use crate::OrderOperation;
use crate::model::MAX_QUANTITY;
use futures_util::FutureExt as _;
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "insufficient-stock",
        expected: "an order of more units than there are is refused as INSUFFICIENT_INVENTORY, with context.available",
        work: |run| insufficient_stock(run).boxed(),
    },
    Check {
        name: "reservation",
        expected: "a new order reserves its units, a cancellation releases them, and a fulfilment takes them from the stock",
        work: |run| reservation(run).boxed(),
    },
    Check {
        name: "unknown-location",
        expected: "a fulfilment from an unknown location is refused as LOCATION_NOT_FOUND",
        work: |run| unknown_location(run).boxed(),
    },
];

/// The stock of a SKU over all locations.
#[derive(Debug, PartialEq)]
struct Stock {
    on_hand: i64,
    reserved: i64,
    available: i64,
}

async fn stock(run: &CheckRun, sku: &str) -> StepResult<Stock> {
    let (found, _) = run
        .probe
        .page(OrderOperation::GetInventory, 100, json!({ "skus": [sku] }))
        .await?;
    let count = |item: &Value, name: &str| item[name].as_i64().unwrap_or_default();
    if let Some(other) = found.iter().find(|item| text(item, "sku") != sku) {
        let other = super::probe::shown(&text(other, "sku"));
        return failed(format!("get-inventory: {other} for skus of another"));
    }
    let Some(first) = found.first() else {
        return failed("get-inventory: nothing for a SKU that can be ordered");
    };
    Ok(Stock {
        on_hand: found.iter().map(|item| count(item, "onHand")).sum(),
        reserved: count(first, "reservedTotal"),
        available: count(first, "availableTotal"),
    })
}

async fn insufficient_stock(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs(&[OrderOperation::CreateOrder, OrderOperation::GetInventory])?;
    let sku = run.sku().await?;
    let available = stock(run, &sku).await?.available;
    if available >= MAX_QUANTITY {
        return skipped("there is more stock than one line can order");
    }
    let external = run.probe.id();
    let lines = quantities(&sku, available + 1);
    let arguments = json!({ "order": { "externalId": external, "lineItems": lines } });
    let words = run
        .refused_with(
            OrderOperation::CreateOrder,
            arguments,
            "INSUFFICIENT_INVENTORY",
            ("available", json!(available)),
        )
        .await?;
    run.not_made(&external).await?;
    Ok(words)
}

async fn reservation(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs(&[OrderOperation::CreateOrder, OrderOperation::GetInventory])?;
    let sku = run.sku().await?;
    let before = stock(run, &sku).await?;
    let kept = run.create_order().await?;
    let reserved = stock(run, &sku).await?;
    let expected = Stock {
        reserved: before.reserved + 3,
        available: before.available - 3,
        ..before
    };
    if reserved != expected {
        return failed("a new order of three units does not reserve three");
    }
    if run.probe.needs(&[OrderOperation::FulfillOrder]).is_ok() {
        let arguments = json!({ "orderId": kept.id });
        run.step(OrderOperation::FulfillOrder, arguments).await?;
        let expected = Stock {
            on_hand: before.on_hand - 3,
            reserved: before.reserved,
            available: before.available - 3,
        };
        if stock(run, &sku).await? != expected {
            return failed("a fulfilment of three units does not take them from the stock");
        }
    }
    if run.probe.needs(&[OrderOperation::CancelOrder]).is_ok() {
        let before = stock(run, &sku).await?;
        let order = run.create_order().await?;
        let arguments = json!({ "orderId": order.id });
        run.step(OrderOperation::CancelOrder, arguments).await?;
        if stock(run, &sku).await? != before {
            return failed("a cancellation does not release what was reserved");
        }
    }
    Ok(String::from("three units reserved, taken and released"))
}

async fn unknown_location(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::FulfillOrder])?;
    let test_order = run.create_order().await?;
    let location = run.probe.id();
    let arguments = json!({ "orderId": test_order.id, "locationId": location });
    run.refused(
        OrderOperation::FulfillOrder,
        arguments,
        "LOCATION_NOT_FOUND",
    )
    .await
}
