//! `update-order`: sets the next status, addresses, lines and other members, records payments and
//! refunds, and moves returns. Everything is checked before anything is written.

use super::create::{read_entries, shown_shipping, with_shipping};
use super::lines::{replace_lines, shift_stock};
use super::payments::PaymentLedger;
use super::return_steps::{self, ReturnEffects, ReturnRow};
use super::{ChangeContext, ChangeResult, line_edits};
use crate::failure::{Failure, OrderRefusal, OrderRule, RefusalReason, RuleViolation};
use crate::model::{
    LineEdit, NewRefund, OrderStatus, OrderUpdates, Totals, TotalsError, UpdateOrder,
};
use crate::sql::errors::TransactionError;
use crate::sql::lookups;
use crate::sql::order::{LineRow, OrderRow, lines, save_order};

pub(super) async fn update(
    mut change: ChangeContext<'_>,
    request: &UpdateOrder,
) -> Result<ChangeResult, TransactionError> {
    let updates = &request.updates;
    let mut order_row = change.lock_order(&request.order_id).await?;
    let keys_before = lookups::of_order(order_row.name.as_deref(), &order_row.details);
    check_states(&order_row, updates)?;
    let mut lines = lines(change.session, &[&order_row.id]).await?;
    let steps = updates.returns.as_deref().unwrap_or_default();
    let refunds = updates.refunds.as_deref().unwrap_or_default();
    let mut returns = match steps.is_empty() && refunds.is_empty() {
        true => Vec::new(),
        false => return_steps::load(&mut change, &order_row.id).await?,
    };
    let edits = updates.line_items.as_deref().unwrap_or_default();
    let restocked = return_steps::skus(steps, &returns);
    // The stock of locations is written below, and variants are locked before it.
    change.session.locks_stock |= !restocked.is_empty();
    let skus = edits.iter().map(|edit| edit.sku.as_str());
    let skus = skus.chain(restocked.iter().map(String::as_str));
    let mut entries = read_entries(change.session, skus, line_edits::FIELD).await?;
    let by_catalogue = order_row.currency == change.currency;
    set_members(&mut order_row, updates);
    let mut shifts = match edits {
        [] => Default::default(),
        edits => line_edits::apply(
            edits,
            &mut order_row,
            &mut lines,
            (&mut entries, by_catalogue),
        )?,
    };
    let (amounts, given) = (order_row.amounts, updates.shipping.as_ref());
    let amounts = with_shipping(amounts, given, order_row.currency, "updates.shipping")?;
    order_row.amounts = amounts;
    let before = order_row.details.shipping.take();
    order_row.details.shipping = shown_shipping(before, given, &amounts, order_row.currency);
    if !edits.is_empty() || given.is_some() {
        order_row.totals = totals(&order_row, &lines, edits)?;
    }
    record_money(&change, &mut order_row, updates, &returns)?;
    let effects =
        return_steps::apply(&mut change, steps, &mut returns, (&mut lines, &mut entries)).await?;
    for (sku, shift) in &effects.shifts {
        shifts.entry(sku.clone()).or_default().on_hand += shift.on_hand;
    }
    if !edits.is_empty() {
        let nothing_open = lines.iter().all(|line| line.open() == 0);
        let anything_left = lines.iter().any(|line| line.fulfilled > 0);
        order_row.status = order_row
            .status
            .after_cancelling(nothing_open, anything_left);
    }
    order_row.updated_at = change.at;
    // Every check has passed. The writes start here.
    if !edits.is_empty() || effects.changes_lines {
        replace_lines(change.session, &order_row, &lines).await?;
    }
    save(&mut change, &order_row, (&returns, &effects), keys_before).await?;
    shift_stock(change.session, &shifts);
    let id = order_row.id.clone();
    ChangeResult::new(&order_row.into_entity(lines), &id)
}

fn invalid_state(order_row: &OrderRow, field: &str) -> Failure {
    let refused = OrderRefusal::from(RefusalReason::InvalidOrderState).at(field);
    refused.in_status(order_row.status).into()
}

/// Checks that the order's status allows the updates.
fn check_states(order_row: &OrderRow, updates: &OrderUpdates) -> Result<(), Failure> {
    let status = order_row.status;
    let next = updates.status.map(OrderStatus::from);
    if next.is_some_and(|next| !status.may_become(next)) {
        return Err(invalid_state(order_row, "updates.status"));
    }
    let before_shipping = [
        ("updates.lineItems", updates.line_items.is_some()),
        (
            "updates.shippingAddress",
            updates.shipping_address.is_some(),
        ),
        ("updates.shipping", updates.shipping.is_some()),
    ];
    let refused = before_shipping.iter().find(|(_, given)| *given);
    match refused {
        Some((field, _)) if !status.is_open() => Err(invalid_state(order_row, field)),
        _ => Ok(()),
    }
}

/// Sets the members that no other member depends on.
fn set_members(order_row: &mut OrderRow, updates: &OrderUpdates) {
    let updates = updates.clone();
    if let Some(next) = updates.status {
        order_row.status = next.into();
    }
    let details = &mut order_row.details;
    order_row.name = updates.name.or(order_row.name.take());
    details.shipping_address = updates.shipping_address.or(details.shipping_address.take());
    details.billing_address = updates.billing_address.or(details.billing_address.take());
    if let Some(tags) = updates.tags {
        details.tags = tags;
    }
    if let Some(fields) = updates.custom_fields {
        details.custom_fields = fields;
    }
    details.notes = updates.notes.or(details.notes.take());
}

/// Returns the sums of an edited order.
fn totals(order_row: &OrderRow, lines: &[LineRow], edits: &[LineEdit]) -> Result<Totals, Failure> {
    let amounts: Vec<_> = lines.iter().map(LineRow::amounts).collect();
    let broken = |error| match error {
        TotalsError::Digits => RuleViolation::new(line_edits::FIELD, OrderRule::Digits),
        TotalsError::Discount => RuleViolation::new(line_edits::FIELD, OrderRule::OrderDiscount),
        TotalsError::ShippingTax => RuleViolation::new("updates.shipping.tax", OrderRule::Tax),
        TotalsError::LineTax(index) => {
            // The edit of the line that is overtaxed: the last one of its SKU.
            let sku = lines.get(index).map(|line| &line.sku);
            let edit = edits.iter().rposition(|edit| Some(&edit.sku) == sku);
            let field = edit.map_or(line_edits::FIELD.to_owned(), |edit| {
                format!("{}.{edit}.tax", line_edits::FIELD)
            });
            RuleViolation::new(field, OrderRule::Tax)
        }
    };
    Ok(Totals::of(&amounts, &order_row.amounts).map_err(broken)?)
}

/// Records payments, then refunds.
fn record_money(
    change: &ChangeContext<'_>,
    order_row: &mut OrderRow,
    updates: &OrderUpdates,
    returns: &[ReturnRow],
) -> Result<(), Failure> {
    const PAYMENTS: &str = "updates.payments";
    const REFUNDS: &str = "updates.refunds";
    let currency = order_row.currency;
    let mut ledger = PaymentLedger {
        payments: std::mem::take(&mut order_row.details.payments),
        refunds: std::mem::take(&mut order_row.details.refunds),
    };
    if let Some(payments) = &updates.payments {
        let next_id = || change.ids.next("pay", change.at);
        ledger.record_payments(payments, (currency, change.at, PAYMENTS), next_id)?;
    }
    if let Some(refunds) = &updates.refunds {
        check_returns(refunds, returns)?;
        let next_id = || change.ids.next("ref", change.at);
        ledger.record_refunds(refunds, (currency, change.at, REFUNDS), next_id)?;
    }
    order_row.paid_total = ledger.paid_total(currency, PAYMENTS)?;
    order_row.refunded_total = ledger.refunded_total(currency, REFUNDS)?;
    order_row.details.payments = ledger.payments;
    order_row.details.refunds = ledger.refunds;
    Ok(())
}

/// Checks that the returns of refunds belong to the order.
fn check_returns(refunds: &[NewRefund], returns: &[ReturnRow]) -> Result<(), Failure> {
    for (index, refund) in refunds.iter().enumerate() {
        let Some(id) = &refund.return_id else {
            continue;
        };
        if !returns.iter().any(|row| row.id == *id) {
            let field = format!("updates.refunds.{index}.returnId");
            return Err(OrderRefusal::from(RefusalReason::ReturnNotFound)
                .at(field)
                .into());
        }
    }
    Ok(())
}

/// Stores the order, its lookup keys and its returns.
async fn save(
    change: &mut ChangeContext<'_>,
    order_row: &OrderRow,
    (returns, effects): (&[ReturnRow], &ReturnEffects),
    keys_before: lookups::LookupKeys,
) -> Result<(), TransactionError> {
    save_order(change.session, order_row).await?;
    let keys = lookups::of_order(order_row.name.as_deref(), &order_row.details);
    let order = (order_row.id.as_str(), order_row.created_at);
    lookups::replace(change.session, order, &keys_before, &keys).await?;
    return_steps::save(change, returns, effects).await
}
