//! Checks of returns, over one call and over several.

use super::probe::{StepResult, failed};
use super::test_orders::{TestOrder, has, quantities, text};
use super::{Check, CheckRun};
use crate::OrderOperation;
use futures_util::FutureExt as _;
use serde_json::json;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "return",
        expected: "a return of fulfilled units names its order and quantities",
        work: |run| create_return(run).boxed(),
    },
    Check {
        name: "return-too-much",
        expected: "more than was fulfilled is refused as RETURN_EXCEEDS_FULFILLED, with context.available",
        work: |run| return_too_much(run).boxed(),
    },
    Check {
        name: "return-in-steps",
        expected: "units that came back cannot come back again: RETURN_EXCEEDS_FULFILLED, with context.available",
        work: |run| return_in_steps(run).boxed(),
    },
    Check {
        name: "returns-by-order",
        expected: "orderIds of get-returns and get-fulfillments find those of that order, and no other",
        work: |run| by_order(run).boxed(),
    },
];

/// Creates an order whose three units can be returned.
async fn shipped(run: &mut CheckRun) -> StepResult<TestOrder> {
    run.probe.needs(&[OrderOperation::CreateReturn])?;
    run.create_shipped().await
}

async fn create_return(run: &mut CheckRun) -> StepResult {
    let test_order = shipped(run).await?;
    let lines = quantities(&run.sku().await?, 2);
    let arguments = json!({ "orderId": test_order.id, "lineItems": lines, "outcome": "refund" });
    let made = run.step(OrderOperation::CreateReturn, arguments).await?;
    has(&made, "orderId", &json!(test_order.id))?;
    has(&made, "outcome", &json!("refund"))?;
    has(&made, "lineItems", &lines)?;
    if let Some(order) = run.read(&test_order).await? {
        has(&order["lineItems"][0], "returnedQuantity", &json!(2))?;
    }
    Ok(String::from("two units came back"))
}

async fn return_too_much(run: &mut CheckRun) -> StepResult {
    let test_order = shipped(run).await?;
    let lines = quantities(&run.sku().await?, 4);
    let arguments = json!({ "orderId": test_order.id, "lineItems": lines, "outcome": "refund" });
    let sent = ("available", json!(3));
    run.refused_with(
        OrderOperation::CreateReturn,
        arguments,
        "RETURN_EXCEEDS_FULFILLED",
        sent,
    )
    .await
}

async fn return_in_steps(run: &mut CheckRun) -> StepResult {
    let test_order = shipped(run).await?;
    let lines = quantities(&run.sku().await?, 2);
    let arguments = json!({ "orderId": test_order.id, "lineItems": lines, "outcome": "refund" });
    run.step(OrderOperation::CreateReturn, arguments.clone())
        .await?;
    let left = ("available", json!(1));
    run.refused_with(
        OrderOperation::CreateReturn,
        arguments,
        "RETURN_EXCEEDS_FULFILLED",
        left,
    )
    .await
}

async fn by_order(run: &mut CheckRun) -> StepResult {
    let (first, second) = (shipped(run).await?, shipped(run).await?);
    let lines = quantities(&run.sku().await?, 1);
    for order in [&first, &second] {
        let arguments = json!({ "orderId": order.id, "lineItems": lines, "outcome": "refund" });
        run.step(OrderOperation::CreateReturn, arguments).await?;
    }
    let mut queried = Vec::new();
    for operation in [OrderOperation::GetReturns, OrderOperation::GetFulfillments] {
        if run.probe.needs(&[operation]).is_err() {
            continue;
        }
        let (found, _) = run
            .probe
            .page(operation, 10, json!({ "orderIds": [first.id] }))
            .await?;
        let orders: Vec<_> = found.iter().map(|one| text(one, "orderId")).collect();
        if orders != [first.id.as_str()] {
            let (name, count) = (operation.name(), found.len());
            return failed(format!(
                "{name}: {count} entities, or those of another order"
            ));
        }
        queried.push(operation.name());
    }
    Ok(format!("so by {}", queried.join(", ")))
}
