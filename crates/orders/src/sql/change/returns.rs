//! `create-return`: records returned units. The stock does not change.

use super::lines::{add_units, allocate};
use super::{ChangeContext, ChangeResult};
use crate::failure::{Failure, RefusalReason};
use crate::model::{CreateReturn, Return};
use crate::sql::connection::sql;
use crate::sql::errors::TransactionError;
use crate::sql::order::{LineRow, lines};
use crate::sql::stored_details::ReturnDetails;
use candor_fault::to_json;

fn returnable(line: &LineRow) -> i64 {
    line.fulfilled - line.returned
}

pub(super) async fn create_return(
    mut change: ChangeContext<'_>,
    request: &CreateReturn,
) -> Result<ChangeResult, TransactionError> {
    let order_row = change.lock_order(&request.order_id).await?;
    let lines = lines(change.session, &[&order_row.id]).await?;
    let exceeds = RefusalReason::ReturnExceedsFulfilled;
    let units_per_line = allocate(&lines, Some(&request.line_items), returnable, exceeds)
        .map_err(|refused| Failure::from(refused.in_status(order_row.status)))?;
    add_units(change.session, &lines, &units_per_line, "returned").await?;
    change
        .session
        .execute(
            sql("UPDATE orders SET updated_at = $1 WHERE id = $2")
                .bind(change.at.micros())
                .bind(order_row.id.clone()),
        )
        .await?;
    let returned = Return {
        id: change.ids.next("ret", change.at),
        order_id: order_row.id,
        outcome: request.outcome,
        line_items: request.line_items.clone(),
        created_at: change.at,
        updated_at: change.at,
    };
    let details = ReturnDetails {
        line_items: returned.line_items.as_slice().into(),
    };
    change
        .session
        .execute(
            sql("INSERT INTO returns (id, order_id, outcome, details, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)")
                .bind(returned.id.clone())
                .bind(returned.order_id.clone())
                .bind(request.outcome.word())
                .bind(to_json(&details))
                .bind(returned.created_at.micros())
                .bind(returned.updated_at.micros()),
        )
        .await?;
    ChangeResult::new(&returned, &returned.order_id)
}
