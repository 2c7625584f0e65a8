//! `fulfill-order`: ships units from the given location, or from any that has stock.

use super::lines::{add, by_sku, lock_variants, move_stock, spread};
use super::{ChangeContext, ChangeResult};
use crate::failure::{Failure, OrderRefusal, OrderRule, RefusalReason, RuleViolation};
use crate::model::{FulfillOrder, Fulfillment, FulfillmentLine};
use crate::sql::connection::{
    DbConnection, dynamic_sql, get_number, get_text, placeholders, sql, values_list,
};
use crate::sql::errors::TransactionError;
use crate::sql::order::{LineRow, lines};
use candor_fault::to_json;
use serde::Serialize;
use std::collections::BTreeMap;

/// The stock of a SKU at a location.
struct StockRow {
    sku: String,
    location: String,
    on_hand: i64,
}

/// The part of a fulfilment that is stored as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FulfillmentDetails<'a> {
    line_items: &'a [FulfillmentLine],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tracking_numbers: &'a [String],
}

pub(super) async fn fulfill(
    mut change: ChangeContext<'_>,
    asked: &FulfillOrder,
) -> Result<ChangeResult, TransactionError> {
    let mut head = change.locked_open(&asked.order_id).await?;
    if head.details.shipping_address.is_none() {
        let wrong = RuleViolation::new("order.shippingAddress", OrderRule::ShippingAddress);
        return Err(Failure::from(wrong).into());
    }
    if let Some(location) = &asked.location_id {
        known(change.session, location).await?;
    }
    let mut lines = lines(change.session, &[&head.id]).await?;
    let asked_lines = asked.line_items.as_deref();
    let share = spread(
        &lines,
        asked_lines,
        LineRow::open,
        RefusalReason::QuantityExceedsOpen,
    )
    .map_err(|refused| Failure::from(refused.in_status(head.status)))?;
    let units = by_sku(&lines, &share);
    lock_variants(change.session, &units).await?;
    let lying = lying(change.session, &units, asked.location_id.as_deref()).await?;
    let leaving = leaving(&units, &lying)?;
    take(change.session, &leaving, change.at.micros()).await?;
    add(change.session, &lines, &share, "fulfilled").await?;
    move_stock(change.session, &units, (-1, -1)).await?;
    for (line, units) in lines.iter_mut().zip(&share) {
        line.fulfilled += units;
    }
    let nothing_open = lines.iter().all(|line| line.open() == 0);
    head.status = head.status.after_fulfilling(nothing_open);
    change
        .session
        .execute(
            sql("UPDATE orders SET status = $1, updated_at = $2 WHERE id = $3")
                .bind(head.status.word())
                .bind(change.at.micros())
                .bind(head.id.clone()),
        )
        .await?;
    let fulfillment = Fulfillment {
        id: change.ids.next("ful", change.at),
        order_id: head.id,
        line_items: leaving,
        tracking_numbers: asked.tracking_numbers.clone().unwrap_or_default(),
        created_at: change.at,
        updated_at: change.at,
    };
    insert(change.session, &fulfillment).await?;
    ChangeResult::new(&fulfillment, &fulfillment.order_id)
}

async fn known(session: &mut DbConnection, location: &str) -> Result<(), TransactionError> {
    let statement = sql("SELECT id FROM locations WHERE id = $1").bind(location.to_owned());
    match session.first(statement).await? {
        Some(_) => Ok(()),
        None => {
            let refused = OrderRefusal::from(RefusalReason::LocationNotFound).at("locationId");
            Err(Failure::from(refused).into())
        }
    }
}

/// Returns the stock of these SKUs, locked and sorted by SKU and location; at one location if it is
/// given.
async fn lying(
    session: &mut DbConnection,
    units: &BTreeMap<String, i64>,
    location: Option<&str>,
) -> Result<Vec<StockRow>, TransactionError> {
    if units.is_empty() {
        return Ok(Vec::new());
    }
    let here = match location {
        Some(_) => " AND location_id = $1",
        None => "",
    };
    let statement = dynamic_sql(format!(
        "SELECT sku, location_id, on_hand FROM stock WHERE sku IN ({}){here}
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
fn leaving(
    units: &BTreeMap<String, i64>,
    lying: &[StockRow],
) -> Result<Vec<FulfillmentLine>, Failure> {
    let mut leaving = Vec::new();
    for (sku, wanted) in units {
        let mut rest = *wanted;
        for place in lying.iter().filter(|place| place.sku == *sku) {
            let quantity = rest.min(place.on_hand);
            if quantity > 0 {
                rest -= quantity;
                leaving.push(FulfillmentLine {
                    sku: sku.clone(),
                    quantity,
                    location_id: Some(place.location.clone()),
                });
            }
        }
        if rest > 0 {
            let refused = OrderRefusal::from(RefusalReason::InsufficientInventory).at("locationId");
            return Err(refused.having(wanted - rest).into());
        }
    }
    Ok(leaving)
}

/// Removes the allocated units from the stock.
async fn take(
    session: &mut DbConnection,
    leaving: &[FulfillmentLine],
    at: i64,
) -> Result<(), TransactionError> {
    if leaving.is_empty() {
        return Ok(());
    }
    let values = values_list(leaving.len(), &["TEXT", "TEXT", "BIGINT"], 2);
    let statement = dynamic_sql(format!(
        "UPDATE stock SET on_hand = on_hand - v.column3, updated_at = $1
         FROM (VALUES {values}) AS v WHERE stock.sku = v.column1 AND location_id = v.column2"
    ));
    let statement = leaving.iter().fold(statement.bind(at), |query, line| {
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
        line_items: &fulfillment.line_items,
        tracking_numbers: &fulfillment.tracking_numbers,
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
