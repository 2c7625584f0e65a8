//! Checks of every filter, of letter case, and of `updatedAt`.

use super::probe::{StepResult, failed, shown, skipped};
use super::test_orders::{TestOrder, text};
use super::{Check, CheckRun};
use crate::OrderOperation;
use crate::model::UtcTime;
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

/// Longer than the coarsest clock of an order system takes to move on.
pub(super) const CLOCK_STEP: Duration = Duration::from_millis(1100);

/// One second, in microseconds.
const SECOND: i64 = 1_000_000;

macro_rules! by_member {
    ($name:literal, $operation:ident, $filter:literal, $member:literal) => {
        Check {
            name: $name,
            expected: "the filter finds the entities with this value, and no other",
            work: |run| by_member(run, OrderOperation::$operation, $filter, $member).boxed(),
        }
    };
}

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "orders-by-status",
        expected: "statuses finds the one of two orders that is confirmed",
        work: |run| by_status(run).boxed(),
    },
    Check {
        name: "orders-by-sku",
        expected: "skus finds the one of two orders with this SKU",
        work: |run| by_sku(run).boxed(),
    },
    Check {
        name: "orders-by-email",
        expected: "emails finds the orders of this customer, and no other",
        work: |run| by_email(run).boxed(),
    },
    Check {
        name: "orders-by-created",
        expected: "createdAtMin and createdAtMax include the order's time, and exclude it if it is outside",
        work: |run| by_time(run, "createdAt").boxed(),
    },
    Check {
        name: "orders-by-updated",
        expected: "updatedAtMin and updatedAtMax include the order's time, and exclude it if it is outside",
        work: |run| by_time(run, "updatedAt").boxed(),
    },
    Check {
        name: "updated-at",
        expected: "a change moves updatedAt, and not createdAt",
        work: |run| updated_at(run).boxed(),
    },
    Check {
        name: "customer-letter-case",
        expected: "an email in other letter case is the same customer",
        work: |run| letter_case(run).boxed(),
    },
    Check {
        name: "unknown-filter",
        expected: "a filter that does not exist is answered with a status of 400 to 499",
        work: |run| unknown_filter(run).boxed(),
    },
    by_member!("customers-by-id", GetCustomers, "ids", "id"),
    by_member!("customers-by-email", GetCustomers, "emails", "email"),
    by_member!("products-by-id", GetProducts, "ids", "id"),
    by_member!("variants-by-id", GetVariants, "ids", "id"),
    by_member!("variants-by-sku", GetVariants, "skus", "sku"),
    by_member!(
        "variants-by-product",
        GetVariants,
        "productIds",
        "productId"
    ),
    by_member!("inventory-by-sku", GetInventory, "skus", "sku"),
    by_member!(
        "inventory-by-location",
        GetInventory,
        "locationIds",
        "locationId"
    ),
    Check {
        name: "products-by-sku",
        expected: "skus of get-products finds the product of the variant with this SKU, and no other",
        work: |run| products_by_sku(run).boxed(),
    },
];

/// Checks that a query about two orders finds the first one only.
pub(super) async fn finds_first(
    run: &CheckRun,
    mut filters: Value,
    (first, second): (&TestOrder, &TestOrder),
) -> StepResult {
    let both = run.only(&[first, second])?;
    for (name, value) in both.as_object().into_iter().flatten() {
        filters[name] = value.clone();
    }
    let (found, _) = run
        .probe
        .page(OrderOperation::GetOrders, 10, filters)
        .await?;
    let ids: Vec<_> = found.iter().map(|order| text(order, "id")).collect();
    match ids == [first.id.as_str()] {
        true => Ok(format!("found {}", shown(&first.id))),
        false => failed(format!("{} of two orders, or the wrong one", ids.len())),
    }
}

async fn by_status(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs(&[OrderOperation::GetOrders, OrderOperation::UpdateOrder])?;
    let (first, second) = (run.create_order().await?, run.create_order().await?);
    let arguments = json!({ "orderId": first.id, "updates": { "status": "confirmed" } });
    run.step(OrderOperation::UpdateOrder, arguments).await?;
    finds_first(run, json!({ "statuses": ["confirmed"] }), (&first, &second)).await?;
    finds_first(run, json!({ "statuses": ["pending"] }), (&second, &first)).await
}

async fn by_sku(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs(&[OrderOperation::GetOrders, OrderOperation::CreateOrder])?;
    let sku = run.sku().await?;
    let Some(other) = run.other_sku().await? else {
        return skipped("no second SKU with stock was found");
    };
    let first = run.create_order().await?;
    let external = run.probe.id();
    let lines = json!([{ "sku": other, "quantity": 1, "unitPrice": "1" }]);
    let arguments = json!({ "order": { "externalId": external, "lineItems": lines } });
    let order = run.step(OrderOperation::CreateOrder, arguments).await?;
    let second = TestOrder {
        id: text(&order, "id"),
        external,
        order,
    };
    finds_first(run, json!({ "skus": [sku] }), (&first, &second)).await
}

/// Creates an order of this customer.
async fn order_of(run: &mut CheckRun, email: &str) -> StepResult<TestOrder> {
    run.probe
        .needs(&[OrderOperation::GetOrders, OrderOperation::CreateOrder])?;
    run.create_with(json!({ "customer": { "email": email } }))
        .await
}

async fn by_email(run: &mut CheckRun) -> StepResult {
    let email = format!("{}@example.com", run.probe.id());
    let first = order_of(run, &email).await?;
    let second = run.create_order().await?;
    finds_first(run, json!({ "emails": [email] }), (&first, &second)).await
}

async fn letter_case(run: &mut CheckRun) -> StepResult {
    let email = format!("{}@example.com", run.probe.id());
    let first = order_of(run, &email.to_uppercase()).await?;
    let second = order_of(run, &email).await?;
    let customer = |order: &TestOrder| text(&order.order["customer"], "id");
    if customer(&first) != customer(&second) {
        return failed("the same address in other letter case is another customer");
    }
    let found = run
        .probe
        .page(OrderOperation::GetOrders, 10, json!({ "emails": [email] }));
    match found.await?.0.len() {
        2 => Ok(String::from("one customer, two orders")),
        count => failed(format!(
            "{count} of two orders for the address in lower case"
        )),
    }
}

async fn by_time(run: &mut CheckRun, member: &'static str) -> StepResult {
    run.probe.needs(&[OrderOperation::GetOrders])?;
    let test_order = run.create_order().await?;
    let at = UtcTime::read(&text(&test_order.order, member));
    let Some(at) = at else {
        return failed(format!("{member} cannot be read"));
    };
    // A second around it, because an order system may store more digits than it shows.
    let around = |seconds: i64| UtcTime::of_micros(at.micros() + seconds * SECOND).text();
    for (bound, seconds, is_found) in [
        ("Min", -1, true),
        ("Min", 1, false),
        ("Max", 1, true),
        ("Max", -1, false),
    ] {
        let filters =
            json!({ "ids": [test_order.id], format!("{member}{bound}"): around(seconds) });
        let (found, _) = run
            .probe
            .page(OrderOperation::GetOrders, 10, filters)
            .await?;
        if found.is_empty() == is_found {
            let count = found.len();
            return failed(format!("{count} orders for {member}{bound} of {seconds} s"));
        }
    }
    Ok(String::from("inside and outside"))
}

async fn updated_at(run: &mut CheckRun) -> StepResult {
    run.probe.needs(&[OrderOperation::UpdateOrder])?;
    let test_order = run.create_order().await?;
    sleep(CLOCK_STEP).await;
    let arguments = json!({ "orderId": test_order.id, "updates": { "notes": "later" } });
    let order = run.step(OrderOperation::UpdateOrder, arguments).await?;
    let time = |order: &Value, name: &str| UtcTime::read(&text(order, name));
    if time(&order, "updatedAt") <= time(&test_order.order, "updatedAt") {
        return failed("updatedAt is not later after an update");
    }
    match time(&order, "createdAt") == time(&test_order.order, "createdAt") {
        true => Ok(String::from("later, and createdAt as before")),
        false => failed("an update changes createdAt"),
    }
}

async fn unknown_filter(run: &mut CheckRun) -> StepResult {
    let offered = run.probe.capabilities.iter();
    let mut offered = offered.flat_map(|known| &known.operations).copied();
    let Some(operation) = offered.find(|one| !one.changes()) else {
        return skipped("no query is offered");
    };
    let body = json!({ "pageSize": 1, "candorCheckFilter": ["x"] });
    let seen = run
        .probe
        .send(operation.name(), None, body.to_string())
        .await?;
    match seen.status() {
        400..=499 => Ok(seen.words()),
        _ => failed(seen.words()),
    }
}

/// Checks a filter with the value of an entity that exists.
async fn by_member(
    run: &mut CheckRun,
    operation: OrderOperation,
    filter: &'static str,
    member: &'static str,
) -> StepResult {
    run.probe.needs(&[operation])?;
    let (all, _) = run.probe.page(operation, 100, json!({})).await?;
    let fold = |one: &Value| match member {
        "email" => text(one, member).to_lowercase(),
        _ => text(one, member),
    };
    let has_value = |one: &&Value| !fold(one).is_empty();
    let (Some(first), Some(last)) = (all.iter().find(has_value), all.iter().rev().find(has_value))
    else {
        return skipped("there is no entity with this member");
    };
    if fold(first) == fold(last) {
        return skipped("all entities have the same value");
    }
    for value in [fold(first), fold(last)] {
        let arguments = json!({ filter: [value] });
        let (found, _) = run.probe.page(operation, 100, arguments).await?;
        if found.is_empty() {
            return failed(format!("nothing for {filter} of an entity that exists"));
        }
        if found.iter().any(|one| fold(one) != value) {
            return failed(format!("entities that do not fit {filter}"));
        }
    }
    Ok(format!("{filter} of two of {} entities", all.len()))
}

async fn products_by_sku(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs(&[OrderOperation::GetProducts, OrderOperation::GetVariants])?;
    let (variants, _) = run
        .probe
        .page(OrderOperation::GetVariants, 100, json!({}))
        .await?;
    let (Some(first), Some(last)) = (variants.first(), variants.last()) else {
        return skipped("there are no variants");
    };
    for variant in [first, last] {
        let arguments = json!({ "skus": [text(variant, "sku")] });
        let (found, _) = run
            .probe
            .page(OrderOperation::GetProducts, 100, arguments)
            .await?;
        let ids: Vec<_> = found.iter().map(|product| text(product, "id")).collect();
        if ids != [text(variant, "productId")] {
            return failed(format!("{} products, or another", ids.len()));
        }
    }
    Ok(String::from("the products of two variants"))
}
