//! The five changes, each inside a transaction that somebody else ends. All checks of a change come
//! before its first write, so that a refusal leaves nothing to take back. Rows are locked in one
//! order: key, order, variants by SKU, stock by SKU and location.

mod cancel;
mod create;
mod fulfill;
mod lines;
mod returns;
mod update;

use super::failing::Ended;
use super::ids::Ids;
use super::order::{HEAD, Head, head};
use super::session::{Session, made};
use crate::Request;
use crate::failure::{Failure, Refused, Why};
use crate::model::{Currency, Moment};
use candor_fault::Cause;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// What a change has beside its request.
pub(super) struct Making<'a> {
    pub(super) session: &'a mut Session,
    pub(super) currency: Currency,
    pub(super) ids: &'a Ids,
    pub(super) at: Moment,
}

/// What a change comes to: the entity that answers show, and the order that it is about.
pub(super) struct Made {
    pub(super) entity: Box<RawValue>,
    pub(super) order: String,
}

impl Made {
    fn new(entity: &impl Serialize, order: &str) -> Result<Made, Ended> {
        let entity = to_raw_value(entity).map_err(|error| {
            let cause = Box::new(Cause::error("SerializationError", &error));
            Ended::Failed(Failure::Broken("an answer could not be written", cause))
        })?;
        let order = order.to_owned();
        Ok(Made { entity, order })
    }
}

/// Makes the change that is asked for.
pub(super) async fn make(making: Making<'_>, request: &Request) -> Result<Made, Ended> {
    match request {
        Request::Create(asked) => create::create(making, &asked.order).await,
        Request::Update(asked) => update::update(making, asked).await,
        Request::Cancel(asked) => cancel::cancel(making, asked).await,
        Request::Fulfill(asked) => fulfill::fulfill(making, asked).await,
        Request::Return(asked) => returns::take_back(making, asked).await,
        Request::Query(_) => {
            let cause = Box::new(Cause::from(request.operation().name()));
            Err(Failure::Broken("a query was taken for a change", cause).into())
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

impl Making<'_> {
    /// The order of this id, which nobody else changes before this transaction ends.
    async fn locked(&mut self, id: &str) -> Result<Head, Ended> {
        let locking = self.session.speaks().locking();
        let statement = made(format!("SELECT {HEAD} FROM orders WHERE id = $1{locking}"));
        let row = self.session.first(statement.bind(id.to_owned())).await?;
        let missing = || Failure::from(Refused::from(Why::OrderNotFound).at("orderId"));
        Ok(head(&row.ok_or_else(missing)?)?)
    }

    /// The same, where goods of it may still leave or be cancelled.
    async fn locked_open(&mut self, id: &str) -> Result<Head, Ended> {
        let head = self.locked(id).await?;
        if !head.status.is_open() {
            let refused = Refused::from(Why::InvalidOrderState).at("orderId");
            return Err(Failure::from(refused.in_status(head.status)).into());
        }
        Ok(head)
    }
}
