//! Rules that every order obeys, whatever was requested: its quantities and its sums.

use super::amounts::ExactAmount;
use super::{Mismatch, must};
use crate::model::{LineItem, Order, RecordedStatus};

const SUM: &str = "is not the sum of its parts";

/// Checks that the quantities and sums of an order do not contradict each other.
pub(in crate::http) fn check_sums(order: &Order) -> Result<(), Mismatch> {
    for (index, line) in order.line_items.iter().enumerate() {
        check_quantities(line)
            .map_err(|(name, rule)| Mismatch::new(format!("lineItems.{index}.{name}"), rule))?;
    }
    let per_unit = |amount: fn(&LineItem) -> &String| -> ExactAmount {
        let lines = order.line_items.iter();
        lines
            .map(|line| ExactAmount::parse(amount(line)).times(line.quantity))
            .sum()
    };
    let shipping = order.shipping.as_ref();
    let price = shipping.and_then(|shipping| shipping.price.as_ref());
    let shipping_tax = shipping.and_then(|shipping| shipping.tax.as_ref());
    let line_taxes = order.line_items.iter().map(|line| given(line.tax.as_ref()));
    let sub_total = per_unit(|line| &line.unit_price);
    let discount_total =
        per_unit(|line| &line.unit_discount).plus(given(order.order_discount.as_ref()));
    let tax_total = line_taxes
        .sum::<ExactAmount>()
        .plus(given(shipping_tax))
        .plus(given(order.order_tax.as_ref()));
    let added_tax = match order.tax_included {
        Some(true) => ExactAmount::ZERO,
        _ => tax_total,
    };
    let total = sub_total
        .minus(discount_total)
        .plus(given(price))
        .plus(added_tax);
    let captured = order.payments.iter().flatten();
    let captured = captured.filter(|payment| payment.status == RecordedStatus::Captured);
    let paid_total = captured
        .map(|payment| ExactAmount::parse(&payment.amount))
        .sum();
    let refunds = order.refunds.iter().flatten();
    let refunded_total = refunds
        .map(|refund| ExactAmount::parse(&refund.amount))
        .sum();
    for (member, stated, sum) in [
        ("subTotal", Some(&order.sub_total), sub_total),
        ("discountTotal", Some(&order.discount_total), discount_total),
        ("shippingTotal", order.shipping_total.as_ref(), given(price)),
        ("taxTotal", order.tax_total.as_ref(), tax_total),
        ("total", Some(&order.total), total),
        ("paidTotal", order.paid_total.as_ref(), paid_total),
        (
            "refundedTotal",
            order.refunded_total.as_ref(),
            refunded_total,
        ),
    ] {
        must(given(stated).equals(sum), member, SUM)?;
    }
    Ok(())
}

/// Returns an amount of an answer. An absent one is zero.
fn given(amount: Option<&String>) -> ExactAmount {
    amount.map_or(ExactAmount::ZERO, |amount| ExactAmount::parse(amount))
}

fn check_quantities(line: &LineItem) -> Result<(), (&'static str, &'static str)> {
    let used = line
        .fulfilled_quantity
        .checked_add(line.cancelled_quantity)
        .unwrap_or(i64::MAX);
    if used > line.quantity {
        return Err((
            "quantity",
            "is less than what was fulfilled and cancelled of it",
        ));
    }
    if line.returned_quantity > line.fulfilled_quantity {
        return Err(("returnedQuantity", "is more than what was fulfilled"));
    }
    Ok(())
}
