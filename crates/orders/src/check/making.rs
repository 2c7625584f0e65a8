//! Checks of new orders: made, refused, found, paged through.

use super::placing::{has, quantities, text};
use super::probe::{Checked, failed, shown};
use super::{Check, Stage};
use crate::Operation;
use futures_util::FutureExt as _;
use serde_json::json;

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
];

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
