//! `create-return`: goods that left come back; what becomes of them in stock is decided elsewhere.

use super::lines::{add, spread};
use super::{Made, Making};
use crate::failure::{Failure, Why};
use crate::model::{CreateReturn, LineQuantity, Return};
use crate::sql::failing::Ended;
use crate::sql::order::{LineRow, lines};
use crate::sql::session::sql;
use candor_fault::to_json;
use serde::Serialize;

/// What a return has beside its columns.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Details<'a> {
    line_items: &'a [LineQuantity],
}

fn returnable(line: &LineRow) -> i64 {
    line.fulfilled - line.returned
}

pub(super) async fn take_back(mut making: Making<'_>, asked: &CreateReturn) -> Result<Made, Ended> {
    let head = making.locked(&asked.order_id).await?;
    let lines = lines(making.session, &[&head.id]).await?;
    let exceeds = Why::ReturnExceedsFulfilled;
    let share = spread(&lines, Some(&asked.line_items), returnable, exceeds)
        .map_err(|refused| Failure::from(refused.in_status(head.status)))?;
    add(making.session, &lines, &share, "returned").await?;
    making
        .session
        .execute(
            sql("UPDATE orders SET updated_at = $1 WHERE id = $2")
                .bind(making.at.micros())
                .bind(head.id.clone()),
        )
        .await?;
    let returned = Return {
        id: making.ids.next("ret", making.at),
        order_id: head.id,
        outcome: asked.outcome,
        line_items: asked.line_items.clone(),
        created_at: making.at,
        updated_at: making.at,
    };
    let details = Details {
        line_items: &returned.line_items,
    };
    making
        .session
        .execute(
            sql("INSERT INTO returns (id, order_id, outcome, details, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)")
                .bind(returned.id.clone())
                .bind(returned.order_id.clone())
                .bind(asked.outcome.word())
                .bind(to_json(&details))
                .bind(returned.created_at.micros())
                .bind(returned.updated_at.micros()),
        )
        .await?;
    Made::new(&returned, &returned.order_id)
}
