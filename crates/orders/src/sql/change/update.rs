//! `update-order`: sets the next status, addresses and other members.

use super::{ChangeContext, ChangeResult};
use crate::failure::{Failure, OrderRefusal, RefusalReason};
use crate::model::{OrderStatus, UpdateOrder};
use crate::sql::connection::sql;
use crate::sql::errors::TransactionError;
use crate::sql::order::lines;
use candor_fault::to_json;

pub(super) async fn update(
    mut change: ChangeContext<'_>,
    request: &UpdateOrder,
) -> Result<ChangeResult, TransactionError> {
    let mut order_row = change.lock_order(&request.order_id).await?;
    let updates = request.updates.clone();
    if let Some(next) = updates.status.map(OrderStatus::from) {
        if !order_row.status.may_become(next) {
            let refused = OrderRefusal::from(RefusalReason::InvalidOrderState).at("updates.status");
            return Err(Failure::from(refused.in_status(order_row.status)).into());
        }
        order_row.status = next;
    }
    let details = &mut order_row.details;
    order_row.name = updates.name.or(order_row.name);
    details.shipping_address = updates.shipping_address.or(details.shipping_address.take());
    details.billing_address = updates.billing_address.or(details.billing_address.take());
    if let Some(tags) = updates.tags {
        details.tags = tags;
    }
    if let Some(fields) = updates.custom_fields {
        details.custom_fields = fields;
    }
    details.notes = updates.notes.or(details.notes.take());
    order_row.updated_at = change.at;
    change
        .session
        .execute(
            sql("UPDATE orders SET status = $1, name = $2, details = $3, updated_at = $4 WHERE id = $5")
                .bind(order_row.status.word())
                .bind(order_row.name.clone())
                .bind(to_json(&order_row.details))
                .bind(order_row.updated_at.micros())
                .bind(order_row.id.clone()),
        )
        .await?;
    let lines = lines(change.session, &[&order_row.id]).await?;
    let id = order_row.id.clone();
    ChangeResult::new(&order_row.into_entity(lines), &id)
}
