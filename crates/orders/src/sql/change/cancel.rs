//! `cancel-order`: cancels all open units or some of them, and releases their stock.

use super::lines::{add, by_sku, lock_variants, move_stock, spread};
use super::{ChangeContext, ChangeResult};
use crate::failure::{Failure, RefusalReason};
use crate::model::CancelOrder;
use crate::sql::connection::sql;
use crate::sql::errors::TransactionError;
use crate::sql::order::{LineRow, lines};
use candor_fault::to_json;

pub(super) async fn cancel(
    mut change: ChangeContext<'_>,
    asked: &CancelOrder,
) -> Result<ChangeResult, TransactionError> {
    let mut head = change.locked_open(&asked.order_id).await?;
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
    add(change.session, &lines, &share, "cancelled").await?;
    move_stock(change.session, &units, (0, -1)).await?;
    for (line, units) in lines.iter_mut().zip(&share) {
        line.cancelled += units;
    }
    let nothing_open = lines.iter().all(|line| line.open() == 0);
    let anything_left = lines.iter().any(|line| line.fulfilled > 0);
    head.status = head.status.after_cancelling(nothing_open, anything_left);
    head.details.cancel_reason = asked.reason.clone().or(head.details.cancel_reason.take());
    head.updated_at = change.at;
    change
        .session
        .execute(
            sql("UPDATE orders SET status = $1, details = $2, updated_at = $3 WHERE id = $4")
                .bind(head.status.word())
                .bind(to_json(&head.details))
                .bind(head.updated_at.micros())
                .bind(head.id.clone()),
        )
        .await?;
    let id = head.id.clone();
    ChangeResult::new(&head.into_entity(lines), &id)
}
