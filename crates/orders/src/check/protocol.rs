//! Checks of the protocol itself and of the seven queries.

use super::probe::{StepResult, failed, skipped};
use super::{Check, CheckRun};
use crate::OrderOperation;
use crate::http::capabilities::{Capabilities, ROUTE};
use futures_util::FutureExt as _;
use serde_json::json;

/// An operation that does not exist.
const NOBODYS: &str = "candor-check-nothing";

macro_rules! query {
    ($operation:ident, $name:literal) => {
        Check {
            name: $name,
            expected: "a page of at most five entities that fit their schema, and nextCursor",
            work: |run| fits(run, OrderOperation::$operation).boxed(),
        }
    };
}

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "capabilities",
        expected: "GET /v1/capabilities tells protocol 1, the operations and keepsKeys",
        work: |run| capabilities(run).boxed(),
    },
    Check {
        name: "credentials",
        expected: "a request without the token is answered 401 or 403",
        work: |run| credentials(run).boxed(),
    },
    Check {
        name: "not-offered",
        expected: "an operation that is not listed is answered 501",
        work: |run| not_offered(run).boxed(),
    },
    Check {
        name: "bad-json",
        expected: "a body that is no JSON is answered with a status of 400 to 499",
        work: |run| bad_json(run).boxed(),
    },
    query!(GetOrders, "get-orders"),
    query!(GetCustomers, "get-customers"),
    query!(GetProducts, "get-products"),
    query!(GetVariants, "get-product-variants"),
    query!(GetInventory, "get-inventory"),
    query!(GetFulfillments, "get-fulfillments"),
    query!(GetReturns, "get-returns"),
    Check {
        name: "unknown-ids",
        expected: "a query for ids that do not exist is answered with an empty page",
        work: |run| unknown_ids(run).boxed(),
    },
    Check {
        name: "foreign-cursor",
        expected: "a cursor that is not the order system's own is answered with a status of 400 to 499",
        work: |run| foreign_cursor(run).boxed(),
    },
];

async fn capabilities(run: &mut CheckRun) -> StepResult {
    let seen = run.probe.get(ROUTE).await?;
    seen.succeeded()?;
    let known = match Capabilities::read(&seen.response) {
        Ok(known) => known,
        Err(error) => return failed(error.to_string()),
    };
    let count = known.operations.len();
    let keys = if known.keeps_keys { "" } else { "not " };
    run.probe.capabilities = Some(known);
    Ok(format!("{count} of 12 operations, keys are {keys}kept"))
}

async fn credentials(run: &mut CheckRun) -> StepResult {
    let Some(stranger) = &run.stranger else {
        return skipped("no token was given");
    };
    let body = json!({ "pageSize": 1 }).to_string();
    let offered = run.probe.capabilities.as_ref();
    let reads = offered.and_then(|known| known.operations.iter().find(|one| !one.changes()));
    let Some(reads) = reads else {
        return skipped("no query is offered");
    };
    let seen = stranger.send(reads.name(), None, body).await?;
    match seen.status() {
        401 | 403 => Ok(seen.words()),
        _ => failed(seen.words()),
    }
}

async fn not_offered(run: &mut CheckRun) -> StepResult {
    let Some(known) = &run.probe.capabilities else {
        return skipped("the capabilities are not known");
    };
    let missing = OrderOperation::ALL
        .into_iter()
        .filter(|one| !known.operations.contains(one));
    let names: Vec<_> = missing.map(OrderOperation::name).chain([NOBODYS]).collect();
    for name in &names {
        let key = run.probe.key();
        let seen = run.probe.send(name, Some(&key), "{}").await?;
        if seen.status() != 501 {
            return failed(seen.words());
        }
    }
    Ok(format!("501 for {}", names.join(", ")))
}

async fn bad_json(run: &mut CheckRun) -> StepResult {
    let probe = &run.probe;
    probe.needs(&[])?;
    let offered = probe
        .capabilities
        .iter()
        .flat_map(|known| &known.operations);
    let Some(operation) = offered.copied().next() else {
        return skipped("no operation is offered");
    };
    let key = probe.key();
    let key = operation.changes().then_some(&key);
    for body in ["{\"order\":", "[]", "\"text\""] {
        let seen = probe.send(operation.name(), key, body).await?;
        if !matches!(seen.status(), 400..=499) {
            return failed(format!("{} for {body}", seen.words()));
        }
    }
    Ok(format!("{} refuses it", operation.name()))
}

async fn fits(run: &mut CheckRun, operation: OrderOperation) -> StepResult {
    run.probe.needs(&[operation])?;
    let (items, next) = run.probe.page(operation, 5, json!({})).await?;
    let more = if next.is_some() {
        "and more"
    } else {
        "and no more"
    };
    Ok(format!("{} entities {more}", items.len()))
}

async fn unknown_ids(run: &mut CheckRun) -> StepResult {
    let probe = &run.probe;
    let mut queried = Vec::new();
    for operation in OrderOperation::ALL.into_iter().filter(|one| !one.changes()) {
        if probe.needs(&[operation]).is_err() {
            continue;
        }
        let filter = match operation {
            OrderOperation::GetInventory => "skus",
            _ => "ids",
        };
        if !probe.has_filter(operation, filter) {
            continue;
        }
        let (items, next) = probe
            .page(operation, 5, json!({ filter: [probe.id()] }))
            .await?;
        if !items.is_empty() || next.is_some() {
            let (name, count) = (operation.name(), items.len());
            return failed(format!("{name}: {count} entities for {filter} of nobody"));
        }
        queried.push(operation.name());
    }
    match queried.is_empty() {
        true => skipped("no query with such a filter is offered"),
        false => Ok(format!("nothing from {}", queried.join(", "))),
    }
}

async fn foreign_cursor(run: &mut CheckRun) -> StepResult {
    let probe = &run.probe;
    let offered = probe
        .capabilities
        .iter()
        .flat_map(|known| &known.operations);
    let Some(operation) = offered.copied().find(|one| !one.changes()) else {
        return skipped("no query is offered");
    };
    let body = json!({ "pageSize": 1, "cursor": "\u{1f9ed} candor-check" });
    let seen = probe.send(operation.name(), None, body.to_string()).await?;
    match seen.status() {
        400..=499 => Ok(seen.words()),
        _ => failed(seen.words()),
    }
}
