//! The schemas of arguments in compatibility mode: ours, with the members of the reference server.

use super::{IGNORED, MAX_SKIP, SHIPPING_NAMES};
use crate::OrderOperation;
use crate::argument_schemas::{exchange_lines, order_id, outcome, quantity};
use crate::model::MAX_LINES;
use crate::model::field_schemas::{amount, closed_object, notes, text, with_description};
use serde_json::{Value, json};

/// Returns the schema that is published and enforced in compatibility mode, made of our own.
pub(crate) fn accept(operation: OrderOperation, mut schema: Value) -> Value {
    let amounts = schema.pointer_mut("/$defs/amount");
    if let Some(amounts) = amounts {
        amounts["type"] = json!(["string", "number"]);
        amounts["minimum"] = 0.into();
    }
    if operation.changes() {
        drop_required(&mut schema, "idempotencyKey");
        let key = &mut schema["properties"]["idempotencyKey"];
        key["description"] = "A new UUID for each wish of the user. A call without it that is sent again is done again.".into();
    } else {
        schema["properties"]["skip"] =
            json!({ "type": "integer", "minimum": 0, "maximum": MAX_SKIP });
    }
    match operation {
        OrderOperation::CreateOrder => accept_order(&mut schema["properties"]["order"]),
        OrderOperation::UpdateOrder => {
            drop_required(&mut schema, "orderId");
            schema["properties"]["id"] = text("Another name of orderId");
            accept_order(&mut schema["properties"]["updates"]);
        }
        OrderOperation::CancelOrder => accept_lines(&mut schema["properties"]["lineItems"]),
        OrderOperation::FulfillOrder => {
            accept_lines(&mut schema["properties"]["lineItems"]);
            for (name, own) in SHIPPING_NAMES
                .into_iter()
                .filter(|(_, own)| *own != "price")
            {
                schema["properties"][name] = text(&format!("Another name of {own}"));
            }
        }
        OrderOperation::CreateReturn => {
            for name in ["orderId", "lineItems", "outcome"] {
                drop_required(&mut schema, name);
            }
            accept_lines(&mut schema["properties"]["lineItems"]);
            accept_lines(&mut schema["properties"]["exchangeLineItems"]);
            schema["properties"]["return"] = reference_return();
        }
        _ => {}
    }
    schema
}

fn drop_required(schema: &mut Value, name: &str) {
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|one| one != name);
    }
}

/// Accepts the members of an entity that are ignored; `id` keeps its meaning if it has one.
fn accept_ignored(schema: &mut Value) {
    if let Some(properties) = schema["properties"].as_object_mut() {
        for name in IGNORED {
            properties.entry(name).or_insert_with(|| text("Ignored"));
        }
    }
}

fn accept_lines(list: &mut Value) {
    accept_ignored(&mut list["items"]);
}

fn accept_order(order: &mut Value) {
    accept_ignored(order);
    let properties = &mut order["properties"];
    if !properties["customer"].is_null() {
        accept_ignored(&mut properties["customer"]);
    }
    accept_lines(&mut properties["lineItems"]);
    properties["orderNote"] = with_description("Another name of notes", notes());
    for (name, own) in SHIPPING_NAMES {
        let description = format!("Another name of shipping.{own}");
        properties[name] = match own {
            "price" => amount(&description),
            _ => text(&description),
        };
    }
}

/// The return of `create-return` as the reference server takes it.
fn reference_return() -> Value {
    let mut line = closed_object(
        &["sku", "quantityReturned"],
        json!({
            "sku": text(""),
            "quantityReturned": quantity(),
            "returnReason": text("Another one than of lineItems.reason becomes the note"),
            "orderLineItemId": text("The line, if it is a number")
        }),
    );
    accept_ignored(&mut line);
    let mut exchange = exchange_lines();
    accept_lines(&mut exchange);
    let lines = json!({ "type": "array", "minItems": 1, "maxItems": MAX_LINES, "items": line });
    let mut schema = closed_object(
        &["orderId", "outcome", "returnLineItems"],
        json!({
            "orderId": order_id(),
            "outcome": outcome(),
            "returnLineItems": lines,
            "exchangeLineItems": exchange
        }),
    );
    accept_ignored(&mut schema);
    with_description("Instead of orderId, lineItems and outcome", schema)
}
