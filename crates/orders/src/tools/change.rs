//! The five tools that change something; each needs a key, and makes its change once.

use super::{Answer, answering, check};
use crate::argument_schemas::{
    arguments, key, line_quantities, location, new_order, order_id, outcome, reason,
    tracking_numbers, updates,
};
use crate::failure::RuleViolation;
use crate::model::{CancelOrder, CreateOrder, CreateReturn, FulfillOrder, UpdateOrder};
use crate::server::OrdersServer;
use crate::{Failure, OrderOperation, Request};
use candor_fault::Fault;
use candor_fault::dialects::Orders;
use candor_street::{CallContext, Reply, Tool};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn all() -> [Tool<OrdersServer>; 5] {
    [create(), update(), cancel(), fulfill(), create_return()]
}

/// What a change asks for, with its key.
#[derive(Deserialize)]
struct Keyed<T> {
    #[serde(rename = "idempotencyKey")]
    key: String,
    #[serde(flatten)]
    asked: T,
}

/// A tool that changes something: `read` makes the request, or says what is wrong with it.
fn changing<T: DeserializeOwned + Send + 'static>(
    operation: OrderOperation,
    description: &'static str,
    (required, mut properties): (&[&str], Value),
    read: fn(T) -> Result<Request, RuleViolation>,
) -> Tool<OrdersServer> {
    properties["idempotencyKey"] = key();
    let required: Vec<_> = required.iter().copied().chain(["idempotencyKey"]).collect();
    let work = move |server: Arc<OrdersServer>, asked: Keyed<T>, cx: CallContext| async move {
        change(&server, asked.key, read(asked.asked), &cx).await
    };
    let tool = Tool::mutating(
        operation.name(),
        description,
        arguments(&required, properties),
        work,
    );
    answering(operation, tool).idempotent()
}

async fn change(
    server: &OrdersServer,
    key: String,
    request: Result<Request, RuleViolation>,
    cx: &CallContext,
) -> Result<Reply, Fault<Orders>> {
    let asked = async {
        let request = request.map_err(Failure::from)?;
        let response = server.ask(&request, Some(key), cx).await?;
        Ok((request.operation(), response))
    };
    let done: Result<_, Failure> = asked.await;
    let (operation, response) = done.map_err(|failure| failure.fault(cx.mark.effect()))?;
    let answer = Answer {
        operation,
        response: &response,
        next: None,
    };
    answer.reply()
}

fn create() -> Tool<OrdersServer> {
    changing(
        OrderOperation::CreateOrder,
        "Make a sales order and reserve its stock. Not for changing one: use update-order.",
        (&["order"], json!({ "order": new_order() })),
        |asked: CreateOrder| {
            check::new_order(&asked.order)?;
            Ok(Request::Create(Box::new(asked)))
        },
    )
    .additive()
}

fn update() -> Tool<OrdersServer> {
    changing(
        OrderOperation::UpdateOrder,
        "Set an order's status, addresses, name, tags, fields or notes. Not for shipping or cancelling: use fulfill-order or cancel-order.",
        (
            &["orderId", "updates"],
            json!({ "orderId": order_id(), "updates": updates() }),
        ),
        |asked: UpdateOrder| {
            check::updates(&asked.updates)?;
            Ok(Request::Update(Box::new(asked)))
        },
    )
}

fn cancel() -> Tool<OrdersServer> {
    changing(
        OrderOperation::CancelOrder,
        "Cancel an order, or some units of it, before they ship, and release their stock. Not for goods that have left: use create-return.",
        (
            &["orderId"],
            json!({
                "orderId": order_id(),
                "reason": reason(),
                "lineItems": line_quantities("What to cancel; everything open if absent")
            }),
        ),
        |asked: CancelOrder| Ok(Request::Cancel(asked)),
    )
}

fn fulfill() -> Tool<OrdersServer> {
    changing(
        OrderOperation::FulfillOrder,
        "Ship an order, or some units of it; it needs a shipping address. Not for marking it delivered: use update-order.",
        (
            &["orderId"],
            json!({
                "orderId": order_id(),
                "lineItems": line_quantities("What to ship; everything open if absent"),
                "trackingNumbers": tracking_numbers(),
                "locationId": location()
            }),
        ),
        |asked: FulfillOrder| Ok(Request::Fulfill(asked)),
    )
}

fn create_return() -> Tool<OrdersServer> {
    changing(
        OrderOperation::CreateReturn,
        "Take back units that have shipped. Not for units that have not: use cancel-order.",
        (
            &["orderId", "lineItems", "outcome"],
            json!({
                "orderId": order_id(),
                "lineItems": line_quantities("What came back"),
                "outcome": outcome()
            }),
        ),
        |asked: CreateReturn| Ok(Request::Return(asked)),
    )
    .additive()
}
