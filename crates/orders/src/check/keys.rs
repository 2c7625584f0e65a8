//! Checks of what keeping keys means.

use super::placing::text;
use super::probe::{Checked, failed, shown, skipped};
use super::{Check, Stage};
use crate::Operation;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use serde_json::json;

/// How many requests with one key are sent at once.
const AT_ONCE: usize = 8;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "same-key",
        expected: "the same key and payload give the first answer again, and no second order",
        work: |stage| same_key(stage).boxed(),
    },
    Check {
        name: "odd-key",
        expected: "a key that no header can hold is kept like any other",
        work: |stage| odd_key(stage).boxed(),
    },
    Check {
        name: "key-reused",
        expected: "the same key with another payload is refused as IDEMPOTENCY_KEY_REUSED",
        work: |stage| key_reused(stage).boxed(),
    },
    Check {
        name: "keys-apart",
        expected: "the same key of another client, or for another operation, is another key",
        work: |stage| keys_apart(stage).boxed(),
    },
    Check {
        name: "failure-stands",
        expected: "a final failure is given again for its key, even when a new key would succeed",
        work: |stage| failure_stands(stage).boxed(),
    },
    Check {
        name: "concurrent-duplicates",
        expected: "requests with one key at once make one order; each gets it, or a retryable failure",
        work: |stage| concurrent_duplicates(stage).boxed(),
    },
];

async fn same_key(stage: &mut Stage) -> Checked {
    stage.probe.needs_keys()?;
    stage.probe.needs(&[Operation::CreateOrder])?;
    let external = stage.probe.id();
    let asked = stage.order(&external).await?;
    let (probe, key) = (&stage.probe, stage.probe.key());
    let first = probe.change(Operation::CreateOrder, &key, &asked).await?;
    if probe.needs(&[Operation::UpdateOrder]).is_ok() {
        // The first answer, not the order as it is now.
        let updates = json!({ "orderId": text(&first, "id"), "updates": { "notes": "later" } });
        probe
            .change(Operation::UpdateOrder, &probe.key(), &updates)
            .await?;
    }
    let second = probe.change(Operation::CreateOrder, &key, &asked).await?;
    if text(&first, "id") != text(&second, "id") {
        return failed("a second order was made");
    }
    if first != second {
        return failed("the same order, but not as it was answered first");
    }
    Ok(format!("{} twice", shown(&text(&first, "id"))))
}

async fn odd_key(stage: &mut Stage) -> Checked {
    stage.probe.needs_keys()?;
    stage.probe.needs(&[Operation::CreateOrder])?;
    let external = stage.probe.id();
    let asked = stage.order(&external).await?;
    let probe = &stage.probe;
    let mut key = probe.key();
    key.key.push_str(" schlüssel 钥匙");
    let first = probe.change(Operation::CreateOrder, &key, &asked).await?;
    let second = probe.change(Operation::CreateOrder, &key, &asked).await?;
    match first == second {
        true => Ok(String::from("the same answer twice")),
        false => failed("two answers"),
    }
}

async fn key_reused(stage: &mut Stage) -> Checked {
    stage.probe.needs_keys()?;
    stage.probe.needs(&[Operation::CreateOrder])?;
    let (external, other) = (stage.probe.id(), stage.probe.id());
    let asked = stage.order(&external).await?;
    let changed = stage.order(&other).await?;
    let (probe, key) = (&stage.probe, stage.probe.key());
    probe.change(Operation::CreateOrder, &key, &asked).await?;
    let seen = probe.ask(Operation::CreateOrder, &key, &changed).await?;
    seen.refused("IDEMPOTENCY_KEY_REUSED")
}

async fn keys_apart(stage: &mut Stage) -> Checked {
    stage.probe.needs_keys()?;
    stage.probe.needs(&[Operation::CreateOrder])?;
    let (external, other) = (stage.probe.id(), stage.probe.id());
    let asked = stage.order(&external).await?;
    let changed = stage.order(&other).await?;
    let (probe, mut key) = (&stage.probe, stage.probe.key());
    let first = probe.change(Operation::CreateOrder, &key, &asked).await?;
    let id = text(&first, "id");
    if probe.needs(&[Operation::UpdateOrder]).is_ok() {
        let updates = json!({ "orderId": id, "updates": { "notes": "apart" } });
        probe.change(Operation::UpdateOrder, &key, &updates).await?;
    }
    key.client.push_str("-other");
    let second = probe.change(Operation::CreateOrder, &key, &changed).await?;
    match text(&second, "id") == id {
        true => failed("another client was given an order that is not its own"),
        false => Ok(String::from("each has its own outcome")),
    }
}

async fn failure_stands(stage: &mut Stage) -> Checked {
    stage.probe.needs_keys()?;
    stage
        .probe
        .needs(&[Operation::UpdateOrder, Operation::FulfillOrder])?;
    let placed = stage.place().await?;
    let (probe, key) = (&stage.probe, stage.probe.key());
    let deliver = json!({ "orderId": placed.id, "updates": { "status": "delivered" } });
    let before = probe.ask(Operation::UpdateOrder, &key, &deliver).await?;
    before.refused("INVALID_ORDER_STATE")?;
    let send = json!({ "orderId": placed.id });
    probe
        .change(Operation::FulfillOrder, &probe.key(), &send)
        .await?;
    let again = probe.ask(Operation::UpdateOrder, &key, &deliver).await?;
    again.refused("INVALID_ORDER_STATE")?;
    probe
        .change(Operation::UpdateOrder, &probe.key(), &deliver)
        .await?;
    Ok(String::from("refused again; a new key succeeds"))
}

async fn concurrent_duplicates(stage: &mut Stage) -> Checked {
    stage.probe.needs_keys()?;
    stage.probe.needs(&[Operation::CreateOrder])?;
    let external = stage.probe.id();
    let mut asked = stage.order(&external).await?;
    // Without an external id, only the key can keep them from being several orders.
    if let Some(order) = asked["order"].as_object_mut() {
        order.shift_remove("externalId");
        order.insert(String::from("tags"), json!([external]));
    }
    let (probe, key) = (&stage.probe, stage.probe.key());
    let sent = (0..AT_ONCE).map(|_| probe.ask(Operation::CreateOrder, &key, &asked));
    let mut made = Vec::new();
    let mut busy = 0;
    for seen in join_all(sent).await {
        let seen = seen?;
        if seen.is_busy() {
            busy += 1;
            continue;
        }
        made.push(probe.made(Operation::CreateOrder, &seen)?);
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
