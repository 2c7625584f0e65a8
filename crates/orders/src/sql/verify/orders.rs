//! Checks each order together with its lines, shipments and returns.

use super::{AT_ONCE, Findings, Invariant};
use crate::failure::Failure;
use crate::model::{Currency, Money, OrderStatus, PaymentStatus, RecordedStatus, ReturnStatus};
use crate::sql::connection::{
    AnyQuery, dynamic_sql, get_json, get_number, get_optional_number, get_optional_text, get_text,
    placeholders,
};
use crate::sql::order::{
    LINE_COLUMNS, LineRow, ORDER_COLUMNS, OrderDetails, OrderRow, line_row, order_row,
};
use crate::sql::personal_data::erased_details;
use crate::sql::store::StoreError;
use crate::sql::stored_details::{FulfillmentDetails, ReturnDetails};
use sqlx::AnyConnection;
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// The columns after those of an order.
const CUSTOMER_ID: usize = 22;
const PAYMENT_STATUS: usize = 23;
const ERASED_AT: usize = 24;

/// The units of each SKU, as lines or movements of goods count them.
type Units = BTreeMap<String, i128>;

/// The rows of one order in the other tables.
#[derive(Default)]
struct OrderParts {
    lines: Vec<LineRow>,
    shipped: Units,
    returned: Units,
}

/// The parts of some orders, by the id of the order.
type PartsById = BTreeMap<String, OrderParts>;

/// Checks all orders, some at a time.
pub(super) async fn check(
    connection: &mut AnyConnection,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut after = String::new();
    loop {
        let orders = dynamic_sql(format!(
            "SELECT {ORDER_COLUMNS}, customer_id, payment_status, erased_at FROM orders
             WHERE id > $1 ORDER BY id LIMIT $2"
        ));
        let orders = orders.bind(after.clone()).bind(AT_ONCE);
        let orders = orders.fetch_all(&mut *connection).await?;
        let Some(last) = orders.last() else {
            return Ok(());
        };
        let last = get_text(last, 0)?;
        let range = (after, last.clone());
        let mut parts = load_parts(connection, &range, findings).await?;
        for row in &orders {
            findings.orders += 1;
            let id = get_text(row, 0)?;
            let parts = parts.remove(&id).unwrap_or_default();
            match order_row(row) {
                Ok(order_row) => {
                    check_order(row, &order_row, &parts, findings)?;
                }
                Err(_) => findings.add(Invariant::OrderRows, id),
            }
        }
        after = last;
    }
}

fn between(columns: &str, table: &str, (after, last): &(String, String)) -> AnyQuery {
    let text = format!("SELECT {columns} FROM {table} WHERE order_id > $1 AND order_id <= $2");
    dynamic_sql(text).bind(after.clone()).bind(last.clone())
}

/// Loads the lines of the orders in a range, and counts what was shipped and returned.
async fn load_parts(
    connection: &mut AnyConnection,
    range: &(String, String),
    findings: &mut Findings,
) -> Result<PartsById, StoreError> {
    let mut parts = PartsById::new();
    let lines = between(LINE_COLUMNS, "order_lines", range);
    for row in lines.fetch_all(&mut *connection).await? {
        let order = get_text(&row, 0)?;
        match line_row(&row) {
            Ok(line) => parts.entry(order).or_default().lines.push(line),
            Err(_) => findings.add(Invariant::OrderRows, order),
        }
    }
    let fulfillments = between("order_id, id, details", "fulfillments", range);
    for row in fulfillments.fetch_all(&mut *connection).await? {
        let (order, id) = order_and_id(&row)?;
        let Ok(details) = get_json::<FulfillmentDetails<'_>>(&row, 2) else {
            findings.add(Invariant::Fulfillments, id);
            continue;
        };
        let shipped = &mut parts.entry(order).or_default().shipped;
        for line in details.line_items.iter() {
            *shipped.entry(line.sku.clone()).or_default() += i128::from(line.quantity);
        }
    }
    let columns = "order_id, id, details, status, refund_amount, outcome";
    let returns = between(columns, "returns", range);
    let mut exchanges = Vec::new();
    for row in returns.fetch_all(&mut *connection).await? {
        let (order, id) = order_and_id(&row)?;
        let parts = parts.entry(order).or_default();
        match count_return(&row, parts) {
            Ok((is_plain, exchange)) => {
                findings.check(is_plain, Invariant::Returns, &id);
                exchanges.extend(exchange.map(|order| (id, order)));
            }
            Err(_) => findings.add(Invariant::Returns, id),
        }
    }
    check_exchanges(connection, &exchanges, findings).await?;
    Ok(parts)
}

fn order_and_id(row: &AnyRow) -> Result<(String, String), StoreError> {
    let ids = get_text(row, 0).and_then(|order| Ok((order, get_text(row, 1)?)));
    ids.map_err(StoreError::from)
}

/// Counts the units of a return that was not declined. Returns whether its status and amount are
/// right, and the order that replaces the goods.
fn count_return(row: &AnyRow, parts: &mut OrderParts) -> Result<(bool, Option<String>), Failure> {
    let details: ReturnDetails<'_> = get_json(row, 2)?;
    let status = ReturnStatus::read(&get_text(row, 3)?);
    if status != Some(ReturnStatus::Declined) {
        for line in details.line_items.iter() {
            let units = parts.returned.entry(line.sku.clone()).or_default();
            *units += i128::from(line.quantity.get());
        }
    }
    let outcome = crate::model::ReturnOutcome::read(&get_text(row, 5)?);
    let amount = get_number(row, 4)?;
    let text = details.refund_amount.as_deref().unwrap_or("0");
    // Only digits are compared, because the currency belongs to the order.
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let is_plain = status.is_some() && outcome.is_some() && digits.parse() == Ok(amount);
    Ok((is_plain, details.exchange_order_id))
}

/// Checks that the orders which replace goods refer to their returns.
async fn check_exchanges(
    connection: &mut AnyConnection,
    exchanges: &[(String, String)],
    findings: &mut Findings,
) -> Result<(), StoreError> {
    for some in exchanges.chunks(AT_ONCE as usize) {
        let query = dynamic_sql(format!(
            "SELECT id, exchange_for FROM orders WHERE id IN ({})",
            placeholders(some.len(), 1)
        ));
        let query = some
            .iter()
            .fold(query, |query, (_, order)| query.bind(order.clone()));
        let mut found = BTreeMap::new();
        for row in query.fetch_all(&mut *connection).await? {
            let order = get_text(&row, 0)?;
            let exchange_for = get_optional_text(&row, 1)?;
            found.insert(order, exchange_for);
        }
        for (id, order) in some {
            let refers_back = found
                .get(order)
                .is_some_and(|back| back.as_ref() == Some(id));
            findings.check(refers_back, Invariant::Exchanges, id);
        }
    }
    Ok(())
}

fn check_order(
    row: &AnyRow,
    order: &OrderRow,
    parts: &OrderParts,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let id = order.id.as_str();
    findings.check(!parts.lines.is_empty(), Invariant::OrderLines, id);
    for line in &parts.lines {
        findings.check(has_fitting_quantities(line), Invariant::LineQuantities, id);
        let net = i128::from(line.unit_price.minor()) - i128::from(line.unit_discount.minor());
        let tax = i128::from(line.tax.minor());
        let is_within = (0..=i128::from(line.quantity) * net).contains(&tax);
        findings.check(is_within, Invariant::LineTax, id);
        let is_numbered = line.line < order.next_line;
        findings.check(is_numbered, Invariant::LineNumbers, id);
    }
    findings.check(has_sums(order, &parts.lines), Invariant::OrderSums, id);
    findings.check(has_status(order, &parts.lines), Invariant::OrderStatus, id);
    let payment_status = get_text(row, PAYMENT_STATUS)?;
    let is_paid = has_payments(order, &payment_status);
    findings.check(is_paid, Invariant::Payments, id);
    check_units(id, parts, findings);
    let customer = order.details.customer.as_ref();
    let customer_id = customer.and_then(|customer| customer.id.as_deref());
    let is_customer = get_optional_text(row, CUSTOMER_ID)?.as_deref() == customer_id;
    findings.check(is_customer, Invariant::OrderCustomer, id);
    // An order that was changed after the erasure may have new data.
    let erased_at = get_optional_number(row, ERASED_AT)?;
    let is_clean = erased_at != Some(order.updated_at.micros())
        || erased_details(&order.details) == order.details;
    findings.check(is_clean, Invariant::ErasedData, id);
    Ok(())
}

fn has_fitting_quantities(line: &LineRow) -> bool {
    line.quantity >= 1
        && line.fulfilled >= 0
        && line.cancelled >= 0
        && (0..=line.fulfilled).contains(&line.returned)
        && i128::from(line.fulfilled) + i128::from(line.cancelled) <= i128::from(line.quantity)
}

/// Returns true if the sums of an order follow from its lines.
fn has_sums(order: &OrderRow, lines: &[LineRow]) -> bool {
    let wide = |money: Money| i128::from(money.minor());
    let sum = |amount: &dyn Fn(&LineRow) -> i128| lines.iter().map(amount).sum::<i128>();
    let (totals, amounts) = (&order.totals, &order.amounts);
    let price = sum(&|line| i128::from(line.quantity) * wide(line.unit_price));
    let discount = sum(&|line| i128::from(line.quantity) * wide(line.unit_discount));
    let discount = discount + wide(amounts.order_discount);
    let tax = sum(&|line| wide(line.tax)) + wide(amounts.shipping_tax) + wide(amounts.order_tax);
    let added_tax = if amounts.tax_included { 0 } else { tax };
    wide(totals.sub_total) == price
        && wide(totals.discount_total) == discount
        && wide(totals.tax_total) == tax
        && discount <= price
        && amounts.shipping_tax <= amounts.shipping_price
        && wide(totals.total) == price - discount + wide(totals.shipping_total) + added_tax
}

/// Returns true if the status of an order follows from its lines.
fn has_status(order: &OrderRow, lines: &[LineRow]) -> bool {
    let is_open = lines.iter().any(|line| line.open() > 0);
    let is_sent = lines.iter().any(|line| line.fulfilled > 0);
    match order.status {
        OrderStatus::Pending => is_open && !is_sent,
        OrderStatus::Confirmed | OrderStatus::Processing => is_open,
        OrderStatus::Shipped | OrderStatus::Delivered => !is_open && is_sent,
        OrderStatus::Cancelled => !is_open && !is_sent,
    }
}

/// Returns true if the payments of an order come to its sums, and its payment status follows.
fn has_payments(order: &OrderRow, payment_status: &str) -> bool {
    let (paid, refunded) = (order.paid_total.minor(), order.refunded_total.minor());
    let status = PaymentStatus::of(order.totals.total.minor(), paid, refunded);
    payment_sums(&order.details, order.currency) == Some((paid, refunded))
        && (0..=paid).contains(&refunded)
        && status.word() == payment_status
}

/// Returns the captured and the refunded amount in the smallest unit.
fn payment_sums(details: &OrderDetails, currency: Currency) -> Option<(i64, i64)> {
    let minor = |text: &str| Money::parse(text, currency).ok().map(Money::minor);
    let mut sums = (0_i64, 0_i64);
    for payment in &details.payments {
        let amount = minor(&payment.amount)?;
        if payment.status == RecordedStatus::Captured {
            sums.0 = sums.0.checked_add(amount)?;
        }
    }
    for refund in &details.refunds {
        sums.1 = sums.1.checked_add(minor(&refund.amount)?)?;
    }
    Some(sums)
}

/// Compares what was shipped and returned with what the lines say.
fn check_units(id: &str, parts: &OrderParts, findings: &mut Findings) {
    let by_lines = |units: fn(&LineRow) -> i64| {
        let mut counted = Units::new();
        for line in parts.lines.iter().filter(|line| units(line) != 0) {
            *counted.entry(line.sku.clone()).or_default() += i128::from(units(line));
        }
        counted
    };
    let shipped = by_lines(|line| line.fulfilled);
    let returned = by_lines(|line| line.returned);
    findings.check(shipped == parts.shipped, Invariant::ShippedUnits, id);
    findings.check(returned == parts.returned, Invariant::ReturnedUnits, id);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_an_order_have_their_positions() {
        assert_eq!(ORDER_COLUMNS.split(", ").count(), CUSTOMER_ID);
    }
}
