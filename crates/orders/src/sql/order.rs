//! Rows of orders and lines, and the entity that they become.

use super::connection::{
    DbConnection, dynamic_sql, get_json, get_number, get_optional_text, get_text, placeholders,
};
use super::errors::TransactionError;
use crate::failure::Failure;
use crate::model::{
    Currency, CustomField, LineAmounts, LineItem, Money, Order, OrderCustomer, OrderStatus,
    PostalAddress, UtcTime,
};
use candor_fault::Cause;
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
}

/// The columns of an order, in the order in which they are read.
pub(super) const ORDER_COLUMNS: &str = "orders.id, orders.external_id, orders.name, orders.status, orders.currency, orders.details, orders.sub_total, orders.discount_total, orders.total, orders.created_at, orders.updated_at";

/// A row of `orders`.
#[derive(Debug, Clone)]
pub(super) struct OrderRow {
    pub(super) id: String,
    pub(super) external_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) status: OrderStatus,
    pub(super) currency: Currency,
    pub(super) details: OrderDetails,
    pub(super) sub_total: Money,
    pub(super) discount_total: Money,
    pub(super) total: Money,
    pub(super) created_at: UtcTime,
    pub(super) updated_at: UtcTime,
}

/// A row of `order_lines`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineRow {
    pub(super) order_id: String,
    pub(super) line: i64,
    pub(super) sku: String,
    pub(super) name: Option<String>,
    pub(super) quantity: i64,
    pub(super) unit_price: Money,
    pub(super) unit_discount: Money,
    pub(super) fulfilled: i64,
    pub(super) cancelled: i64,
    pub(super) returned: i64,
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
        sub_total: get_money(row, 6)?,
        discount_total: get_money(row, 7)?,
        total: get_money(row, 8)?,
        created_at: get_time(row, 9)?,
        updated_at: get_time(row, 10)?,
    })
}

/// Returns the lines of these orders, sorted by order and number.
pub(super) async fn lines(
    session: &mut DbConnection,
    ids: &[&str],
) -> Result<Vec<LineRow>, TransactionError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let statement = format!(
        "SELECT order_id, line, sku, name, quantity, unit_price, unit_discount, fulfilled, cancelled, returned
         FROM order_lines WHERE order_id IN ({}) ORDER BY order_id, line",
        placeholders(ids.len(), 1)
    );
    let statement = ids.iter().fold(dynamic_sql(statement), |query, id| {
        query.bind((*id).to_owned())
    });
    let rows = session.all(statement).await?;
    let read = rows.iter().map(|row| {
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
        })
    });
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
        }
    }

    fn into_entity(self, currency: Currency) -> LineItem {
        LineItem {
            sku: self.sku,
            name: self.name,
            quantity: self.quantity,
            unit_price: self.unit_price.text(currency),
            unit_discount: self.unit_discount.text(currency),
            fulfilled_quantity: self.fulfilled,
            cancelled_quantity: self.cancelled,
            returned_quantity: self.returned,
        }
    }
}

impl OrderRow {
    /// Returns the entity of the order with its lines.
    pub(super) fn into_entity(self, lines: impl IntoIterator<Item = LineRow>) -> Order {
        let currency = self.currency;
        let details = self.details;
        Order {
            id: self.id,
            external_id: self.external_id,
            name: self.name,
            status: self.status,
            currency: currency.code().to_owned(),
            line_items: lines
                .into_iter()
                .map(|line| line.into_entity(currency))
                .collect(),
            customer: details.customer,
            shipping_address: details.shipping_address,
            billing_address: details.billing_address,
            tags: details.tags,
            custom_fields: details.custom_fields,
            notes: details.notes,
            cancel_reason: details.cancel_reason,
            sub_total: self.sub_total.text(currency),
            discount_total: self.discount_total.text(currency),
            total: self.total.text(currency),
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}
