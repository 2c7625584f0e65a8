//! Inserts samples into the tables. After each transaction the sums of stock are right.

use super::insert::CellValue;
use super::orders::{SampleOrder, order};
use super::samples::{
    EPOCH, LOCATIONS, PRODUCTS, SampleCustomer, SampleVariant, customers, product_id, variants,
};
use super::tables::{
    CUSTOMER, FULFILLMENT, LINE, LOCATION, ORDER, PRODUCT, RETURN, STOCK, VARIANT,
};
use super::{SeedReport, StoreError, unreachable};
use crate::model::{Currency, UtcTime};
use crate::sql::connection::{dynamic_sql, placeholders};
use crate::sql::order::LineRow;
use candor_fault::to_json;
use sqlx::AnyConnection;
use std::collections::BTreeMap;
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
            ]
        });
        let done = CUSTOMER.insert(connection, customers.collect()).await?;
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
        numbers: RangeInclusive<u64>,
    ) -> Result<u64, sqlx::Error> {
        let orders: Vec<_> = numbers
            .map(|number| order(number, self.currency, &self.variants, &self.customers))
            .collect();
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
                order_row.sub_total.minor().into(),
                order_row.discount_total.minor().into(),
                order_row.total.minor().into(),
                order_row.created_at.micros().into(),
                order_row.updated_at.micros().into(),
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
        Ok(u64::try_from(new.len()).unwrap_or_default())
    }
}

/// Returns the row of a line, in the order of the columns of [`LINE`].
pub(in crate::sql) fn line_cells(line: &LineRow, created_at: UtcTime) -> [CellValue; 11] {
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
        let (id, details, at) = order.returned_goods.clone()?;
        let order_id = order.order_row.id.clone();
        let outcome = "refund".into();
        Some([
            id.into(),
            order_id.into(),
            outcome,
            details.into(),
            at.into(),
            at.into(),
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
