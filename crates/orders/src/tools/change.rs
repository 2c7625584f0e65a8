//! The five tools that change something. Each needs an idempotency key and makes its change once.

use super::{Answer, answering, argument_rules};
use crate::argument_schemas::{
    arguments, key, line_quantities, location, new_order, order_id, outcome, reason,
    tracking_numbers, updates,
};
use crate::dialect::Orders;
use crate::model::{CancelOrder, CreateOrder, CreateReturn, FulfillOrder, UpdateOrder};
use crate::server::OrdersServer;
use crate::{OrderOperation, Request};
use candor_fault::Fault;
use candor_street::{CallContext, Reply, Tool};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn all() -> [Tool<OrdersServer>; 5] {
    [create(), update(), cancel(), fulfill(), create_return()]
}

/// The arguments of a change.
#[derive(Deserialize)]
struct Keyed<T> {
    #[serde(rename = "idempotencyKey")]
    key: String,
    #[serde(flatten)]
    asked: T,
}

/// Makes a tool that changes something; `request` makes the request from its arguments.
fn changing<T: DeserializeOwned + Send + 'static>(
    operation: OrderOperation,
    description: &'static str,
    (required, mut properties): (&[&str], Value),
    request: fn(T) -> Request,
) -> Tool<OrdersServer> {
    properties["idempotencyKey"] = key();
    let required: Vec<_> = required.iter().copied().chain(["idempotencyKey"]).collect();
    let work = move |server: Arc<OrdersServer>, asked: Keyed<T>, cx: CallContext| async move {
        change(&server, asked.key, request(asked.asked), &cx).await
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
    request: Request,
    cx: &CallContext,
) -> Result<Reply, Fault<Orders>> {
    let response = server.ask(&request, Some(key), cx).await;
    let response = response.map_err(|failure| failure.fault(cx.mark.effect()))?;
    let answer = Answer {
        operation: request.operation(),
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
        |asked: CreateOrder| Request::Create(Box::new(asked)),
    )
    .with_argument_rules(argument_rules::check_new_order)
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
        |asked: UpdateOrder| Request::Update(Box::new(asked)),
    )
    .with_argument_rules(argument_rules::check_updates)
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
        |asked: CancelOrder| Request::Cancel(asked),
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
        |asked: FulfillOrder| Request::Fulfill(asked),
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
        |asked: CreateReturn| Request::Return(asked),
    )
    .additive()
}
