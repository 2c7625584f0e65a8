//! `fulfill-order`: goods leave, from the location that was named or from wherever they lie.

use super::lines::{add, by_sku, lock_variants, move_stock, spread};
use super::{Made, Making};
use crate::failure::{Failure, Refused, Rule, Why, Wrong};
use crate::model::{FulfillOrder, Fulfillment, FulfillmentLine};
use crate::sql::failing::Ended;
use crate::sql::order::{LineRow, lines};
use crate::sql::session::{Session, list, made, number, rows, sql, text};
use candor_fault::to_json;
use serde::Serialize;
use std::collections::BTreeMap;

/// How many units of a SKU lie at a location.
struct Lying {
    sku: String,
    location: String,
    on_hand: i64,
}

/// What a fulfilment has beside its columns.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'a> {
    line_items: &'a [FulfillmentLine],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tracking_numbers: &'a [String],
}

pub(super) async fn fulfill(mut making: Making<'_>, asked: &FulfillOrder) -> Result<Made, Ended> {
    let mut head = making.locked_open(&asked.order_id).await?;
    if head.details.shipping_address.is_none() {
        let wrong = Wrong::new("order.shippingAddress", Rule::ShippingAddress);
        return Err(Failure::from(wrong).into());
    }
    if let Some(location) = &asked.location_id {
        known(making.session, location).await?;
    }
    let mut lines = lines(making.session, &[&head.id]).await?;
    let asked_lines = asked.line_items.as_deref();
    let share = spread(&lines, asked_lines, LineRow::open, Why::QuantityExceedsOpen)
        .map_err(|refused| Failure::from(refused.in_status(head.status)))?;
    let units = by_sku(&lines, &share);
    lock_variants(making.session, &units).await?;
    let lying = lying(making.session, &units, asked.location_id.as_deref()).await?;
    let leaving = leaving(&units, &lying)?;
    take(making.session, &leaving, making.at.micros()).await?;
    add(making.session, &lines, &share, "fulfilled").await?;
    move_stock(making.session, &units, (-1, -1)).await?;
    for (line, units) in lines.iter_mut().zip(&share) {
        line.fulfilled += units;
    }
    let nothing_open = lines.iter().all(|line| line.open() == 0);
    head.status = head.status.after_fulfilling(nothing_open);
    making
        .session
        .execute(
            sql("UPDATE orders SET status = $1, updated_at = $2 WHERE id = $3")
                .bind(head.status.word())
                .bind(making.at.micros())
                .bind(head.id.clone()),
        )
        .await?;
    let fulfillment = Fulfillment {
        id: making.ids.next("ful", making.at),
        order_id: head.id,
        line_items: leaving,
        tracking_numbers: asked.tracking_numbers.clone().unwrap_or_default(),
        created_at: making.at,
        updated_at: making.at,
    };
    insert(making.session, &fulfillment).await?;
    Made::new(&fulfillment, &fulfillment.order_id)
}

async fn known(session: &mut Session, location: &str) -> Result<(), Ended> {
    let statement = sql("SELECT id FROM locations WHERE id = $1").bind(location.to_owned());
    match session.first(statement).await? {
        Some(_) => Ok(()),
        None => {
            let refused = Refused::from(Why::LocationNotFound).at("locationId");
            Err(Failure::from(refused).into())
        }
    }
}

/// The stock of these SKUs, locked, by SKU and location; at one location if it is named.
async fn lying(
    session: &mut Session,
    units: &BTreeMap<String, i64>,
    location: Option<&str>,
) -> Result<Vec<Lying>, Ended> {
    if units.is_empty() {
        return Ok(Vec::new());
    }
    let here = match location {
        Some(_) => " AND location_id = $1",
        None => "",
    };
    let statement = made(format!(
        "SELECT sku, location_id, on_hand FROM stock WHERE sku IN ({}){here}
         ORDER BY sku, location_id{}",
        list(units.len(), 1 + usize::from(location.is_some())),
        session.speaks().locking()
    ));
    let statement = match location {
        Some(location) => statement.bind(location.to_owned()),
        None => statement,
    };
    let statement = units
        .keys()
        .fold(statement, |made, sku| made.bind(sku.clone()));
    let rows = session.all(statement).await?;
    let read = rows.iter().map(|row| {
        Ok(Lying {
            sku: text(row, 0)?,
            location: text(row, 1)?,
            on_hand: number(row, 2)?,
        })
    });
    read.collect::<Result<_, Failure>>().map_err(Ended::from)
}

/// What leaves from where: of each SKU, from the first locations that have some.
fn leaving(
    units: &BTreeMap<String, i64>,
    lying: &[Lying],
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
            let refused = Refused::from(Why::InsufficientInventory).at("locationId");
            return Err(refused.having(wanted - rest).into());
        }
    }
    Ok(leaving)
}

/// Takes what leaves from where it lay.
async fn take(session: &mut Session, leaving: &[FulfillmentLine], at: i64) -> Result<(), Ended> {
    if leaving.is_empty() {
        return Ok(());
    }
    let values = rows(leaving.len(), &["TEXT", "TEXT", "BIGINT"], 2);
    let statement = made(format!(
        "UPDATE stock SET on_hand = on_hand - v.column3, updated_at = $1
         FROM (VALUES {values}) AS v WHERE stock.sku = v.column1 AND location_id = v.column2"
    ));
    let statement = leaving.iter().fold(statement.bind(at), |made, line| {
        let location = line.location_id.clone();
        made.bind(line.sku.clone())
            .bind(location.unwrap_or_default())
            .bind(line.quantity)
    });
    session.execute(statement).await?;
    Ok(())
}

async fn insert(session: &mut Session, fulfillment: &Fulfillment) -> Result<(), Ended> {
    let details = Details {
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
