//! Pages of what has left and of what came back.

use super::place::{Span, write};
use super::walk::{Arguments, Each, Walk, Wanted, Written, limit};
use super::{Paged, each};
use crate::failure::Failure;
use crate::model::{Currency, Fulfillment, FulfillmentLine, LineQuantity, Return, ReturnOutcome};
use crate::query::Query;
use crate::sql::order::{foreign, moment};
use crate::sql::session::{json, text};
use serde::Deserialize;
use sqlx::any::AnyRow;

const FULFILLMENTS: Walk<'_, 1> = Walk {
    columns: "id, order_id, details, created_at, updated_at",
    from: "fulfillments",
    at: "created_at",
    rest: ["id"],
    order: "created_at, id",
    repeats: false,
};

const RETURNS: Walk<'_, 1> = Walk {
    columns: "id, order_id, details, created_at, updated_at, outcome",
    from: "returns",
    ..FULFILLMENTS
};

/// What a fulfilment has beside its columns.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    line_items: Vec<FulfillmentLine>,
    #[serde(default)]
    tracking_numbers: Vec<String>,
}

/// What a return has beside its columns.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Back {
    line_items: Vec<LineQuantity>,
}

fn written(walk: Walk<'_, 1>, query: &Query, page_size: i64) -> Result<Written, Failure> {
    let filters = &query.filters;
    let span = Span::of(query)?;
    let mut arguments = Arguments::default();
    let mut wanted = Wanted::default();
    match (&filters.ids, &filters.order_ids) {
        (None, Some(orders)) => wanted.each = Some(Each::of("order_id", orders)),
        (ids, orders) => {
            for (column, list) in [("id", ids), ("order_id", orders)] {
                wanted.only(&mut arguments, column, list.as_ref());
            }
        }
    }
    let alone = wanted.each.is_none() && wanted.conditions.is_empty();
    wanted.changed = alone && filters.updated_at_min.is_some();
    wanted.within(&mut arguments, "updated_at", filters);
    let text = walk.text(&mut arguments, &span, &wanted, limit(page_size));
    Ok(arguments.of(text))
}

fn outcome(row: &AnyRow, place: usize) -> Result<ReturnOutcome, Failure> {
    let outcome = ReturnOutcome::read(&text(row, place)?);
    outcome.ok_or_else(|| foreign("the database has an unknown outcome"))
}

impl Paged for Fulfillment {
    fn written(query: &Query, page_size: i64) -> Result<Written, Failure> {
        written(FULFILLMENTS, query, page_size)
    }

    fn read(rows: &[AnyRow], _: Currency) -> Result<Vec<Fulfillment>, Failure> {
        each(rows, |row| {
            let sent: Sent = json(row, 2)?;
            Ok(Fulfillment {
                id: text(row, 0)?,
                order_id: text(row, 1)?,
                line_items: sent.line_items,
                tracking_numbers: sent.tracking_numbers,
                created_at: moment(row, 3)?,
                updated_at: moment(row, 4)?,
            })
        })
    }

    fn place(&self) -> String {
        write(self.created_at.micros(), [&self.id])
    }
}

impl Paged for Return {
    fn written(query: &Query, page_size: i64) -> Result<Written, Failure> {
        written(RETURNS, query, page_size)
    }

    fn read(rows: &[AnyRow], _: Currency) -> Result<Vec<Return>, Failure> {
        each(rows, |row| {
            let back: Back = json(row, 2)?;
            Ok(Return {
                id: text(row, 0)?,
                order_id: text(row, 1)?,
                outcome: outcome(row, 5)?,
                line_items: back.line_items,
                created_at: moment(row, 3)?,
                updated_at: moment(row, 4)?,
            })
        })
    }

    fn place(&self) -> String {
        write(self.created_at.micros(), [&self.id])
    }
}
