//! The five changes, each inside a transaction that the adapter ends. All checks of a change come
//! before its first write, so that a refusal has nothing to undo. Rows are locked in one order:
//! key, order, variants by SKU, stock by SKU and location. Only a shipment and a step of a return
//! lock variants early; the other changes do it with the last statement of their transaction.

mod cancel;
mod create;
mod fulfill;
mod line_edits;
mod lines;
mod payments;
mod return_steps;
mod returns;
mod update;

use super::connection::{AnyQuery, DbConnection, dynamic_sql, get_text, sql};
use super::dialect::SqlDialect;
use super::errors::TransactionError;
use super::ids::IdGenerator;
use super::order::{ORDER_COLUMNS, OrderRow, order_row};
use super::store::Store;
use crate::adapter::Request;
use crate::failure::{Failure, OrderRefusal, RefusalReason};
use crate::model::{Currency, UtcTime};
use candor_fault::Cause;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeSet;

/// The circumstances of a change: its connection, currency, ids and time.
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
        Request::Create(request) => create::create(context, &request.order).await,
        Request::Update(request) => update::update(context, request).await,
        Request::Cancel(request) => cancel::cancel(context, request).await,
        Request::Fulfill(request) => fulfill::fulfill(context, request).await,
        Request::Return(request) => returns::create_return(context, request).await,
        Request::Query(_) => {
            let cause = Box::new(Cause::from(request.operation().name()));
            Err(Failure::Internal("a query was taken for a change", cause).into())
        }
    }
}

/// Returns the queries with which a change of a file starts, in their order.
pub(super) fn first_queries(request: &Request) -> Vec<AnyQuery> {
    match request {
        Request::Create(request) => create::first_queries(&request.order),
        _ => {
            let order = about(request).map(|id| order_query(id, SqlDialect::Sqlite));
            order.into_iter().collect()
        }
    }
}

fn order_query(id: &str, dialect: SqlDialect) -> AnyQuery {
    let locking = dialect.lock_suffix();
    let statement = dynamic_sql(format!(
        "SELECT {ORDER_COLUMNS} FROM orders WHERE id = $1{locking}"
    ));
    statement.bind(id.to_owned())
}

/// Returns the id of the order that a request names; the order may not exist.
pub(super) fn about(request: &Request) -> Option<&str> {
    match request {
        Request::Create(_) | Request::Query(_) => None,
        Request::Update(request) => Some(&request.order_id),
        Request::Cancel(request) => Some(&request.order_id),
        Request::Fulfill(request) => Some(&request.order_id),
        Request::Return(request) => Some(&request.order_id),
    }
}

/// Returns the SKUs that a request names and whose stock it may change.
pub(super) fn named_skus(request: &Request) -> BTreeSet<String> {
    match request {
        Request::Create(request) => {
            let lines = request.order.line_items.iter();
            lines.map(|line| line.sku.clone()).collect()
        }
        Request::Update(request) => {
            let edits = request.updates.line_items.iter().flatten();
            edits.map(|edit| edit.sku.clone()).collect()
        }
        Request::Return(request) => {
            let lines = request.exchange_line_items.iter().flatten();
            lines.map(|line| line.sku.clone()).collect()
        }
        // Their SKUs are those of the order's lines.
        Request::Cancel(_) | Request::Fulfill(_) | Request::Query(_) => BTreeSet::new(),
    }
}

/// Returns the id of the order whose lines decide the stock that a request may change.
pub(super) fn uses_lines(request: &Request) -> Option<&str> {
    match request {
        Request::Cancel(_) | Request::Fulfill(_) => about(request),
        Request::Update(update) if update.updates.returns.is_some() => about(request),
        _ => None,
    }
}

/// Adds the SKUs of an order's lines. They are read without a lock: they only decide which changes
/// wait for each other.
pub(super) async fn skus_of_lines(
    store: &Store,
    order: &str,
    mut skus: BTreeSet<String>,
) -> Result<BTreeSet<String>, Failure> {
    let text = "SELECT DISTINCT sku FROM order_lines WHERE order_id = $1";
    let rows = store.read(|| sql(text).bind(order.to_owned())).await?;
    for row in &rows {
        skus.insert(get_text(row, 0)?);
    }
    Ok(skus)
}

/// Returns true if a request locks stock before the last statement of its transaction: it writes
/// the stock of locations, which is locked after that of the variants.
pub(super) fn locks_stock_early(request: &Request) -> bool {
    match request {
        Request::Fulfill(_) => true,
        Request::Update(request) => request.updates.returns.is_some(),
        _ => false,
    }
}

impl ChangeContext<'_> {
    /// Loads and locks the order with this id.
    async fn lock_order(&mut self, id: &str) -> Result<OrderRow, TransactionError> {
        let statement = order_query(id, self.session.dialect());
        let row = self.session.first(statement).await?;
        let missing =
            || Failure::from(OrderRefusal::from(RefusalReason::OrderNotFound).at("orderId"));
        Ok(order_row(&row.ok_or_else(missing)?)?)
    }

    /// As `lock_order`; refuses an order whose units can no longer be shipped or cancelled.
    async fn lock_open_order(&mut self, id: &str) -> Result<OrderRow, TransactionError> {
        let order_row = self.lock_order(id).await?;
        if !order_row.status.is_open() {
            let refused = OrderRefusal::from(RefusalReason::InvalidOrderState).at("orderId");
            return Err(Failure::from(refused.in_status(order_row.status)).into());
        }
        Ok(order_row)
    }
}
