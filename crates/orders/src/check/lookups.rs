//! Checks of the filters that an order system declares: numbers, names, phones, tracking numbers,
//! payments, the states of returns, and sorting.

use super::filters::{CLOCK_STEP, finds_first};
use super::probe::{StepResult, failed, skipped};
use super::test_orders::{quantities, text};
use super::{Check, CheckRun};
use crate::OrderOperation;
use crate::model::Feature;
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio::time::sleep;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "orders-by-number",
        expected: "a new order has an orderNumber, which finds it alone",
        work: |run| by_number(run).boxed(),
    },
    Check {
        name: "orders-by-name",
        expected: "names finds an order whatever the letter case is, and without the sign #",
        work: |run| by_name(run).boxed(),
    },
    Check {
        name: "orders-by-tracking",
        expected: "trackingNumbers finds the order that was shipped with this number",
        work: |run| by_tracking(run).boxed(),
    },
    Check {
        name: "orders-by-customer",
        expected: "customerIds finds the orders of this customer, and no other",
        work: |run| by_customer(run).boxed(),
    },
    Check {
        name: "orders-by-customer-name",
        expected: "customerNames finds \"first last\", \"last, first\" and the last name alone, in any letter case",
        work: |run| by_customer_name(run).boxed(),
    },
    Check {
        name: "orders-by-phone",
        expected: "phones compares the last digits of the numbers in addresses",
        work: |run| by_phone(run).boxed(),
    },
    Check {
        name: "orders-by-payment",
        expected: "paymentStatuses tells a paid order from one that is not",
        work: |run| by_payment(run).boxed(),
    },
    Check {
        name: "orders-by-change",
        expected: "sort updatedAt shows the order that was changed last at the end",
        work: |run| by_change(run).boxed(),
    },
    Check {
        name: "customers-by-name",
        expected: "names finds a customer by the last name, in any letter case",
        work: |run| customers_by_name(run).boxed(),
    },
    Check {
        name: "customers-by-phone",
        expected: "phones finds a customer by the last digits",
        work: |run| customers_by_phone(run).boxed(),
    },
    Check {
        name: "fulfillments-by-tracking",
        expected: "trackingNumbers finds the fulfilment with this number, and no other",
        work: |run| fulfillments_by_tracking(run).boxed(),
    },
    Check {
        name: "returns-by-outcome",
        expected: "outcomes finds one of two returns",
        work: |run| returns_by_outcome(run).boxed(),
    },
    Check {
        name: "returns-by-status",
        expected: "statuses finds one of two returns",
        work: |run| returns_by_status(run).boxed(),
    },
    Check {
        name: "sorted-pages",
        expected: "pages with sort updatedAt have times that do not descend",
        work: |run| sorted_pages(run).boxed(),
    },
];

async fn by_number(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_filter(OrderOperation::GetOrders, "orderNumbers")?;
    let (first, second) = (run.create_order().await?, run.create_order().await?);
    let number = text(&first.order, "orderNumber");
    if number.is_empty() {
        return failed("a new order has no orderNumber");
    }
    finds_first(run, json!({ "orderNumbers": [number] }), (&first, &second)).await
}

async fn by_name(run: &mut CheckRun) -> StepResult {
    run.probe.needs_filter(OrderOperation::GetOrders, "names")?;
    let name = run.probe.id();
    let named = json!({ "name": format!("#{name}") });
    let (first, second) = (run.create_with(named).await?, run.create_order().await?);
    let filters = json!({ "names": [name.to_uppercase()] });
    finds_first(run, filters, (&first, &second)).await
}

async fn by_tracking(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_filter(OrderOperation::GetOrders, "trackingNumbers")?;
    run.probe.needs(&[OrderOperation::FulfillOrder])?;
    let (first, second) = (run.create_order().await?, run.create_order().await?);
    let mut numbers = Vec::new();
    for order in [&first, &second] {
        let number = run.probe.id();
        let arguments = json!({ "orderId": order.id, "trackingNumbers": [number] });
        run.step(OrderOperation::FulfillOrder, arguments).await?;
        numbers.push(number);
    }
    let filters = json!({ "trackingNumbers": [numbers[0]] });
    finds_first(run, filters, (&first, &second)).await
}

async fn by_customer(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_filter(OrderOperation::GetOrders, "customerIds")?;
    let email = format!("{}@example.com", run.probe.id());
    let other = json!({ "customer": { "email": email } });
    let (first, second) = (run.create_with(other).await?, run.create_order().await?);
    let id = text(&first.order["customer"], "id");
    if id.is_empty() {
        return skipped("customers of orders have no id");
    }
    finds_first(run, json!({ "customerIds": [id] }), (&first, &second)).await
}

/// Returns a customer with a last name of its own.
fn person(run: &CheckRun) -> (String, Value) {
    let last = run.probe.id();
    let email = format!("{last}@example.com");
    let customer = json!({ "email": email, "firstName": "Kim  Lee", "lastName": last });
    (last, customer)
}

async fn by_customer_name(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_filter(OrderOperation::GetOrders, "customerNames")?;
    let (last, customer) = person(run);
    let first = run.create_with(json!({ "customer": customer })).await?;
    let second = run.create_order().await?;
    let mut found = String::new();
    for name in [
        format!("kim lee {last}"),
        format!("{}, KIM LEE", last.to_uppercase()),
        last,
    ] {
        let filters = json!({ "customerNames": [name] });
        found = finds_first(run, filters, (&first, &second)).await?;
    }
    Ok(found)
}

async fn by_phone(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_filter(OrderOperation::GetOrders, "phones")?;
    let digits = run.probe.digits();
    let address = json!({
        "address1": "Check 1", "city": "Berlin", "country": "DE", "phone": format!("+49 30/{digits}")
    });
    let first = run
        .create_with(json!({ "shippingAddress": address }))
        .await?;
    let second = run.create_order().await?;
    let filters = json!({ "phones": [format!("030 {digits}")] });
    finds_first(run, filters, (&first, &second)).await
}

async fn by_payment(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_filter(OrderOperation::GetOrders, "paymentStatuses")?;
    let payments = json!([{ "reference": run.probe.id(), "method": "card", "amount": "3" }]);
    let first = run.create_with(json!({ "payments": payments })).await?;
    let second = run.create_order().await?;
    let filters = json!({ "paymentStatuses": ["paid"] });
    finds_first(run, filters, (&first, &second)).await?;
    let filters = json!({ "paymentStatuses": ["unpaid", "partially-paid"] });
    finds_first(run, filters, (&second, &first)).await
}

async fn by_change(run: &mut CheckRun) -> StepResult {
    run.probe.needs_filter(OrderOperation::GetOrders, "sort")?;
    run.probe.needs(&[OrderOperation::UpdateOrder])?;
    let (first, second) = (run.create_order().await?, run.create_order().await?);
    sleep(CLOCK_STEP).await;
    run.update(&first, json!({ "notes": "changed" })).await?;
    let mut filters = run.only(&[&first, &second])?;
    for (sort, expected) in [
        ("updatedAt", [&second.id, &first.id]),
        ("createdAt", [&first.id, &second.id]),
    ] {
        filters["sort"] = json!(sort);
        let page = run
            .probe
            .page(OrderOperation::GetOrders, 10, filters.clone());
        let ids: Vec<_> = page.await?.0.iter().map(|one| text(one, "id")).collect();
        if ids.iter().ne(expected) {
            return failed(format!(
                "{} orders by {sort}, or in another order",
                ids.len()
            ));
        }
    }
    Ok(String::from("the changed order is last"))
}

/// Checks that a query for customers finds the one of an order, and nobody else.
async fn finds_customer(run: &CheckRun, order: &Value, filters: Value) -> StepResult {
    let page = run.probe.page(OrderOperation::GetCustomers, 10, filters);
    let (found, _) = page.await?;
    let ids: Vec<_> = found.iter().map(|one| text(one, "id")).collect();
    match ids == [text(&order["customer"], "id")] {
        true => Ok(String::from("found the customer")),
        false => failed(format!("{} customers, or another", ids.len())),
    }
}

async fn customers_by_name(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_filter(OrderOperation::GetCustomers, "names")?;
    let (last, customer) = person(run);
    let order = run.create_with(json!({ "customer": customer })).await?;
    let filters = json!({ "names": [last.to_uppercase()] });
    finds_customer(run, &order.order, filters).await
}

async fn customers_by_phone(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_filter(OrderOperation::GetCustomers, "phones")?;
    let (_, mut customer) = person(run);
    let digits = run.probe.digits();
    customer["phone"] = json!(format!("+49 30/{digits}"));
    let order = run.create_with(json!({ "customer": customer })).await?;
    let filters = json!({ "phones": [format!("030 {digits}")] });
    finds_customer(run, &order.order, filters).await
}

/// Checks that a query finds one entity alone.
async fn finds_one(
    run: &CheckRun,
    operation: OrderOperation,
    filters: Value,
    id: &str,
) -> StepResult {
    let (found, _) = run.probe.page(operation, 10, filters).await?;
    let ids: Vec<_> = found.iter().map(|one| text(one, "id")).collect();
    match ids == [id] {
        true => Ok(format!("found one by {}", operation.name())),
        false => failed(format!("{} entities, or another", ids.len())),
    }
}

async fn fulfillments_by_tracking(run: &mut CheckRun) -> StepResult {
    let operation = OrderOperation::GetFulfillments;
    run.probe.needs_filter(operation, "trackingNumbers")?;
    run.probe.needs(&[OrderOperation::FulfillOrder])?;
    let mut made = Vec::new();
    for _ in 0..2 {
        let (order, number) = (run.create_order().await?, run.probe.id());
        let arguments = json!({ "orderId": order.id, "trackingNumbers": [number, "CHECK-2"] });
        let sent = run.step(OrderOperation::FulfillOrder, arguments).await?;
        made.push((number, text(&sent, "id")));
    }
    let filters = json!({ "trackingNumbers": [made[0].0] });
    finds_one(run, operation, filters, &made[0].1).await
}

/// Creates returns of two orders. Returns each with the id of its order.
async fn two_returns(
    run: &mut CheckRun,
    outcomes: [&str; 2],
    filter: &str,
) -> StepResult<[(String, String); 2]> {
    run.probe.needs_filter(OrderOperation::GetReturns, filter)?;
    run.probe
        .needs_filter(OrderOperation::GetReturns, "orderIds")?;
    run.probe.needs(&[OrderOperation::CreateReturn])?;
    let mut made: [(String, String); 2] = Default::default();
    for (outcome, made) in outcomes.into_iter().zip(&mut made) {
        let order = run.create_shipped().await?;
        let lines = quantities(&run.sku().await?, 1);
        let arguments = json!({ "orderId": order.id, "lineItems": lines, "outcome": outcome });
        let returned = run.step(OrderOperation::CreateReturn, arguments).await?;
        *made = (text(&returned, "id"), order.id);
    }
    Ok(made)
}

async fn returns_by_outcome(run: &mut CheckRun) -> StepResult {
    let [first, second] = two_returns(run, ["store-credit", "refund"], "outcomes").await?;
    let filters = json!({ "orderIds": [first.1, second.1], "outcomes": ["store-credit"] });
    finds_one(run, OrderOperation::GetReturns, filters, &first.0).await
}

async fn returns_by_status(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_feature(Feature::Returns, &[OrderOperation::UpdateOrder])?;
    let [first, second] = two_returns(run, ["refund", "refund"], "statuses").await?;
    let step = json!({ "returns": [{ "id": first.0, "status": "received" }] });
    let arguments = json!({ "orderId": first.1, "updates": step });
    run.step(OrderOperation::UpdateOrder, arguments).await?;
    for (status, id) in [("received", &first.0), ("requested", &second.0)] {
        let filters = json!({ "orderIds": [first.1, second.1], "statuses": [status] });
        finds_one(run, OrderOperation::GetReturns, filters, id).await?;
    }
    Ok(String::from("received and requested"))
}

async fn sorted_pages(run: &mut CheckRun) -> StepResult {
    let mut queried = Vec::new();
    for operation in [
        OrderOperation::GetOrders,
        OrderOperation::GetCustomers,
        OrderOperation::GetFulfillments,
        OrderOperation::GetReturns,
    ] {
        if run.probe.needs_filter(operation, "sort").is_err() {
            continue;
        }
        // The comparison of the page refuses times that descend.
        let sort = json!({ "sort": "updatedAt" });
        run.probe.page(operation, 100, sort).await?;
        queried.push(operation.name());
    }
    match queried.is_empty() {
        true => skipped("no query declares sort"),
        false => Ok(format!("so by {}", queried.join(", "))),
    }
}
