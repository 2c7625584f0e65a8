//! Checks of the features that an order system declares: lines, tax, discounts, shipping, payments,
//! edits, steps of returns, exchanges and phones.

use super::probe::{StepResult, failed, shown};
use super::test_orders::{TestOrder, has, quantities, text};
use super::{Check, CheckRun};
use crate::OrderOperation;
use crate::model::Feature;
use futures_util::FutureExt as _;
use serde_json::{Value, json};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "line-numbers",
        expected: "lines of one SKU have numbers, by which one of them is cancelled",
        work: |run| line_numbers(run).boxed(),
    },
    Check {
        name: "tax",
        expected: "taxes are added up, and added to the total unless they are included; a wrong taxTotal is refused",
        work: |run| tax(run).boxed(),
    },
    Check {
        name: "order-discount",
        expected: "a discount off the whole order is subtracted, unless it exceeds the lines",
        work: |run| order_discount(run).boxed(),
    },
    Check {
        name: "shipping",
        expected: "the price of the delivery is added to the total, and can be changed until the order is shipped",
        work: |run| shipping(run).boxed(),
    },
    Check {
        name: "payments",
        expected: "an authorized payment is captured under its reference; a captured one is PAYMENT_REFERENCE_CONFLICT",
        work: |run| payments(run).boxed(),
    },
    Check {
        name: "refunds",
        expected: "refunds are recorded up to what was paid, then REFUND_EXCEEDS_PAID with context.availableAmount",
        work: |run| refunds(run).boxed(),
    },
    Check {
        name: "edit-lines",
        expected: "a quantity is set and the totals follow; used units are QUANTITY_EXCEEDS_OPEN, the last line stays",
        work: |run| edit_lines(run).boxed(),
    },
    Check {
        name: "return-steps",
        expected: "a return is requested, received and completed; every other step is INVALID_RETURN_STATE with context.returnStatus",
        work: |run| return_steps(run).boxed(),
    },
    Check {
        name: "return-declined",
        expected: "units of a declined return can be returned again; a return of another order is RETURN_NOT_FOUND",
        work: |run| return_declined(run).boxed(),
    },
    Check {
        name: "exchange",
        expected: "an exchange creates an order with exchangeFor, or nothing at all if stock is short",
        work: |run| exchange(run).boxed(),
    },
    Check {
        name: "customer-phone",
        expected: "the phone number of a customer is shown in the order",
        work: |run| customer_phone(run).boxed(),
    },
];

/// Checks amounts of an order.
fn has_amounts(order: &Value, amounts: &[(&str, &str)]) -> StepResult<()> {
    let mut amounts = amounts.iter();
    amounts.try_for_each(|(name, amount)| has(order, name, &json!(amount)))
}

/// Checks that an order with these members is refused and not made.
async fn refuses_order(run: &mut CheckRun, members: Value) -> StepResult {
    let external = run.probe.id();
    let mut arguments = run.order(&external).await?;
    for (name, value) in members.as_object().into_iter().flatten() {
        arguments["order"][name] = value.clone();
    }
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

async fn line_numbers(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_feature(Feature::Lines, &[OrderOperation::CancelOrder])?;
    let sku = run.sku().await?;
    let line = json!({ "sku": sku, "quantity": 2, "unitPrice": "1" });
    let order = run
        .create_with(json!({ "lineItems": [line, line] }))
        .await?;
    let numbers: Vec<_> = [0, 1]
        .map(|index| order.order["lineItems"][index]["line"].as_i64())
        .into();
    let [Some(first), Some(second)] = numbers[..] else {
        return failed("two lines of one SKU do not have two numbers");
    };
    if first == second {
        return failed("two lines have the same number");
    }
    let lines = json!([{ "sku": sku, "quantity": 1, "line": second }]);
    let arguments = json!({ "orderId": order.id, "lineItems": lines });
    let order = run.step(OrderOperation::CancelOrder, arguments).await?;
    has(&order["lineItems"][0], "cancelledQuantity", &json!(0))?;
    has(&order["lineItems"][1], "cancelledQuantity", &json!(1))?;
    Ok(format!("lines {first} and {second}"))
}

async fn tax(run: &mut CheckRun) -> StepResult {
    run.probe.needs_feature(Feature::Tax, &[])?;
    let sku = run.sku().await?;
    let lines = json!([{ "sku": sku, "quantity": 2, "unitPrice": "5", "tax": "1.9" }]);
    let mut members = json!({ "lineItems": lines, "orderTax": "0.1" });
    let order = run.create_with(members.clone()).await?;
    has_amounts(&order.order, &[("taxTotal", "2"), ("total", "12")])?;
    members["taxIncluded"] = json!(true);
    let order = run.create_with(members.clone()).await?;
    has_amounts(&order.order, &[("taxTotal", "2"), ("total", "10")])?;
    members["taxTotal"] = json!("3");
    refuses_order(run, members).await
}

async fn order_discount(run: &mut CheckRun) -> StepResult {
    run.probe.needs_feature(Feature::Discounts, &[])?;
    let order = run.create_with(json!({ "orderDiscount": "1" })).await?;
    has_amounts(&order.order, &[("discountTotal", "4"), ("total", "2")])?;
    refuses_order(run, json!({ "orderDiscount": "4" })).await
}

async fn shipping(run: &mut CheckRun) -> StepResult {
    let operations = [OrderOperation::UpdateOrder, OrderOperation::FulfillOrder];
    run.probe.needs_feature(Feature::Shipping, &operations)?;
    let delivery = json!({ "carrier": "Check", "service": "slow", "price": "4.9" });
    let order = run.create_with(json!({ "shipping": delivery })).await?;
    has_amounts(&order.order, &[("shippingTotal", "4.9"), ("total", "7.9")])?;
    let cheaper = json!({ "shipping": { "price": "4" } });
    let updated = run.update(&order, cheaper.clone()).await?;
    has_amounts(&updated, &[("shippingTotal", "4"), ("total", "7")])?;
    has(&updated["shipping"], "carrier", &json!("Check"))?;
    let arguments = json!({ "orderId": order.id, "carrier": "Check", "service": "fast" });
    run.step(OrderOperation::FulfillOrder, arguments).await?;
    let arguments = json!({ "orderId": order.id, "updates": cheaper });
    run.refused_with(
        OrderOperation::UpdateOrder,
        arguments,
        "INVALID_ORDER_STATE",
        ("status", json!("shipped")),
    )
    .await
}

fn payment(reference: &str, amount: &str, status: &str) -> Value {
    json!([{ "reference": reference, "method": "card", "amount": amount, "status": status }])
}

async fn payments(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_feature(Feature::Payments, &[OrderOperation::UpdateOrder])?;
    let (first, second) = (run.probe.id(), run.probe.id());
    let authorized = payment(&first, "3", "authorized");
    let order = run.create_with(json!({ "payments": authorized })).await?;
    has(&order.order, "paymentStatus", &json!("unpaid"))?;
    let captured = json!({ "payments": payment(&first, "2", "captured") });
    let updated = run.update(&order, captured.clone()).await?;
    has(&updated, "paymentStatus", &json!("partially-paid"))?;
    has_amounts(&updated, &[("paidTotal", "2")])?;
    let more = json!({ "payments": payment(&second, "1", "captured") });
    let updated = run.update(&order, more).await?;
    has(&updated, "paymentStatus", &json!("paid"))?;
    has_amounts(&updated, &[("paidTotal", "3")])?;
    let arguments = json!({ "orderId": order.id, "updates": captured });
    let code = "PAYMENT_REFERENCE_CONFLICT";
    run.refused(OrderOperation::UpdateOrder, arguments, code)
        .await
}

async fn refunds(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_feature(Feature::Payments, &[OrderOperation::UpdateOrder])?;
    let paid = payment(&run.probe.id(), "3", "captured");
    let order = run.create_with(json!({ "payments": paid })).await?;
    let refund = |amount: &str, reference: String| json!({ "refunds": [{ "amount": amount, "reference": reference }] });
    let updated = run.update(&order, refund("1", run.probe.id())).await?;
    has(&updated, "paymentStatus", &json!("partially-refunded"))?;
    let arguments = json!({ "orderId": order.id, "updates": refund("2.01", run.probe.id()) });
    let left = ("availableAmount", json!("2"));
    let code = "REFUND_EXCEEDS_PAID";
    run.refused_with(OrderOperation::UpdateOrder, arguments, code, left)
        .await?;
    let updated = run.update(&order, refund("2", run.probe.id())).await?;
    has(&updated, "paymentStatus", &json!("refunded"))?;
    has_amounts(&updated, &[("refundedTotal", "3")])?;
    Ok(String::from("one, then the rest"))
}

async fn edit_lines(run: &mut CheckRun) -> StepResult {
    let operations = [OrderOperation::UpdateOrder, OrderOperation::CancelOrder];
    run.probe.needs_feature(Feature::Edits, &operations)?;
    let (order, sku) = (run.create_order().await?, run.sku().await?);
    let updated = run
        .update(&order, json!({ "lineItems": quantities(&sku, 5) }))
        .await?;
    has(&updated["lineItems"][0], "quantity", &json!(5))?;
    has_amounts(&updated, &[("subTotal", "10"), ("total", "5")])?;
    let edit = |quantity: i64| json!({ "orderId": order.id, "updates": { "lineItems": quantities(&sku, quantity) } });
    let key = run.probe.key();
    let seen = run
        .probe
        .ask(OrderOperation::UpdateOrder, &key, &edit(0))
        .await?;
    if !matches!(seen.status(), 400..=499) {
        return failed(format!("{}, which leaves no line", seen.words()));
    }
    let part = json!({ "orderId": order.id, "lineItems": quantities(&sku, 2) });
    run.step(OrderOperation::CancelOrder, part).await?;
    let open = ("available", json!(3));
    let code = "QUANTITY_EXCEEDS_OPEN";
    run.refused_with(OrderOperation::UpdateOrder, edit(1), code, open)
        .await?;
    let rest = json!({ "orderId": order.id });
    run.step(OrderOperation::CancelOrder, rest).await?;
    let status = ("status", json!("cancelled"));
    let code = "INVALID_ORDER_STATE";
    run.refused_with(OrderOperation::UpdateOrder, edit(6), code, status)
        .await
}

/// Creates a shipped order and a return of one unit of it.
async fn returned(run: &mut CheckRun) -> StepResult<(TestOrder, Value)> {
    let operations = [OrderOperation::UpdateOrder, OrderOperation::CreateReturn];
    run.probe.needs_feature(Feature::Returns, &operations)?;
    let order = run.create_shipped().await?;
    let lines = json!([{ "sku": run.sku().await?, "quantity": 1, "reason": "damaged" }]);
    let arguments = json!({
        "orderId": order.id, "lineItems": lines, "outcome": "refund", "note": "checked",
        "refundAmount": "0.5"
    });
    let made = run.step(OrderOperation::CreateReturn, arguments).await?;
    has(&made, "status", &json!("requested"))?;
    has(&made, "refundAmount", &json!("0.5"))?;
    Ok((order, made))
}

/// Returns the arguments of a step of a return.
fn step(order: &TestOrder, returned: &Value, status: &str) -> Value {
    let steps = json!([{ "id": returned["id"], "status": status }]);
    json!({ "orderId": order.id, "updates": { "returns": steps } })
}

async fn return_steps(run: &mut CheckRun) -> StepResult {
    let (order, made) = returned(run).await?;
    for status in ["received", "completed"] {
        run.step(OrderOperation::UpdateOrder, step(&order, &made, status))
            .await?;
    }
    if run
        .probe
        .needs_filter(OrderOperation::GetReturns, "ids")
        .is_ok()
    {
        let filters = json!({ "ids": [made["id"]] });
        let page = run.probe.page(OrderOperation::GetReturns, 5, filters);
        let (found, _) = page.await?;
        let stored = found.first().cloned().unwrap_or_default();
        has(&stored, "status", &json!("completed"))?;
        has(&stored, "note", &json!("checked"))?;
    }
    let completed = ("returnStatus", json!("completed"));
    let declined = step(&order, &made, "declined");
    let code = "INVALID_RETURN_STATE";
    run.refused_with(OrderOperation::UpdateOrder, declined, code, completed)
        .await
}

async fn return_declined(run: &mut CheckRun) -> StepResult {
    let (order, made) = returned(run).await?;
    let declined = step(&order, &made, "declined");
    let updated = run.step(OrderOperation::UpdateOrder, declined).await?;
    has(&updated["lineItems"][0], "returnedQuantity", &json!(0))?;
    let other = run.create_order().await?;
    let foreign = step(&other, &made, "received");
    run.refused(OrderOperation::UpdateOrder, foreign, "RETURN_NOT_FOUND")
        .await
}

async fn exchange(run: &mut CheckRun) -> StepResult {
    run.probe
        .needs_feature(Feature::Exchange, &[OrderOperation::CreateReturn])?;
    let (order, sku) = (run.create_shipped().await?, run.sku().await?);
    let arguments = |count: i64| {
        json!({
            "orderId": order.id, "lineItems": quantities(&sku, 1), "outcome": "exchange",
            "exchangeLineItems": quantities(&sku, count)
        })
    };
    let code = "INSUFFICIENT_INVENTORY";
    run.refused(OrderOperation::CreateReturn, arguments(1_000_000), code)
        .await?;
    if let Some(stored) = run.read(&order).await? {
        has(&stored["lineItems"][0], "returnedQuantity", &json!(0))?;
    }
    let made = run.step(OrderOperation::CreateReturn, arguments(1)).await?;
    let id = text(&made, "exchangeOrderId");
    if run
        .probe
        .needs_filter(OrderOperation::GetOrders, "ids")
        .is_ok()
    {
        let page = run
            .probe
            .page(OrderOperation::GetOrders, 5, json!({ "ids": [id] }));
        let (found, _) = page.await?;
        let replacement = found.first().cloned().unwrap_or_default();
        has(&replacement, "exchangeFor", &made["id"])?;
        has(&replacement, "status", &json!("pending"))?;
    }
    Ok(format!("{} replaces the goods", shown(&id)))
}

async fn customer_phone(run: &mut CheckRun) -> StepResult {
    run.probe.needs_feature(Feature::Phones, &[])?;
    let email = format!("{}@example.com", run.probe.id());
    let customer = json!({ "email": email, "phone": format!("+49 {}", run.probe.digits()) });
    let order = run.create_with(json!({ "customer": customer })).await?;
    // The comparison of the answer with the request has checked the number.
    Ok(shown(&text(&order.order["customer"], "phone")))
}
