//! Inserts samples into the tables. After each transaction the sums of stock are right.

use super::insert::CellValue;
use super::orders::{SampleOrder, order};
use super::samples::{
    EPOCH, LOCATIONS, PRODUCTS, SampleCustomer, SampleVariant, customers, product_id, variants,
};
use super::tables::{
    CUSTOMER, FULFILLMENT, LINE, LOCATION, LOOKUP, ORDER, PRODUCT, RETURN, STOCK, VARIANT,
};
use super::{SeedReport, StoreError, unreachable};
use crate::model::{Currency, UtcTime};
use crate::sql::connection::{dynamic_sql, placeholders, sql};
use crate::sql::dialect::SqlDialect;
use crate::sql::lookups::{self, LookupKeys, LookupKind};
use crate::sql::order::LineRow;
use candor_fault::to_json;
use sqlx::{AnyConnection, Row as _};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

pub(super) struct SampleData {
    currency: Currency,
    variants: Vec<SampleVariant>,
    customers: Vec<SampleCustomer>,
}

/// Adds to the numbers of created and existing rows.
fn count((made, there): (&mut u64, &mut u64), inserted: usize, all: usize) {
    *made += u64::try_from(inserted).unwrap_or_default();
    *there += u64::try_from(all - inserted).unwrap_or_default();
}

impl SampleData {
    pub(super) fn new(currency: Currency) -> SampleData {
        SampleData {
            currency,
            variants: variants(currency),
            customers: customers(),
        }
    }

    /// Inserts everything except orders. Stock is inserted only for new variants.
    pub(super) async fn catalogue(
        &self,
        connection: &mut AnyConnection,
        seeded: &mut SeedReport,
    ) -> Result<(), sqlx::Error> {
        let SeedReport { made, there } = seeded;
        let rows = LOCATIONS.map(|(id, name)| [id.into(), name.into(), EPOCH.into(), EPOCH.into()]);
        let done = LOCATION.insert(connection, rows.to_vec()).await?;
        count(
            (&mut made.locations, &mut there.locations),
            done.len(),
            LOCATIONS.len(),
        );
        let products = PRODUCTS.iter().enumerate().map(|(index, product)| {
            [
                product_id(index).into(),
                product.name.into(),
                product.description.into(),
                EPOCH.into(),
                EPOCH.into(),
            ]
        });
        let done = PRODUCT.insert(connection, products.collect()).await?;
        count(
            (&mut made.products, &mut there.products),
            done.len(),
            PRODUCTS.len(),
        );
        let variants = self.variants.iter().map(|variant| {
            [
                variant.sku.clone().into(),
                variant.id.clone().into(),
                variant.product_id.clone().into(),
                variant.name.clone().into(),
                variant.price.minor().into(),
                variant.stock.iter().sum::<i64>().into(),
                0.into(),
                variant.created_at.into(),
                variant.created_at.into(),
            ]
        });
        let done = VARIANT.insert(connection, variants.collect()).await?;
        count(
            (&mut made.variants, &mut there.variants),
            done.len(),
            self.variants.len(),
        );
        let new = self
            .variants
            .iter()
            .filter(|variant| done.contains(&variant.sku));
        let stock = new.flat_map(|variant| {
            LOCATIONS
                .iter()
                .zip(variant.stock)
                .map(|((location, _), units)| {
                    [
                        variant.sku.clone().into(),
                        (*location).into(),
                        units.into(),
                        variant.created_at.into(),
                        variant.created_at.into(),
                    ]
                })
        });
        STOCK.insert(connection, stock.collect()).await?;
        let customers = self.customers.iter().map(|customer| {
            [
                customer.customer.id.clone().into(),
                customer.email.clone().into(),
                customer.email.clone().into(),
                customer.customer.first_name.clone().into(),
                customer.customer.last_name.clone().into(),
                EPOCH.into(),
                EPOCH.into(),
                customer.customer.phone.clone().into(),
            ]
        });
        let done = CUSTOMER.insert(connection, customers.collect()).await?;
        let keys = self.customers.iter().filter_map(|sample| {
            let customer = &sample.customer;
            let id = customer.id.clone().filter(|id| done.contains(id))?;
            let (first, last) = (
                customer.first_name.as_deref(),
                customer.last_name.as_deref(),
            );
            let keys = lookups::of_customer(first, last, customer.phone.as_deref());
            Some((id, EPOCH, keys))
        });
        LOOKUP.insert(connection, lookup_rows(keys)).await?;
        count(
            (&mut made.customers, &mut there.customers),
            done.len(),
            self.customers.len(),
        );
        Ok(())
    }

    /// Takes over the customer ids of this store. Fails if the catalogue does not contain every SKU
    /// of the samples.
    pub(super) async fn with_store_customers(
        mut self,
        connection: &mut AnyConnection,
    ) -> Result<SampleData, StoreError> {
        let skus = dynamic_sql(format!(
            "SELECT sku FROM variants WHERE sku IN ({})",
            placeholders(self.variants.len(), 1)
        ));
        let each = self.variants.iter();
        let skus = each.fold(skus, |statement, variant| {
            statement.bind(variant.sku.clone())
        });
        let skus = skus
            .fetch_all(&mut *connection)
            .await
            .map_err(unreachable)?;
        if skus.len() < self.variants.len() {
            return Err(StoreError::Foreign(
                "a variant of theirs has the id of a sample",
            ));
        }
        for customer in &mut self.customers {
            let id = sqlx::query_scalar("SELECT id FROM customers WHERE email_key = $1")
                .bind(customer.email.clone());
            let id = id.fetch_optional(&mut *connection).await;
            customer.customer.id = id.map_err(unreachable)?;
        }
        Ok(self)
    }

    /// Inserts the orders with these numbers, and returns how many are new.
    pub(super) async fn orders(
        &self,
        connection: &mut AnyConnection,
        dialect: SqlDialect,
        numbers: RangeInclusive<u64>,
    ) -> Result<u64, sqlx::Error> {
        let mut orders: Vec<_> = numbers
            .map(|number| order(number, self.currency, &self.variants, &self.customers))
            .collect();
        let existing = existing_ids(connection, &orders).await?;
        orders.retain(|order| !existing.contains(&order.order_row.id));
        assign_numbers(connection, dialect, &mut orders).await?;
        let rows = orders.iter().map(|order| {
            let order_row = &order.order_row;
            [
                order_row.id.clone().into(),
                order_row.external_id.clone().into(),
                order_row.name.clone().into(),
                order_row.status.word().into(),
                order_row.currency.code().into(),
                order.customer_id.clone().into(),
                to_json(&order_row.details).into(),
                order_row.totals.sub_total.minor().into(),
                order_row.totals.discount_total.minor().into(),
                order_row.totals.total.minor().into(),
                order_row.created_at.micros().into(),
                order_row.updated_at.micros().into(),
                order_row.number.into(),
                order_row.payment_status().word().into(),
                order_row.next_line.into(),
            ]
        });
        let new = ORDER.insert(connection, rows.collect()).await?;
        let orders: Vec<_> = orders
            .into_iter()
            .filter(|order| new.contains(&order.order_row.id))
            .collect();
        lines(connection, &orders).await?;
        insert_movements(connection, &orders).await?;
        stock(connection, &orders).await?;
        let keys = orders.iter().flat_map(order_keys);
        LOOKUP.insert(connection, lookup_rows(keys)).await?;
        Ok(u64::try_from(new.len()).unwrap_or_default())
    }
}

/// Returns the ids of orders that the store has already.
async fn existing_ids(
    connection: &mut AnyConnection,
    orders: &[SampleOrder],
) -> Result<BTreeSet<String>, sqlx::Error> {
    let ids = orders.iter().map(|order| order.order_row.id.clone());
    let (Some(first), Some(last)) = (ids.clone().min(), ids.max()) else {
        return Ok(BTreeSet::new());
    };
    let existing = sql("SELECT id FROM orders WHERE id >= $1 AND id <= $2");
    let existing = existing.bind(first).bind(last);
    let rows = existing.fetch_all(&mut *connection).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Gives new orders the next order numbers.
async fn assign_numbers(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
    orders: &mut [SampleOrder],
) -> Result<(), sqlx::Error> {
    if orders.is_empty() {
        return Ok(());
    }
    let count = i64::try_from(orders.len()).unwrap_or(i64::MAX);
    let numbers = sql(dialect.next_order_numbers()).bind(count);
    let numbers = numbers.fetch_all(&mut *connection).await?;
    for (order, row) in orders.iter_mut().zip(numbers) {
        order.order_row.number = row.try_get(0)?;
    }
    Ok(())
}

/// The id, the time and the keys of an entity.
type EntityKeys = (String, i64, LookupKeys);

/// Returns the keys of an order and of its fulfilment.
fn order_keys(order: &SampleOrder) -> Vec<EntityKeys> {
    let row = &order.order_row;
    let created_at = row.created_at.micros();
    let mut keys = lookups::of_order(row.name.as_deref(), &row.details);
    let mut all = Vec::new();
    if let (Some((id, _, at)), Some(number)) = (&order.fulfilment, &order.tracking_number) {
        let numbers = [number.clone()];
        keys.extend(lookups::of_tracking(LookupKind::OrderTracking, &numbers));
        let own = lookups::of_tracking(LookupKind::FulfillmentTracking, &numbers);
        all.push((id.clone(), *at, own));
    }
    all.push((row.id.clone(), created_at, keys));
    all
}

/// Returns the rows of keys, in the order of the columns of [`LOOKUP`].
pub(in crate::sql) fn lookup_rows(
    entities: impl Iterator<Item = EntityKeys>,
) -> Vec<[CellValue; 4]> {
    let rows = entities.flat_map(|(id, at, keys)| {
        let row = move |(key, value): (String, String)| {
            [key.into(), at.into(), id.clone().into(), value.into()]
        };
        keys.into_iter().map(row)
    });
    rows.collect()
}

/// Returns the row of a line, in the order of the columns of [`LINE`].
pub(in crate::sql) fn line_cells(line: &LineRow, created_at: UtcTime) -> [CellValue; 12] {
    [
        line.order_id.clone().into(),
        line.line.into(),
        line.sku.clone().into(),
        line.name.clone().into(),
        line.quantity.into(),
        line.unit_price.minor().into(),
        line.unit_discount.minor().into(),
        line.fulfilled.into(),
        line.cancelled.into(),
        line.returned.into(),
        created_at.micros().into(),
        line.tax.minor().into(),
    ]
}

async fn lines(connection: &mut AnyConnection, orders: &[SampleOrder]) -> Result<(), sqlx::Error> {
    let rows = orders.iter().flat_map(|order| {
        let created_at = order.order_row.created_at;
        order
            .lines
            .iter()
            .map(move |line| line_cells(line, created_at))
    });
    LINE.insert(connection, rows.collect()).await?;
    Ok(())
}

async fn insert_movements(
    connection: &mut AnyConnection,
    orders: &[SampleOrder],
) -> Result<(), sqlx::Error> {
    let fulfilment = orders.iter().filter_map(|order| {
        let (id, details, at) = order.fulfilment.clone()?;
        let order_id = order.order_row.id.clone();
        Some([
            id.into(),
            order_id.into(),
            details.into(),
            at.into(),
            at.into(),
        ])
    });
    FULFILLMENT.insert(connection, fulfilment.collect()).await?;
    let returned_goods = orders.iter().filter_map(|order| {
        let (id, details, at, refund_amount) = order.returned_goods.clone()?;
        let order_id = order.order_row.id.clone();
        let outcome = "refund".into();
        Some([
            id.into(),
            order_id.into(),
            outcome,
            details.into(),
            at.into(),
            at.into(),
            "completed".into(),
            refund_amount.into(),
        ])
    });
    RETURN.insert(connection, returned_goods.collect()).await?;
    Ok(())
}

/// Adds stock for the reservations of these orders, at the first location.
async fn stock(connection: &mut AnyConnection, orders: &[SampleOrder]) -> Result<(), sqlx::Error> {
    let [(location, _), ..] = LOCATIONS;
    let mut open: BTreeMap<&str, i64> = BTreeMap::new();
    for line in orders.iter().flat_map(|order| &order.lines) {
        *open.entry(&line.sku).or_default() += LineRow::open(line);
    }
    for (sku, units) in open.into_iter().filter(|(_, units)| *units > 0) {
        sqlx::query(
            "UPDATE variants SET on_hand = on_hand + $1, reserved = reserved + $1 WHERE sku = $2",
        )
        .bind(units)
        .bind(sku.to_owned())
        .execute(&mut *connection)
        .await?;
        sqlx::query(
            "INSERT INTO stock (sku, location_id, on_hand, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
             ON CONFLICT (sku, location_id) DO UPDATE SET on_hand = stock.on_hand + excluded.on_hand",
        )
        .bind(sku.to_owned())
        .bind(location)
        .bind(units)
        .bind(EPOCH)
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
