//! The five tools that change something. Each needs an idempotency key and makes its change once.

use super::{Answer, argument_rules, with_answer_schema};
use crate::argument_schemas::{
    arguments, exchange_lines, key, line_quantities, location, new_order, one_text, order_id,
    outcome, reason, refund_amount, return_lines, return_note, tracking_numbers, updates,
};
use crate::dialect::Orders;
use crate::faults::fault_without_key;
use crate::model::{CancelOrder, CreateOrder, CreateReturn, FulfillOrder, UpdateOrder};
use crate::server::OrdersServer;
use crate::{Compat, Failure, OrderOperation, Request, Response, RuleViolation, reference};
use candor_fault::{Effect, Fault, Violations};
use candor_street::{CallContext, IndexedText, JsonRef, Reply, Tool};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn all(compat: Option<Compat>) -> [Tool<OrdersServer>; 5] {
    [
        create(compat),
        update(compat),
        cancel(compat),
        fulfill(compat),
        create_return(compat),
    ]
}

/// The arguments of a change.
#[derive(Deserialize)]
struct Keyed<T> {
    #[serde(rename = "idempotencyKey")]
    key: String,
    #[serde(flatten)]
    arguments: T,
}

/// The arguments of a change in compatibility mode.
#[derive(Deserialize)]
struct OptionallyKeyed<T> {
    #[serde(rename = "idempotencyKey", default)]
    key: Option<String>,
    #[serde(flatten)]
    arguments: T,
}

/// The rules about the arguments of a tool that no schema can state.
type ArgumentRules = fn(JsonRef<'_>) -> Violations;

fn no_rules(_: JsonRef<'_>) -> Violations {
    Violations::default()
}

/// Makes a tool that changes something; `request` makes the request from its arguments.
fn change_tool<T: DeserializeOwned + Send + 'static>(
    operation: OrderOperation,
    description: &'static str,
    (required, mut properties): (&[&str], Value),
    (request, rules): (fn(T) -> Request, ArgumentRules),
    compat: Option<Compat>,
) -> Tool<OrdersServer> {
    properties["idempotencyKey"] = key();
    let required: Vec<_> = required.iter().copied().chain(["idempotencyKey"]).collect();
    let schema = arguments(&required, properties);
    let tool = match compat {
        None => {
            let work = move |server: Arc<OrdersServer>, arguments: Keyed<T>, cx: CallContext| async move {
                change(&server, arguments.key, request(arguments.arguments), &cx).await
            };
            let tool = Tool::mutating(operation.name(), description, schema, work);
            tool.with_argument_rules(rules).idempotent()
        }
        // Without a key, the same call twice is two changes.
        Some(Compat::Reference) => Tool::mutating_with_parser(
            operation.name(),
            description,
            reference::accept(operation, schema),
            move |arguments| parse_reference_call(operation, arguments, rules),
            move |server: Arc<OrdersServer>, arguments, cx: CallContext| async move {
                change_for_reference(&server, arguments, request, &cx).await
            },
        ),
    };
    with_answer_schema(operation, tool, compat)
}

/// The arguments of a change in compatibility mode, or the rule that they break although the schema
/// admits them.
type ReferenceCall<T> = Result<OptionallyKeyed<T>, RuleViolation>;

/// Translates arguments of the reference server, and parses them as ours.
fn parse_reference_call<T: DeserializeOwned>(
    operation: OrderOperation,
    arguments: JsonRef<'_>,
    rules: ArgumentRules,
) -> Result<Option<ReferenceCall<T>>, Violations> {
    let translated = match reference::translate_change(operation, arguments) {
        Ok(translated) => IndexedText::unbounded(&translated),
        Err(broken) => return Ok(Some(Err(broken))),
    };
    let broken = rules(translated.root());
    match broken.is_empty() {
        true => Ok(OptionallyKeyed::deserialize(translated.root()).ok().map(Ok)),
        false => Err(broken),
    }
}

async fn change_for_reference<T>(
    server: &OrdersServer,
    arguments: ReferenceCall<T>,
    request: fn(T) -> Request,
    cx: &CallContext,
) -> Result<Reply, Fault<Orders>> {
    let broken = |broken: RuleViolation| Failure::from(broken).fault(Effect::None);
    let OptionallyKeyed { key, arguments } = arguments.map_err(broken)?;
    let request = request(arguments);
    let Some(key) = key else {
        let own_key = server.new_key();
        return match ask(server, own_key.clone(), &request, cx).await {
            Ok(response) => answer(server, &request, &response).reply_with_key(&own_key),
            Err(failure) => Err(fault_without_key(failure, cx.mark.effect(), own_key)),
        };
    };
    change(server, key, request, cx).await
}

async fn change(
    server: &OrdersServer,
    key: String,
    request: Request,
    cx: &CallContext,
) -> Result<Reply, Fault<Orders>> {
    let response = ask(server, key, &request, cx).await;
    let response = response.map_err(|failure| failure.fault(cx.mark.effect()))?;
    answer(server, &request, &response).reply()
}

async fn ask(
    server: &OrdersServer,
    key: String,
    request: &Request,
    cx: &CallContext,
) -> Result<Response, Failure> {
    argument_rules::check_request(request)?;
    server.ask(request, Some(key), cx).await
}

fn answer<'a>(server: &OrdersServer, request: &Request, response: &'a Response) -> Answer<'a> {
    Answer {
        operation: request.operation(),
        response,
        next: None,
        compat: server.compat(),
    }
}

fn create(compat: Option<Compat>) -> Tool<OrdersServer> {
    change_tool(
        OrderOperation::CreateOrder,
        "Make a sales order and reserve its stock. Not for changing one: use update-order.",
        (&["order"], json!({ "order": new_order() })),
        (
            |arguments: CreateOrder| Request::Create(Box::new(arguments)),
            argument_rules::check_new_order,
        ),
        compat,
    )
    .additive()
}

fn update(compat: Option<Compat>) -> Tool<OrdersServer> {
    change_tool(
        OrderOperation::UpdateOrder,
        "Set an order's status, addresses, lines, name, tags, fields or notes, record payments and refunds, or move its returns. Not for shipping or cancelling: use fulfill-order or cancel-order.",
        (
            &["orderId", "updates"],
            json!({ "orderId": order_id(), "updates": updates() }),
        ),
        (
            |arguments: UpdateOrder| Request::Update(Box::new(arguments)),
            argument_rules::check_updates,
        ),
        compat,
    )
}

fn cancel(compat: Option<Compat>) -> Tool<OrdersServer> {
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
        (
            |arguments: CancelOrder| Request::Cancel(arguments),
            no_rules,
        ),
        compat,
    )
}

fn fulfill(compat: Option<Compat>) -> Tool<OrdersServer> {
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
        (
            |arguments: FulfillOrder| Request::Fulfill(arguments),
            no_rules,
        ),
        compat,
    )
}

fn create_return(compat: Option<Compat>) -> Tool<OrdersServer> {
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
        (|arguments: CreateReturn| Request::Return(arguments), no_rules),
        compat,
    )
    .additive()
}
