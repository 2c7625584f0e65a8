//! The five changes, each inside a transaction that somebody else ends. All checks of a change come
//! before its first write, so that a refusal leaves nothing to take back. Rows are locked in one
//! order: key, order, variants by SKU, stock by SKU and location.

mod cancel;
mod create;
mod fulfill;
mod lines;
mod returns;
mod update;

use super::connection::{DbConnection, dynamic_sql};
use super::errors::TransactionError;
use super::ids::IdGenerator;
use super::order::{ORDER_COLUMNS, OrderRow, head};
use crate::adapter::Request;
use crate::failure::{Failure, OrderRefusal, RefusalReason};
use crate::model::{Currency, UtcTime};
use candor_fault::Cause;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// What a change has beside its request.
pub(super) struct ChangeContext<'a> {
    pub(super) session: &'a mut DbConnection,
    pub(super) currency: Currency,
    pub(super) ids: &'a IdGenerator,
    pub(super) at: UtcTime,
}

/// What a change comes to: the entity that answers show, and the order that it is about.
pub(super) struct ChangeResult {
    pub(super) entity: Box<RawValue>,
    pub(super) order: String,
}

impl ChangeResult {
    fn new(entity: &impl Serialize, order: &str) -> Result<ChangeResult, TransactionError> {
        let entity = to_raw_value(entity).map_err(|error| {
            let cause = Box::new(Cause::error("SerializationError", &error));
            TransactionError::Failed(Failure::Internal("an answer could not be written", cause))
        })?;
        let order = order.to_owned();
        Ok(ChangeResult { entity, order })
    }
}

/// Makes the change that is asked for.
pub(super) async fn make(
    context: ChangeContext<'_>,
    request: &Request,
) -> Result<ChangeResult, TransactionError> {
    match request {
        Request::Create(asked) => create::create(context, &asked.order).await,
        Request::Update(asked) => update::update(context, asked).await,
        Request::Cancel(asked) => cancel::cancel(context, asked).await,
        Request::Fulfill(asked) => fulfill::fulfill(context, asked).await,
        Request::Return(asked) => returns::take_back(context, asked).await,
        Request::Query(_) => {
            let cause = Box::new(Cause::from(request.operation().name()));
            Err(Failure::Internal("a query was taken for a change", cause).into())
        }
    }
}

/// The order that a request names, whether it exists or not.
pub(super) fn about(request: &Request) -> Option<&str> {
    match request {
        Request::Create(_) | Request::Query(_) => None,
        Request::Update(asked) => Some(&asked.order_id),
        Request::Cancel(asked) => Some(&asked.order_id),
        Request::Fulfill(asked) => Some(&asked.order_id),
        Request::Return(asked) => Some(&asked.order_id),
    }
}

impl ChangeContext<'_> {
    /// The order of this id, which nobody else changes before this transaction ends.
    async fn locked(&mut self, id: &str) -> Result<OrderRow, TransactionError> {
        let locking = self.session.dialect().lock_suffix();
        let statement = dynamic_sql(format!(
            "SELECT {ORDER_COLUMNS} FROM orders WHERE id = $1{locking}"
        ));
        let row = self.session.first(statement.bind(id.to_owned())).await?;
        let missing =
            || Failure::from(OrderRefusal::from(RefusalReason::OrderNotFound).at("orderId"));
        Ok(head(&row.ok_or_else(missing)?)?)
    }

    /// The same, where goods of it may still leave or be cancelled.
    async fn locked_open(&mut self, id: &str) -> Result<OrderRow, TransactionError> {
        let head = self.locked(id).await?;
        if !head.status.is_open() {
            let refused = OrderRefusal::from(RefusalReason::InvalidOrderState).at("orderId");
            return Err(Failure::from(refused.in_status(head.status)).into());
        }
        Ok(head)
    }
}
