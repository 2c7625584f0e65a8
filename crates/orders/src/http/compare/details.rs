//! The members of changes that an order system declares as features, compared with its answer: tax,
//! shipping, payments, refunds, edits of lines and the details of returns.

use super::amounts::ExactAmount;
use super::changes::{GIVEN, is_amount, is_same_text, is_text};
use super::{Mismatch, must};
use crate::model::{
    CreateReturn, DecimalAmount, LineEdit, LineItem, LineNumber, NewLineItem, NewOrder, NewPayment,
    NewRefund, NewShipping, Order, OrderCustomer, OrderUpdates, Payment, RecordedStatus, Refund,
    Return, ReturnLine, ReturnStatus, Shipping, phone_digits,
};
use std::collections::{BTreeMap, BTreeSet};

const EDIT: &str = "is not the line of the edit";

/// Compares the features of a new order.
pub(super) fn check_created(new: &NewOrder, order: &Order) -> Result<(), Mismatch> {
    check_taxes(&new.line_items, &order.line_items)?;
    check_phone(new.customer.as_ref(), order.customer.as_ref())?;
    check_shipping(new.shipping.as_ref(), order.shipping.as_ref())?;
    for (member, given, shown) in [
        ("orderDiscount", &new.order_discount, &order.order_discount),
        ("orderTax", &new.order_tax, &order.order_tax),
        ("shippingTotal", &new.shipping_total, &order.shipping_total),
        ("taxTotal", &new.tax_total, &order.tax_total),
    ] {
        must(
            is_optional_amount(given.as_ref(), shown.as_ref()),
            member,
            GIVEN,
        )?;
    }
    let included = order.tax_included.unwrap_or(false);
    must(
        new.tax_included.is_none_or(|given| given == included),
        "taxIncluded",
        GIVEN,
    )?;
    let Some(payments) = &new.payments else {
        return Ok(());
    };
    let shown = order.payments.as_deref().unwrap_or_default();
    check_payments(payments, shown)?;
    let given: BTreeSet<&str> = payments.iter().map(|one| one.reference.as_str()).collect();
    must(
        shown.len() == given.len(),
        "payments",
        "of a new order has other entries than the request",
    )
}

/// Compares the features of an update. The steps of returns are not shown in the order.
pub(super) fn check_updated(updates: &OrderUpdates, order: &Order) -> Result<(), Mismatch> {
    check_shipping(updates.shipping.as_ref(), order.shipping.as_ref())?;
    if let Some(payments) = &updates.payments {
        check_payments(payments, order.payments.as_deref().unwrap_or_default())?;
    }
    if let Some(refunds) = &updates.refunds {
        check_refunds(refunds, order.refunds.as_deref().unwrap_or_default())?;
    }
    check_edits(
        updates.line_items.as_deref().unwrap_or_default(),
        &order.line_items,
    )
}

/// Compares an amount whose absence in the answer means zero.
fn is_optional_amount(given: Option<&DecimalAmount>, shown: Option<&String>) -> bool {
    is_amount(given, shown.map_or("0", String::as_str))
}

/// Compares the taxes of lines by SKU, because an order system may merge or split them. It may add
/// the tax of a line for which the request gives none.
fn check_taxes(given: &[NewLineItem], shown: &[LineItem]) -> Result<(), Mismatch> {
    let skus: BTreeSet<&str> = given.iter().map(|line| line.sku.as_str()).collect();
    for sku in skus {
        let of_sku = || given.iter().filter(|line| line.sku == sku);
        let taxes = of_sku().filter_map(|line| line.tax.as_ref());
        let asked: ExactAmount = taxes.map(ExactAmount::of).sum();
        let answered = tax_of(shown.iter().filter(|line| line.sku == sku));
        let fits = match of_sku().all(|line| line.tax.is_some()) {
            true => asked.equals(answered),
            false => asked <= answered,
        };
        must(fits, "lineItems.tax", GIVEN)?;
    }
    Ok(())
}

fn tax_of<'a>(lines: impl Iterator<Item = &'a LineItem>) -> ExactAmount {
    let taxes = lines.filter_map(|line| line.tax.as_deref());
    taxes.map(ExactAmount::parse).sum()
}

/// Compares the phone number of a customer, whatever stands between its digits.
fn check_phone(
    given: Option<&OrderCustomer>,
    shown: Option<&OrderCustomer>,
) -> Result<(), Mismatch> {
    let Some(given) = given.and_then(|customer| customer.phone.as_ref()) else {
        return Ok(());
    };
    let shown = shown.and_then(|customer| customer.phone.as_ref());
    let is_same = |shown: &String| {
        is_same_text(given, shown)
            || (phone_digits(given).is_some() && phone_digits(given) == phone_digits(shown))
    };
    must(shown.is_some_and(is_same), "customer.phone", GIVEN)
}

fn check_shipping(given: Option<&NewShipping>, shown: Option<&Shipping>) -> Result<(), Mismatch> {
    let Some(given) = given else { return Ok(()) };
    let none = Shipping::default();
    let shown = shown.unwrap_or(&none);
    for (member, fits) in [
        ("shipping.carrier", is_text(&given.carrier, &shown.carrier)),
        ("shipping.service", is_text(&given.service, &shown.service)),
        (
            "shipping.instructions",
            is_text(&given.instructions, &shown.instructions),
        ),
        (
            "shipping.price",
            is_optional_amount(given.price.as_ref(), shown.price.as_ref()),
        ),
        (
            "shipping.tax",
            is_optional_amount(given.tax.as_ref(), shown.tax.as_ref()),
        ),
    ] {
        must(fits, member, GIVEN)?;
    }
    Ok(())
}

/// Compares payments by their references. The last entry of a reference counts: it captures what an
/// earlier one authorized.
fn check_payments(given: &[NewPayment], shown: &[Payment]) -> Result<(), Mismatch> {
    let last: BTreeMap<&str, &NewPayment> = given
        .iter()
        .map(|payment| (payment.reference.as_str(), payment))
        .collect();
    let is_shown = |payment: &&NewPayment| {
        let status = payment.status.unwrap_or(RecordedStatus::Captured);
        let mut same = shown
            .iter()
            .filter(|one| one.reference == payment.reference);
        let first = same.next().is_some_and(|one| {
            one.method == payment.method
                && one.status == status
                && is_amount(Some(&payment.amount), &one.amount)
        });
        first && same.next().is_none()
    };
    must(last.values().all(is_shown), "payments", GIVEN)
}

fn check_refunds(given: &[NewRefund], shown: &[Refund]) -> Result<(), Mismatch> {
    let is_shown = |refund: &NewRefund| {
        let mut same = shown.iter().filter(|one| one.reference == refund.reference);
        let first = same.next().is_some_and(|one| {
            is_amount(Some(&refund.amount), &one.amount)
                && is_text(&refund.reason, &one.reason)
                && (refund.return_id.is_none() || refund.return_id == one.return_id)
        });
        first && same.next().is_none()
    };
    must(given.iter().all(is_shown), "refunds", GIVEN)
}

/// Compares edited lines: by their number if every edit of the SKU gives one, otherwise by SKU,
/// because the order then has one line of it. The last edit of a line counts.
fn check_edits(edits: &[LineEdit], shown: &[LineItem]) -> Result<(), Mismatch> {
    let without_number: BTreeSet<&str> = edits
        .iter()
        .filter(|edit| edit.line.is_none())
        .map(|edit| edit.sku.as_str())
        .collect();
    let last: BTreeMap<(&str, Option<i64>), &LineEdit> = edits
        .iter()
        .map(|edit| {
            let number = edit.line.map(LineNumber::get);
            let number = number.filter(|_| !without_number.contains(edit.sku.as_str()));
            ((edit.sku.as_str(), number), edit)
        })
        .collect();
    for ((sku, number), edit) in last {
        let is_edited = |line: &&LineItem| match number {
            Some(number) => line.line == Some(number),
            None => line.sku == sku,
        };
        let lines: Vec<_> = shown.iter().filter(is_edited).collect();
        let units: i128 = lines.iter().map(|line| i128::from(line.quantity)).sum();
        must(
            units == i128::from(edit.quantity.get()),
            "lineItems.quantity",
            EDIT,
        )?;
        must(
            lines.iter().all(|line| line.sku == sku),
            "lineItems.sku",
            EDIT,
        )?;
        if units == 0 {
            continue;
        }
        let (price, discount) = (edit.unit_price.as_ref(), edit.unit_discount.as_ref());
        let tax = edit.tax.as_ref().map(ExactAmount::of);
        let total_tax = tax_of(lines.iter().copied());
        for (member, fits) in [
            (
                "lineItems.unitPrice",
                lines.iter().all(|line| is_amount(price, &line.unit_price)),
            ),
            (
                "lineItems.unitDiscount",
                lines
                    .iter()
                    .all(|line| is_amount(discount, &line.unit_discount)),
            ),
            ("lineItems.tax", tax.is_none_or(|tax| tax.equals(total_tax))),
            (
                "lineItems.name",
                lines.iter().all(|line| is_text(&edit.name, &line.name)),
            ),
        ] {
            must(fits, member, EDIT)?;
        }
    }
    Ok(())
}

/// Compares the details of a new return.
pub(super) fn check_returned(request: &CreateReturn, returned: &Return) -> Result<(), Mismatch> {
    let status = returned.status;
    must(
        status.is_none_or(|status| status == ReturnStatus::Requested),
        "status",
        "is not the one of a new return",
    )?;
    must(is_text(&request.note, &returned.note), "note", GIVEN)?;
    must(
        request.refund_amount.is_none()
            || returned
                .refund_amount
                .as_ref()
                .is_some_and(|shown| is_amount(request.refund_amount.as_ref(), shown)),
        "refundAmount",
        GIVEN,
    )?;
    must(
        request.exchange_line_items.is_none()
            || returned
                .exchange_order_id
                .as_ref()
                .is_some_and(|id| !id.is_empty() && *id != request.order_id),
        "exchangeOrderId",
        "does not name the order of the exchange",
    )?;
    let shown = &returned.line_items;
    let has_reasons = request.line_items.iter().all(|line| {
        let is_same = |one: &ReturnLine| one.sku == line.sku && one.reason == line.reason;
        line.reason.is_none() || sum(&request.line_items, is_same) <= sum(shown, is_same)
    });
    must(has_reasons, "lineItems.reason", GIVEN)?;
    let has_lines = request.line_items.iter().all(|line| {
        let is_same = |one: &ReturnLine| one.sku == line.sku && one.line == line.line;
        line.line.is_none() || sum(&request.line_items, is_same) <= sum(shown, is_same)
    });
    must(has_lines, "lineItems.line", GIVEN)
}

/// Adds up the units of the lines for which `is_same` holds.
fn sum(lines: &[ReturnLine], is_same: impl Fn(&ReturnLine) -> bool) -> i128 {
    let same = lines.iter().filter(|line| is_same(line));
    same.map(|line| i128::from(line.quantity.get())).sum()
}
