//! `fulfill-order`: ships units from the given location, or from any that has stock.

use super::lines::{add_units, allocate, lock_variants, move_stock, sum_by_sku};
use super::{ChangeContext, ChangeResult};
use crate::failure::{Failure, OrderRefusal, OrderRule, RefusalReason, RuleViolation};
use crate::model::{FulfillOrder, Fulfillment, FulfillmentLine};
use crate::sql::connection::{
    DbConnection, dynamic_sql, get_number, get_text, placeholders, sql, values_list,
};
use crate::sql::errors::TransactionError;
use crate::sql::lookups::{self, LookupKind};
use crate::sql::order::{LineRow, lines};
use crate::sql::stored_details::FulfillmentDetails;
use candor_fault::to_json;
use std::collections::BTreeMap;

/// The stock of a SKU at a location.
struct StockRow {
    sku: String,
    location: String,
    on_hand: i64,
}

pub(super) async fn fulfill(
    mut change: ChangeContext<'_>,
    request: &FulfillOrder,
) -> Result<ChangeResult, TransactionError> {
    let mut order_row = change.lock_open_order(&request.order_id).await?;
    if order_row.details.shipping_address.is_none() {
        let wrong = RuleViolation::new("order.shippingAddress", OrderRule::ShippingAddress);
        return Err(Failure::from(wrong).into());
    }
    if let Some(location) = &request.location_id {
        check_location(change.session, (location, "locationId")).await?;
    }
    let mut lines = lines(change.session, &[&order_row.id]).await?;
    let requested = request.line_items.as_deref();
    let units_per_line = allocate(
        &lines,
        requested,
        LineRow::open,
        (RefusalReason::QuantityExceedsOpen, order_row.status),
    )?;
    let units = sum_by_sku(&lines, &units_per_line);
    lock_variants(change.session, &units).await?;
    let stock = lock_stock(change.session, &units, request.location_id.as_deref()).await?;
    let allocations = allocate_stock(&units, &stock)?;
    take_stock(change.session, &allocations, change.at.micros()).await?;
    add_units(change.session, &lines, &units_per_line, "fulfilled").await?;
    move_stock(change.session, &units, (-1, -1));
    for (line, units) in lines.iter_mut().zip(&units_per_line) {
        line.fulfilled += units;
    }
    let nothing_open = lines.iter().all(|line| line.open() == 0);
    order_row.status = order_row.status.after_fulfilling(nothing_open);
    change
        .session
        .execute(
            sql("UPDATE orders SET status = $1, updated_at = $2 WHERE id = $3")
                .bind(order_row.status.word())
                .bind(change.at.micros())
                .bind(order_row.id.clone()),
        )
        .await?;
    let fulfillment = Fulfillment {
        id: change.ids.next("ful", change.at),
        order_id: order_row.id,
        line_items: allocations,
        tracking_numbers: request.tracking_numbers.clone().unwrap_or_default(),
        carrier: request.carrier.clone(),
        service: request.service.clone(),
        created_at: change.at,
        updated_at: change.at,
    };
    insert(change.session, &fulfillment).await?;
    let numbers = &fulfillment.tracking_numbers;
    let keys = lookups::of_tracking(LookupKind::OrderTracking, numbers);
    let order = (fulfillment.order_id.as_str(), order_row.created_at);
    lookups::insert(change.session, order, &keys).await?;
    let keys = lookups::of_tracking(LookupKind::FulfillmentTracking, numbers);
    lookups::insert(change.session, (&fulfillment.id, change.at), &keys).await?;
    ChangeResult::new(&fulfillment, &fulfillment.order_id)
}

pub(super) async fn check_location(
    session: &mut DbConnection,
    (location, field): (&str, &str),
) -> Result<(), TransactionError> {
    let statement = sql("SELECT id FROM locations WHERE id = $1").bind(location.to_owned());
    match session.first(statement).await? {
        Some(_) => Ok(()),
        None => {
            let refused = OrderRefusal::from(RefusalReason::LocationNotFound).at(field);
            Err(Failure::from(refused).into())
        }
    }
}

/// Returns the stock of these SKUs, locked and sorted by SKU and location; at one location if it is
/// given.
async fn lock_stock(
    session: &mut DbConnection,
    units: &BTreeMap<String, i64>,
    location: Option<&str>,
) -> Result<Vec<StockRow>, TransactionError> {
    if units.is_empty() {
        return Ok(Vec::new());
    }
    let at_location = match location {
        Some(_) => " AND location_id = $1",
        None => "",
    };
    let statement = dynamic_sql(format!(
        "SELECT sku, location_id, on_hand FROM stock WHERE sku IN ({}){at_location}
         ORDER BY sku, location_id{}",
        placeholders(units.len(), 1 + usize::from(location.is_some())),
        session.dialect().lock_suffix()
    ));
    let statement = match location {
        Some(location) => statement.bind(location.to_owned()),
        None => statement,
    };
    let statement = units
        .keys()
        .fold(statement, |query, sku| query.bind(sku.clone()));
    let rows = session.all(statement).await?;
    let read = rows.iter().map(|row| {
        Ok(StockRow {
            sku: get_text(row, 0)?,
            location: get_text(row, 1)?,
            on_hand: get_number(row, 2)?,
        })
    });
    read.collect::<Result<_, Failure>>()
        .map_err(TransactionError::from)
}

/// Allocates the units of each SKU to the first locations that have stock.
fn allocate_stock(
    units: &BTreeMap<String, i64>,
    stock: &[StockRow],
) -> Result<Vec<FulfillmentLine>, Failure> {
    let mut allocations = Vec::new();
    for (sku, needed) in units {
        let mut rest = *needed;
        for row in stock.iter().filter(|row| row.sku == *sku) {
            let quantity = rest.min(row.on_hand);
            if quantity > 0 {
                rest -= quantity;
                allocations.push(FulfillmentLine {
                    sku: sku.clone(),
                    quantity,
                    location_id: Some(row.location.clone()),
                });
            }
        }
        if rest > 0 {
            let refused = OrderRefusal::from(RefusalReason::InsufficientInventory).at("locationId");
            return Err(refused.having(needed - rest).into());
        }
    }
    Ok(allocations)
}

/// Removes the allocated units from the stock.
async fn take_stock(
    session: &mut DbConnection,
    allocations: &[FulfillmentLine],
    at: i64,
) -> Result<(), TransactionError> {
    if allocations.is_empty() {
        return Ok(());
    }
    let values = values_list(allocations.len(), &["TEXT", "TEXT", "BIGINT"], 2);
    let statement = dynamic_sql(format!(
        "UPDATE stock SET on_hand = on_hand - v.column3, updated_at = $1
         FROM (VALUES {values}) AS v WHERE stock.sku = v.column1 AND location_id = v.column2"
    ));
    let statement = allocations.iter().fold(statement.bind(at), |query, line| {
        let location = line.location_id.clone();
        query
            .bind(line.sku.clone())
            .bind(location.unwrap_or_default())
            .bind(line.quantity)
    });
    session.execute(statement).await?;
    Ok(())
}

async fn insert(
    session: &mut DbConnection,
    fulfillment: &Fulfillment,
) -> Result<(), TransactionError> {
    let details = FulfillmentDetails {
        line_items: fulfillment.line_items.as_slice().into(),
        tracking_numbers: fulfillment.tracking_numbers.as_slice().into(),
        carrier: fulfillment.carrier.clone(),
        service: fulfillment.service.clone(),
    };
    session
        .execute(
            sql("INSERT INTO fulfillments (id, order_id, details, created_at, updated_at) VALUES ($1, $2, $3, $4, $5)")
                .bind(fulfillment.id.clone())
                .bind(fulfillment.order_id.clone())
                .bind(to_json(&details))
                .bind(fulfillment.created_at.micros())
                .bind(fulfillment.updated_at.micros()),
        )
        .await?;
    Ok(())
}
