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
    asked: &UpdateOrder,
) -> Result<ChangeResult, TransactionError> {
    let mut head = change.locked(&asked.order_id).await?;
    let updates = asked.updates.clone();
    if let Some(next) = updates.status.map(OrderStatus::from) {
        if !head.status.may_become(next) {
            let refused = OrderRefusal::from(RefusalReason::InvalidOrderState).at("updates.status");
            return Err(Failure::from(refused.in_status(head.status)).into());
        }
        head.status = next;
    }
    let details = &mut head.details;
    head.name = updates.name.or(head.name);
    details.shipping_address = updates.shipping_address.or(details.shipping_address.take());
    details.billing_address = updates.billing_address.or(details.billing_address.take());
    if let Some(tags) = updates.tags {
        details.tags = tags;
    }
    if let Some(fields) = updates.custom_fields {
        details.custom_fields = fields;
    }
    details.notes = updates.notes.or(details.notes.take());
    head.updated_at = change.at;
    change
        .session
        .execute(
            sql("UPDATE orders SET status = $1, name = $2, details = $3, updated_at = $4 WHERE id = $5")
                .bind(head.status.word())
                .bind(head.name.clone())
                .bind(to_json(&head.details))
                .bind(head.updated_at.micros())
                .bind(head.id.clone()),
        )
        .await?;
    let lines = lines(change.session, &[&head.id]).await?;
    let id = head.id.clone();
    ChangeResult::new(&head.into_entity(lines), &id)
}
