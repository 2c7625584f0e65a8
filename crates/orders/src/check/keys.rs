//! Checks of idempotency keys.

use super::probe::{StepResult, failed, shown, skipped};
use super::test_orders::text;
use super::{Check, CheckRun};
use crate::OrderOperation;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use serde_json::json;

/// The number of requests with one key that are sent at once.
const AT_ONCE: usize = 8;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "same-key",
        expected: "the same key and payload give the first answer again, and no second order",
        work: |run| same_key(run).boxed(),
    },
    Check {
        name: "odd-key",
        expected: "a key that no header can hold is kept like any other",
        work: |run| odd_key(run).boxed(),
    },
    Check {
        name: "key-reused",
        expected: "the same key with another payload is refused as IDEMPOTENCY_KEY_REUSED",
        work: |run| key_reused(run).boxed(),
    },
    Check {
        name: "keys-apart",
        expected: "the same key of another client, or for another operation, is another key",
        work: |run| keys_apart(run).boxed(),
    },
    Check {
        name: "failure-stands",
        expected: "a final failure is given again for its key, even when a new key would succeed",
        work: |run| failure_stands(run).boxed(),
    },
    Check {
        name: "concurrent-duplicates",
        expected: "requests with one key at once make one order; each gets it, or a retryable failure",
        work: |run| concurrent_duplicates(run).boxed(),
    },
];

async fn same_key(run: &mut CheckRun) -> StepResult {
    run.probe.needs_keys()?;
    run.probe.needs(&[OrderOperation::CreateOrder])?;
    let external = run.probe.id();
    let arguments = run.order(&external).await?;
    let (probe, key) = (&run.probe, run.probe.key());
    let first = probe
        .change(OrderOperation::CreateOrder, &key, &arguments)
        .await?;
    if probe.needs(&[OrderOperation::UpdateOrder]).is_ok() {
        // The stored answer must be the first one, not the order as it is now.
        let updates = json!({ "orderId": text(&first, "id"), "updates": { "notes": "later" } });
        probe
            .change(OrderOperation::UpdateOrder, &probe.key(), &updates)
            .await?;
    }
    let second = probe
        .change(OrderOperation::CreateOrder, &key, &arguments)
        .await?;
    if text(&first, "id") != text(&second, "id") {
        return failed("a second order was made");
    }
    if first != second {
        return failed("the same order, but not as it was answered first");
    }
    Ok(format!("{} twice", shown(&text(&first, "id"))))
}

async fn odd_key(run: &mut CheckRun) -> StepResult {
    run.probe.needs_keys()?;
    run.probe.needs(&[OrderOperation::CreateOrder])?;
    let external = run.probe.id();
    let arguments = run.order(&external).await?;
    let probe = &run.probe;
    let mut key = probe.key();
    key.key.push_str(" schlüssel 钥匙");
    let first = probe
        .change(OrderOperation::CreateOrder, &key, &arguments)
        .await?;
    let second = probe
        .change(OrderOperation::CreateOrder, &key, &arguments)
        .await?;
    match first == second {
        true => Ok(String::from("the same answer twice")),
        false => failed("two answers"),
    }
}

async fn key_reused(run: &mut CheckRun) -> StepResult {
    run.probe.needs_keys()?;
    run.probe.needs(&[OrderOperation::CreateOrder])?;
    let (external, other) = (run.probe.id(), run.probe.id());
    let arguments = run.order(&external).await?;
    let changed = run.order(&other).await?;
    let (probe, key) = (&run.probe, run.probe.key());
    probe
        .change(OrderOperation::CreateOrder, &key, &arguments)
        .await?;
    let seen = probe
        .ask(OrderOperation::CreateOrder, &key, &changed)
        .await?;
    seen.refused("IDEMPOTENCY_KEY_REUSED")
}

async fn keys_apart(run: &mut CheckRun) -> StepResult {
    run.probe.needs_keys()?;
    run.probe.needs(&[OrderOperation::CreateOrder])?;
    let (external, other) = (run.probe.id(), run.probe.id());
    let arguments = run.order(&external).await?;
    let changed = run.order(&other).await?;
    let (probe, mut key) = (&run.probe, run.probe.key());
    let first = probe
        .change(OrderOperation::CreateOrder, &key, &arguments)
        .await?;
    let id = text(&first, "id");
    if probe.needs(&[OrderOperation::UpdateOrder]).is_ok() {
        let updates = json!({ "orderId": id, "updates": { "notes": "apart" } });
        probe
            .change(OrderOperation::UpdateOrder, &key, &updates)
            .await?;
    }
    key.client.push_str("-other");
    let second = probe
        .change(OrderOperation::CreateOrder, &key, &changed)
        .await?;
    match text(&second, "id") == id {
        true => failed("another client was given an order that is not its own"),
        false => Ok(String::from("each has its own outcome")),
    }
}

async fn failure_stands(run: &mut CheckRun) -> StepResult {
    run.probe.needs_keys()?;
    run.probe
        .needs(&[OrderOperation::UpdateOrder, OrderOperation::FulfillOrder])?;
    let test_order = run.create_order().await?;
    let (probe, key) = (&run.probe, run.probe.key());
    let deliver = json!({ "orderId": test_order.id, "updates": { "status": "delivered" } });
    let before = probe
        .ask(OrderOperation::UpdateOrder, &key, &deliver)
        .await?;
    before.refused("INVALID_ORDER_STATE")?;
    let send = json!({ "orderId": test_order.id });
    probe
        .change(OrderOperation::FulfillOrder, &probe.key(), &send)
        .await?;
    let again = probe
        .ask(OrderOperation::UpdateOrder, &key, &deliver)
        .await?;
    again.refused("INVALID_ORDER_STATE")?;
    probe
        .change(OrderOperation::UpdateOrder, &probe.key(), &deliver)
        .await?;
    Ok(String::from("refused again; a new key succeeds"))
}

async fn concurrent_duplicates(run: &mut CheckRun) -> StepResult {
    run.probe.needs_keys()?;
    run.probe.needs(&[OrderOperation::CreateOrder])?;
    let external = run.probe.id();
    let mut arguments = run.order(&external).await?;
    // Without an external id, only the key prevents several orders.
    if let Some(order) = arguments["order"].as_object_mut() {
        order.shift_remove("externalId");
        order.insert(String::from("tags"), json!([external]));
    }
    let (probe, key) = (&run.probe, run.probe.key());
    let sent = (0..AT_ONCE).map(|_| probe.ask(OrderOperation::CreateOrder, &key, &arguments));
    let mut made = Vec::new();
    let mut busy = 0;
    for seen in join_all(sent).await {
        let seen = seen?;
        if seen.is_busy() {
            busy += 1;
            continue;
        }
        made.push(probe.entity(OrderOperation::CreateOrder, &arguments, &seen)?);
    }
    let Some(first) = made.first() else {
        return skipped("every request was answered with a retryable failure");
    };
    match made
        .iter()
        .all(|order| text(order, "id") == text(first, "id"))
    {
        true => Ok(format!(
            "one order, {} answers with it, {busy} busy",
            made.len()
        )),
        false => failed("several orders were made"),
    }
}
