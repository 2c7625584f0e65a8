//! Checks of new orders: created, refused, found and paged.

use super::probe::{StepResult, failed, shown, skipped};
use super::test_orders::{has, quantities, text};
use super::{Check, CheckRun};
use crate::OrderOperation;
use futures_util::FutureExt as _;
use serde_json::json;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "create",
        expected: "a new order is pending, has the id it was given, and the sums of its lines",
        work: |run| create(run).boxed(),
    },
    Check {
        name: "exact-sums",
        expected: "three units of 0.10 and one of 1.10 come to 1.40, with every digit",
        work: |run| exact_sums(run).boxed(),
    },
    Check {
        name: "find",
        expected: "a new order is found by id and by externalId, and alone",
        work: |run| find(run).boxed(),
    },
    Check {
        name: "pages",
        expected: "pages of one show each of three orders once, oldest first, and then end",
        work: |run| pages(run).boxed(),
    },
    Check {
        name: "unknown-sku",
        expected: "an order of an unknown SKU is refused as SKU_NOT_FOUND and not made",
        work: |run| unknown_sku(run).boxed(),
    },
    Check {
        name: "wrong-total",
        expected: "an order with a wrong total is refused and not made",
        work: |run| wrong_total(run).boxed(),
    },
    Check {
        name: "external-id-conflict",
        expected: "a second order with the same externalId is refused as EXTERNAL_ID_CONFLICT",
        work: |run| external_id_conflict(run).boxed(),
    },
];

async fn create(run: &mut CheckRun) -> StepResult {
    let test_order = run.create_order().await?;
    let order = &test_order.order;
    has(order, "status", &json!("pending"))?;
    has(order, "externalId", &json!(test_order.external))?;
    has(order, "subTotal", &json!("6"))?;
    has(order, "discountTotal", &json!("3"))?;
    has(order, "total", &json!("3"))?;
    let line = &order["lineItems"][0];
    for (name, expected) in [
        ("quantity", 3),
        ("fulfilledQuantity", 0),
        ("cancelledQuantity", 0),
        ("returnedQuantity", 0),
    ] {
        has(line, name, &json!(expected))?;
    }
    Ok(format!("made {}", shown(&test_order.id)))
}

async fn exact_sums(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::CreateOrder])?;
    let sku = run.sku().await?;
    let external = run.probe.id();
    let lines = json!([
        { "sku": sku, "quantity": 3, "unitPrice": "0.10" },
        { "sku": sku, "quantity": 1, "unitPrice": "1.10" }
    ]);
    let arguments = json!({ "order": { "externalId": external, "lineItems": lines } });
    let order = run.step(OrderOperation::CreateOrder, arguments).await?;
    has(&order, "total", &json!("1.4"))?;
    Ok(String::from("1.40"))
}

async fn find(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::GetOrders])?;
    let test_order = run.create_order().await?;
    let filters = [
        ("ids", &test_order.id),
        ("externalIds", &test_order.external),
    ];
    let probe = &run.probe;
    let mut declared = Vec::from(filters);
    declared.retain(|(filter, _)| probe.has_filter(OrderOperation::GetOrders, filter));
    if declared.is_empty() {
        return skipped("get-orders declares neither ids nor externalIds");
    }
    for (filter, id) in declared {
        let arguments = json!({ filter: [id] });
        let (found, next) = run
            .probe
            .page(OrderOperation::GetOrders, 5, arguments)
            .await?;
        let ids: Vec<_> = found.iter().map(|order| text(order, "id")).collect();
        if ids != [test_order.id.as_str()] || next.is_some() {
            return failed(format!("{} orders for {filter} of one", ids.len()));
        }
    }
    Ok(format!("found {}", shown(&test_order.id)))
}

async fn pages(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::GetOrders])?;
    let mut orders = Vec::new();
    for _ in 0..3 {
        orders.push(run.create_order().await?);
    }
    let made: Vec<_> = orders.iter().map(|order| order.id.clone()).collect();
    let mut seen = Vec::new();
    let mut arguments = run.only(&orders.iter().collect::<Vec<_>>())?;
    // One more page than orders: the last page may be empty.
    for _ in 0..=made.len() {
        let page = run
            .probe
            .page(OrderOperation::GetOrders, 1, arguments.clone());
        let (orders, next) = page.await?;
        seen.extend(orders.iter().map(|order| text(order, "id")));
        match next {
            Some(next) => arguments["cursor"] = json!(next),
            None if seen == made => return Ok(String::from("three pages, in order")),
            None => return failed(format!("{} orders, or in another order", seen.len())),
        }
    }
    failed("the pages do not end")
}

async fn unknown_sku(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::CreateOrder])?;
    let (external, sku) = (run.probe.id(), run.probe.id());
    let arguments =
        json!({ "order": { "externalId": external, "lineItems": quantities(&sku, 1) } });
    let words = run
        .refused(OrderOperation::CreateOrder, arguments, "SKU_NOT_FOUND")
        .await?;
    run.not_made(&external).await?;
    Ok(words)
}

async fn wrong_total(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::CreateOrder])?;
    let external = run.probe.id();
    let mut arguments = run.order(&external).await?;
    arguments["order"]["total"] = json!("4");
    let key = run.probe.key();
    let seen = run
        .probe
        .ask(OrderOperation::CreateOrder, &key, &arguments)
        .await?;
    if !matches!(seen.status(), 400..=499) {
        return failed(seen.words());
    }
    run.not_made(&external).await?;
    Ok(seen.words())
}

async fn external_id_conflict(run: &mut CheckRun) -> StepResult {
    let test_order = run.create_order().await?;
    let arguments = run.order(&test_order.external).await?;
    run.refused(
        OrderOperation::CreateOrder,
        arguments,
        "EXTERNAL_ID_CONFLICT",
    )
    .await
}
