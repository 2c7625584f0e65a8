//! `cancel-order`: cancels all open units or some of them, and releases their stock.

use super::lines::{add_units, allocate, move_stock, sum_by_sku};
use super::{ChangeContext, ChangeResult};
use crate::failure::RefusalReason;
use crate::model::CancelOrder;
use crate::sql::errors::TransactionError;
use crate::sql::order::{LineRow, lines, save_order};

pub(super) async fn cancel(
    mut change: ChangeContext<'_>,
    request: &CancelOrder,
) -> Result<ChangeResult, TransactionError> {
    let mut order_row = change.lock_open_order(&request.order_id).await?;
    let mut lines = lines(change.session, &[&order_row.id]).await?;
    let requested = request.line_items.as_deref();
    let units_per_line = allocate(
        &lines,
        requested,
        LineRow::open,
        (RefusalReason::QuantityExceedsOpen, order_row.status),
    )?;
    let units = sum_by_sku(&lines, &units_per_line);
    add_units(change.session, &lines, &units_per_line, "cancelled").await?;
    move_stock(change.session, &units, (0, -1));
    for (line, units) in lines.iter_mut().zip(&units_per_line) {
        line.cancelled += units;
    }
    let nothing_open = lines.iter().all(|line| line.open() == 0);
    let anything_left = lines.iter().any(|line| line.fulfilled > 0);
    order_row.status = order_row
        .status
        .after_cancelling(nothing_open, anything_left);
    order_row.details.cancel_reason = request
        .reason
        .clone()
        .or(order_row.details.cancel_reason.take());
    order_row.updated_at = change.at;
    save_order(change.session, &order_row).await?;
    let id = order_row.id.clone();
    ChangeResult::new(&order_row.into_entity(lines), &id)
}
