//! The five tools that change something. Each needs an idempotency key and makes its change once.

use super::{Answer, argument_rules, with_answer_schema};
use crate::argument_schemas::{
    arguments, exchange_lines, key, line_quantities, location, new_order, one_text, order_id,
    outcome, reason, refund_amount, return_lines, return_note, tracking_numbers, updates,
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
    arguments: T,
}

/// Makes a tool that changes something; `request` makes the request from its arguments.
fn change_tool<T: DeserializeOwned + Send + 'static>(
    operation: OrderOperation,
    description: &'static str,
    (required, mut properties): (&[&str], Value),
    request: fn(T) -> Request,
) -> Tool<OrdersServer> {
    properties["idempotencyKey"] = key();
    let required: Vec<_> = required.iter().copied().chain(["idempotencyKey"]).collect();
    let work = move |server: Arc<OrdersServer>, arguments: Keyed<T>, cx: CallContext| async move {
        change(&server, arguments.key, request(arguments.arguments), &cx).await
    };
    let tool = Tool::mutating(
        operation.name(),
        description,
        arguments(&required, properties),
        work,
    );
    with_answer_schema(operation, tool).idempotent()
}

async fn change(
    server: &OrdersServer,
    key: String,
    request: Request,
    cx: &CallContext,
) -> Result<Reply, Fault<Orders>> {
    let response = match argument_rules::check_request(&request) {
        Ok(()) => server.ask(&request, Some(key), cx).await,
        Err(broken) => Err(broken.into()),
    };
    let response = response.map_err(|failure| failure.fault(cx.mark.effect()))?;
    let answer = Answer {
        operation: request.operation(),
        response: &response,
        next: None,
    };
    answer.reply()
}

fn create() -> Tool<OrdersServer> {
    change_tool(
        OrderOperation::CreateOrder,
        "Make a sales order and reserve its stock. Not for changing one: use update-order.",
        (&["order"], json!({ "order": new_order() })),
        |arguments: CreateOrder| Request::Create(Box::new(arguments)),
    )
    .with_argument_rules(argument_rules::check_new_order)
    .additive()
}

fn update() -> Tool<OrdersServer> {
    change_tool(
        OrderOperation::UpdateOrder,
        "Set an order's status, addresses, lines, name, tags, fields or notes, record payments and refunds, or move its returns. Not for shipping or cancelling: use fulfill-order or cancel-order.",
        (
            &["orderId", "updates"],
            json!({ "orderId": order_id(), "updates": updates() }),
        ),
        |arguments: UpdateOrder| Request::Update(Box::new(arguments)),
    )
    .with_argument_rules(argument_rules::check_updates)
}

fn cancel() -> Tool<OrdersServer> {
    change_tool(
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
        |arguments: CancelOrder| Request::Cancel(arguments),
    )
}

fn fulfill() -> Tool<OrdersServer> {
    change_tool(
        OrderOperation::FulfillOrder,
        "Ship an order, or some units of it; it needs a shipping address. Not for marking it delivered: use update-order.",
        (
            &["orderId"],
            json!({
                "orderId": order_id(),
                "lineItems": line_quantities("What to ship; everything open if absent"),
                "trackingNumbers": tracking_numbers(),
                "locationId": location(),
                "carrier": one_text(),
                "service": one_text()
            }),
        ),
        |arguments: FulfillOrder| Request::Fulfill(arguments),
    )
}

fn create_return() -> Tool<OrdersServer> {
    change_tool(
        OrderOperation::CreateReturn,
        "Take back units that have shipped, and optionally order a replacement. Not for units that have not shipped: use cancel-order.",
        (
            &["orderId", "lineItems", "outcome"],
            json!({
                "orderId": order_id(),
                "lineItems": return_lines(),
                "outcome": outcome(),
                "note": return_note(),
                "refundAmount": refund_amount(),
                "exchangeLineItems": exchange_lines()
            }),
        ),
        |arguments: CreateReturn| Request::Return(arguments),
    )
    .additive()
}
