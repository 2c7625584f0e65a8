//! The five changes, each inside a transaction that the adapter ends. All checks of a change come
//! before its first write, so that a refusal has nothing to undo. Rows are locked in one order:
//! key, order, variants by SKU, stock by SKU and location.

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

/// What a change needs beside its request.
pub(super) struct ChangeContext<'a> {
    pub(super) session: &'a mut DbConnection,
    pub(super) currency: Currency,
    pub(super) ids: &'a IdGenerator,
    pub(super) at: UtcTime,
}

/// The result of a change: the entity of the answer, and the id of its order.
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

/// Makes the requested change.
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

/// Returns the id of the order that a request names; the order may not exist.
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
    /// Loads and locks the order with this id.
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

    /// As `lock_order`; refuses an order whose units can no longer be shipped or cancelled.
    async fn locked_open(&mut self, id: &str) -> Result<OrderRow, TransactionError> {
        let head = self.locked(id).await?;
        if !head.status.is_open() {
            let refused = OrderRefusal::from(RefusalReason::InvalidOrderState).at("orderId");
            return Err(Failure::from(refused.in_status(head.status)).into());
        }
        Ok(head)
    }
}
