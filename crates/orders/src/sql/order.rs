//! Rows of orders and lines, and the entity that they become.

use super::connection::{
    AnyQuery, DbConnection, dynamic_sql, get_json, get_number, get_optional_text, get_text,
    placeholders, sql,
};
use super::errors::TransactionError;
use crate::failure::Failure;
use crate::model::{
    Currency, CustomField, LineAmounts, LineItem, Money, Order, OrderAmounts, OrderCustomer,
    OrderStatus, Payment, PaymentStatus, PostalAddress, Refund, Shipping, Totals, UtcTime,
};
use candor_fault::{Cause, to_json};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;

/// The part of an order that is stored as JSON and never searched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct OrderDetails {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) customer: Option<OrderCustomer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shipping_address: Option<PostalAddress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) billing_address: Option<PostalAddress>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) custom_fields: Vec<CustomField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) notes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cancel_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shipping: Option<Shipping>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) payments: Vec<Payment>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) refunds: Vec<Refund>,
}

/// The columns of an order, in the order in which they are read.
pub(super) const ORDER_COLUMNS: &str = "orders.id, orders.external_id, orders.name, orders.status, orders.currency, orders.details, orders.sub_total, orders.discount_total, orders.total, orders.created_at, orders.updated_at, orders.number, orders.shipping_total, orders.shipping_tax, orders.order_discount, orders.order_tax, orders.tax_total, orders.tax_included, orders.paid_total, orders.refunded_total, orders.next_line, orders.exchange_for";

/// A row of `orders`.
#[derive(Debug, Clone)]
pub(super) struct OrderRow {
    pub(super) id: String,
    pub(super) external_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) status: OrderStatus,
    pub(super) currency: Currency,
    pub(super) details: OrderDetails,
    pub(super) totals: Totals,
    /// The amounts that `totals` is computed from, together with the lines.
    pub(super) amounts: OrderAmounts,
    pub(super) paid_total: Money,
    pub(super) refunded_total: Money,
    pub(super) created_at: UtcTime,
    pub(super) updated_at: UtcTime,
    /// The order number.
    pub(super) number: i64,
    /// The index of the next new line.
    pub(super) next_line: i64,
    /// The return that this order replaces goods of.
    pub(super) exchange_for: Option<String>,
}

/// A row of `order_lines`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineRow {
    pub(super) order_id: String,
    /// The index of the line, one less than its number in answers.
    pub(super) line: i64,
    pub(super) sku: String,
    pub(super) name: Option<String>,
    pub(super) quantity: i64,
    pub(super) unit_price: Money,
    pub(super) unit_discount: Money,
    pub(super) fulfilled: i64,
    pub(super) cancelled: i64,
    pub(super) returned: i64,
    pub(super) tax: Money,
}

pub(super) fn corrupt_row(what: &'static str) -> Failure {
    let cause = Box::new(Cause::from("a value that this program does not write"));
    Failure::Internal(what, cause)
}

pub(super) fn get_money(row: &AnyRow, index: usize) -> Result<Money, Failure> {
    let minor = i128::from(get_number(row, index)?);
    Money::of_minor(minor).ok_or_else(|| corrupt_row("an amount in the database is out of bounds"))
}

pub(super) fn get_time(row: &AnyRow, index: usize) -> Result<UtcTime, Failure> {
    get_number(row, index).map(UtcTime::of_micros)
}

/// Reads the columns [`ORDER_COLUMNS`].
pub(super) fn order_row(row: &AnyRow) -> Result<OrderRow, Failure> {
    let status = OrderStatus::read(&get_text(row, 3)?);
    let currency = Currency::read(&get_text(row, 4)?);
    Ok(OrderRow {
        id: get_text(row, 0)?,
        external_id: get_optional_text(row, 1)?,
        name: get_optional_text(row, 2)?,
        status: status.ok_or_else(|| corrupt_row("the database has an unknown status"))?,
        currency: currency.ok_or_else(|| corrupt_row("the database has an unknown currency"))?,
        details: get_json(row, 5)?,
        totals: Totals {
            sub_total: get_money(row, 6)?,
            discount_total: get_money(row, 7)?,
            total: get_money(row, 8)?,
            shipping_total: get_money(row, 12)?,
            tax_total: get_money(row, 16)?,
        },
        amounts: OrderAmounts {
            shipping_price: get_money(row, 12)?,
            shipping_tax: get_money(row, 13)?,
            order_discount: get_money(row, 14)?,
            order_tax: get_money(row, 15)?,
            tax_included: get_number(row, 17)? != 0,
        },
        created_at: get_time(row, 9)?,
        updated_at: get_time(row, 10)?,
        number: get_number(row, 11)?,
        paid_total: get_money(row, 18)?,
        refunded_total: get_money(row, 19)?,
        next_line: get_number(row, 20)?,
        exchange_for: get_optional_text(row, 21)?,
    })
}

/// The columns of a line, in the order in which they are read.
pub(super) const LINE_COLUMNS: &str = "order_id, line, sku, name, quantity, unit_price, unit_discount, fulfilled, cancelled, returned, tax";

/// Reads the columns [`LINE_COLUMNS`].
pub(super) fn line_row(row: &AnyRow) -> Result<LineRow, Failure> {
    Ok(LineRow {
        order_id: get_text(row, 0)?,
        line: get_number(row, 1)?,
        sku: get_text(row, 2)?,
        name: get_optional_text(row, 3)?,
        quantity: get_number(row, 4)?,
        unit_price: get_money(row, 5)?,
        unit_discount: get_money(row, 6)?,
        fulfilled: get_number(row, 7)?,
        cancelled: get_number(row, 8)?,
        returned: get_number(row, 9)?,
        tax: get_money(row, 10)?,
    })
}

/// Returns a query for the lines of these orders, sorted by order and number.
pub(super) fn lines_query(ids: &[&str]) -> AnyQuery {
    let statement = format!(
        "SELECT {LINE_COLUMNS} FROM order_lines WHERE order_id IN ({}) ORDER BY order_id, line",
        placeholders(ids.len(), 1)
    );
    let statement = dynamic_sql(statement);
    ids.iter()
        .fold(statement, |query, id| query.bind((*id).to_owned()))
}

/// Returns the lines of these orders, sorted by order and number.
pub(super) async fn lines(
    session: &mut DbConnection,
    ids: &[&str],
) -> Result<Vec<LineRow>, TransactionError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = session.all(lines_query(ids)).await?;
    let read = rows.iter().map(line_row);
    read.collect::<Result<_, Failure>>()
        .map_err(TransactionError::from)
}

impl LineRow {
    /// Returns the units that are neither shipped nor cancelled.
    pub(super) fn open(&self) -> i64 {
        self.quantity - self.fulfilled - self.cancelled
    }

    pub(super) fn amounts(&self) -> LineAmounts {
        LineAmounts {
            quantity: self.quantity,
            unit_price: self.unit_price,
            unit_discount: self.unit_discount,
            tax: self.tax,
        }
    }

    /// Returns the number of the line in answers.
    pub(super) const fn number(&self) -> i64 {
        self.line + 1
    }

    fn into_entity(self, currency: Currency) -> LineItem {
        LineItem {
            line: Some(self.number()),
            sku: self.sku,
            name: self.name,
            quantity: self.quantity,
            unit_price: self.unit_price.text(currency),
            unit_discount: self.unit_discount.text(currency),
            tax: Some(self.tax.text(currency)),
            fulfilled_quantity: self.fulfilled,
            cancelled_quantity: self.cancelled,
            returned_quantity: self.returned,
        }
    }
}

impl OrderRow {
    /// Returns the state of the order's payments.
    pub(super) fn payment_status(&self) -> PaymentStatus {
        PaymentStatus::of(
            self.totals.total.minor(),
            self.paid_total.minor(),
            self.refunded_total.minor(),
        )
    }

    /// Returns the entity of the order with its lines.
    pub(super) fn into_entity(self, lines: impl IntoIterator<Item = LineRow>) -> Order {
        let currency = self.currency;
        let payment_status = self.payment_status();
        let (totals, amounts) = (self.totals, self.amounts);
        let details = self.details;
        let shown = |money: Money| Some(money.text(currency));
        let if_any = |money: Money| (money > Money::default()).then(|| money.text(currency));
        Order {
            id: self.id,
            order_number: Some(self.number.to_string()),
            external_id: self.external_id,
            name: self.name,
            platform_status: None,
            status: self.status,
            currency: currency.code().to_owned(),
            line_items: lines
                .into_iter()
                .map(|line| line.into_entity(currency))
                .collect(),
            customer: details.customer,
            shipping_address: details.shipping_address,
            billing_address: details.billing_address,
            shipping: details.shipping,
            tags: details.tags,
            custom_fields: details.custom_fields,
            notes: details.notes,
            cancel_reason: details.cancel_reason,
            exchange_for: self.exchange_for,
            sub_total: totals.sub_total.text(currency),
            discount_total: totals.discount_total.text(currency),
            order_discount: if_any(amounts.order_discount),
            shipping_total: shown(totals.shipping_total),
            order_tax: if_any(amounts.order_tax),
            tax_total: shown(totals.tax_total),
            tax_included: Some(amounts.tax_included),
            total: totals.total.text(currency),
            payments: Some(details.payments),
            refunds: Some(details.refunds),
            paid_total: shown(self.paid_total),
            refunded_total: shown(self.refunded_total),
            payment_status: Some(payment_status),
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

/// Stores everything of an order that can change, except its lines.
pub(super) async fn save_order(
    session: &mut DbConnection,
    order_row: &OrderRow,
) -> Result<(), TransactionError> {
    let (totals, amounts) = (order_row.totals, order_row.amounts);
    let statement = sql(
        "UPDATE orders SET status = $1, name = $2, details = $3, updated_at = $4, sub_total = $5,
             discount_total = $6, total = $7, shipping_total = $8, shipping_tax = $9,
             tax_total = $10, paid_total = $11, refunded_total = $12, payment_status = $13,
             next_line = $14 WHERE id = $15",
    )
    .bind(order_row.status.word())
    .bind(order_row.name.clone())
    .bind(to_json(&order_row.details))
    .bind(order_row.updated_at.micros())
    .bind(totals.sub_total.minor())
    .bind(totals.discount_total.minor())
    .bind(totals.total.minor())
    .bind(amounts.shipping_price.minor())
    .bind(amounts.shipping_tax.minor())
    .bind(totals.tax_total.minor())
    .bind(order_row.paid_total.minor())
    .bind(order_row.refunded_total.minor())
    .bind(order_row.payment_status().word())
    .bind(order_row.next_line)
    .bind(order_row.id.clone());
    session.execute(statement).await?;
    Ok(())
}
