//! Rules that every order obeys, whatever was requested: its quantities and its sums.

use super::amounts::ExactAmount;
use super::{Mismatch, must};
use crate::model::{LineItem, Order};

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
    let sub_total = per_unit(|line| &line.unit_price);
    let discount_total = per_unit(|line| &line.unit_discount);
    let total = sub_total.minus(discount_total);
    for (member, stated, sum) in [
        ("subTotal", &order.sub_total, sub_total),
        ("discountTotal", &order.discount_total, discount_total),
        ("total", &order.total, total),
    ] {
        must(ExactAmount::parse(stated).equals(sum), member, SUM)?;
    }
    Ok(())
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
