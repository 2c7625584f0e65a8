//! `create-return`: records returned units, and orders their replacement. The stock does not change
//! until the goods are received.

use super::create::{OrderDraft, check_stock, place, read_entries};
use super::lines::{add_units, allocate, move_stock};
use super::{ChangeContext, ChangeResult};
use crate::failure::{Failure, OrderRefusal, OrderRule, RefusalReason, RuleViolation};
use crate::model::{
    CreateReturn, ExchangeLine, LineQuantity, Money, OrderAmounts, Return, ReturnOutcome,
    ReturnStatus, Totals, to_money,
};
use crate::sql::connection::{get_number, sql};
use crate::sql::errors::TransactionError;
use crate::sql::order::{LineRow, OrderDetails, OrderRow, lines};
use crate::sql::stored_details::ReturnDetails;
use candor_fault::to_json;
use std::collections::BTreeMap;

/// The path of the lines of a replacement.
const EXCHANGE: &str = "exchangeLineItems";

fn returnable(line: &LineRow) -> i64 {
    line.fulfilled - line.returned
}

pub(super) async fn create_return(
    mut change: ChangeContext<'_>,
    request: &CreateReturn,
) -> Result<ChangeResult, TransactionError> {
    let order_row = change.lock_order(&request.order_id).await?;
    let lines = lines(change.session, &[&order_row.id]).await?;
    let requested: Vec<_> = request.line_items.iter().map(quantity).collect();
    let exceeds = (RefusalReason::ReturnExceedsFulfilled, order_row.status);
    let units_per_line = allocate(&lines, Some(&requested), returnable, exceeds)?;
    let refund_amount =
        refund_amount(&mut change, request, &order_row, (&lines, &units_per_line)).await?;
    let exchange = match request.exchange_line_items.as_deref() {
        Some(wanted) => Some(price_exchange(&mut change, wanted, &order_row).await?),
        None => None,
    };
    // Every check has passed. The writes start here.
    let id = change.ids.next("ret", change.at);
    add_units(change.session, &lines, &units_per_line, "returned").await?;
    let exchange_order_id = match exchange {
        Some((draft, units)) => {
            let exchange_for = Some(id.clone());
            let (placed, _) = place(
                &mut change,
                OrderDraft {
                    exchange_for,
                    ..draft
                },
            )
            .await?;
            move_stock(change.session, &units, (0, 1));
            Some(placed.id)
        }
        None => None,
    };
    change
        .session
        .execute(
            sql("UPDATE orders SET updated_at = $1 WHERE id = $2")
                .bind(change.at.micros())
                .bind(order_row.id.clone()),
        )
        .await?;
    let returned = Return {
        id,
        order_id: order_row.id,
        outcome: request.outcome,
        status: Some(ReturnStatus::Requested),
        line_items: request.line_items.clone(),
        note: request.note.clone(),
        refund_amount: Some(refund_amount.text(order_row.currency)),
        exchange_order_id,
        restock_location_id: None,
        created_at: change.at,
        updated_at: change.at,
    };
    let units: Vec<_> = lines
        .iter()
        .zip(&units_per_line)
        .filter(|(_, units)| **units > 0)
        .map(|(line, units)| (line.line, *units))
        .collect();
    insert(&mut change, &returned, (refund_amount, units)).await?;
    ChangeResult::new(&returned, &returned.order_id)
}

fn quantity(line: &crate::model::ReturnLine) -> LineQuantity {
    LineQuantity {
        sku: line.sku.clone(),
        quantity: line.quantity,
        line: line.line,
    }
}

/// Returns the amount that the customer is to get back: the caller's, if the order has that much
/// left, otherwise the price of the units for a refund.
async fn refund_amount(
    change: &mut ChangeContext<'_>,
    request: &CreateReturn,
    order_row: &OrderRow,
    (lines, units_per_line): (&[LineRow], &[i64]),
) -> Result<Money, TransactionError> {
    let currency = order_row.currency;
    let given = to_money("refundAmount", request.refund_amount.as_ref(), currency);
    if let Some(given) = given.map_err(Failure::from)? {
        let others = sql(
            "SELECT CAST(COALESCE(SUM(refund_amount), 0) AS BIGINT) FROM returns
             WHERE order_id = $1 AND status <> 'declined'",
        );
        let others = change
            .session
            .first(others.bind(order_row.id.clone()))
            .await?;
        let others = others.map_or(Ok(0), |row| get_number(&row, 0))?;
        let left = (order_row.totals.total.minor() - others).max(0);
        if given.minor() > left {
            let left = Money::of_minor(left.into()).unwrap_or_default();
            let refused = OrderRefusal::from(RefusalReason::RefundExceedsPaid).at("refundAmount");
            return Err(Failure::from(refused.having_amount(left.text(currency))).into());
        }
        return Ok(given);
    }
    if request.outcome != ReturnOutcome::Refund {
        return Ok(Money::default());
    }
    let price = |(line, units): (&LineRow, &i64)| {
        let net = line.unit_price.minor() - line.unit_discount.minor();
        i128::from(net) * i128::from(*units)
    };
    let sum: i128 = lines.iter().zip(units_per_line).map(price).sum();
    let too_large = || RuleViolation::new("lineItems", OrderRule::Digits);
    Ok(Money::of_minor(sum).ok_or_else(|| Failure::from(too_large()))?)
}

/// Returns the order that replaces the goods, and the units that it reserves.
async fn price_exchange(
    change: &mut ChangeContext<'_>,
    wanted: &[ExchangeLine],
    order_row: &OrderRow,
) -> Result<(OrderDraft, BTreeMap<String, i64>), TransactionError> {
    let currency = order_row.currency;
    let skus = wanted.iter().map(|line| line.sku.as_str());
    let entries = read_entries(change.session, skus, EXCHANGE).await?;
    let by_catalogue = currency == change.currency;
    let mut lines = Vec::with_capacity(wanted.len());
    for (index, line) in wanted.iter().enumerate() {
        let field = format!("{EXCHANGE}.{index}.unitPrice");
        let given = to_money(&field, line.unit_price.as_ref(), currency).map_err(Failure::from)?;
        let entry = entries.get(&line.sku);
        let catalogue = entry.map(|entry| entry.price).filter(|_| by_catalogue);
        let unpriced = || Failure::from(RuleViolation::new(field, OrderRule::CatalogueCurrency));
        lines.push(LineRow {
            order_id: String::new(),
            line: i64::try_from(index).unwrap_or(i64::MAX),
            sku: line.sku.clone(),
            name: entry.map(|entry| entry.name.clone()),
            quantity: line.quantity.get(),
            unit_price: given.or(catalogue).ok_or_else(unpriced)?,
            unit_discount: Money::default(),
            fulfilled: 0,
            cancelled: 0,
            returned: 0,
            tax: Money::default(),
        });
    }
    let amounts: Vec<_> = lines.iter().map(LineRow::amounts).collect();
    let too_large = |_| Failure::from(RuleViolation::new(EXCHANGE, OrderRule::Digits));
    let totals = Totals::of(&amounts, &OrderAmounts::default()).map_err(too_large)?;
    let units = wanted
        .iter()
        .map(|line| (line.sku.as_str(), line.quantity.get()));
    let units = check_stock(units, &entries, EXCHANGE)?;
    let details = &order_row.details;
    let draft = OrderDraft {
        external_id: None,
        name: None,
        currency,
        details: OrderDetails {
            customer: details.customer.clone(),
            shipping_address: details.shipping_address.clone(),
            billing_address: details.billing_address.clone(),
            ..OrderDetails::default()
        },
        amounts: OrderAmounts::default(),
        totals,
        paid_total: Money::default(),
        lines,
        exchange_for: None,
    };
    Ok((draft, units))
}

async fn insert(
    change: &mut ChangeContext<'_>,
    returned: &Return,
    (refund_amount, units): (Money, Vec<(i64, i64)>),
) -> Result<(), TransactionError> {
    let details = ReturnDetails {
        line_items: returned.line_items.as_slice().into(),
        note: returned.note.clone(),
        refund_amount: returned.refund_amount.clone(),
        exchange_order_id: returned.exchange_order_id.clone(),
        restock_location_id: None,
        units: units.into(),
    };
    let statement = sql("INSERT INTO returns (id, order_id, outcome, details, created_at, updated_at, status, refund_amount)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")
        .bind(returned.id.clone())
        .bind(returned.order_id.clone())
        .bind(returned.outcome.word())
        .bind(to_json(&details))
        .bind(returned.created_at.micros())
        .bind(returned.updated_at.micros())
        .bind(ReturnStatus::Requested.word())
        .bind(refund_amount.minor());
    change.session.execute(statement).await?;
    Ok(())
}
