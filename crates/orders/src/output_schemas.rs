//! The JSON Schemas of the tools' answers. They are published as `outputSchema`, and answers of
//! adapters are validated against them.

use crate::OrderOperation;
use crate::model::OrderStatus;
use serde_json::{Value, json};

/// Returns the schema of an object with required and optional members.
fn shape(required: Value, optional: Value) -> Value {
    let names: Vec<_> = required
        .as_object()
        .map(|all| all.keys().cloned().collect())
        .unwrap_or_default();
    let members = [required, optional]
        .into_iter()
        .filter_map(|part| match part {
            Value::Object(members) => Some(members),
            _ => None,
        });
    let properties: serde_json::Map<_, _> = members.flatten().collect();
    json!({ "type": "object", "required": names, "properties": properties })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn amount() -> Value {
    json!({ "type": "string", "pattern": r"^[0-9]{1,15}(\.[0-9]{1,4})?$" })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn instant() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn texts() -> Value {
    list(text())
}

fn stamped(mut required: Value) -> Value {
    required["createdAt"] = instant();
    required["updatedAt"] = instant();
    required
}

fn address() -> Value {
    shape(
        json!({ "address1": text(), "city": text(), "country": text() }),
        json!({
            "address2": text(),
            "stateOrProvince": text(),
            "zipCodeOrPostalCode": text(),
            "firstName": text(),
            "lastName": text(),
            "company": text(),
            "phone": text()
        }),
    )
}

fn contact() -> Value {
    json!({ "email": text(), "firstName": text(), "lastName": text() })
}

fn order() -> Value {
    let line = shape(
        json!({
            "sku": text(),
            "quantity": count(),
            "unitPrice": amount(),
            "unitDiscount": amount(),
            "fulfilledQuantity": count(),
            "cancelledQuantity": count(),
            "returnedQuantity": count()
        }),
        json!({ "name": text() }),
    );
    let mut customer = contact();
    customer["id"] = text();
    shape(
        stamped(json!({
            "id": text(),
            "status": { "enum": OrderStatus::ALL.map(OrderStatus::word) },
            "currency": text(),
            "lineItems": list(line),
            "subTotal": amount(),
            "discountTotal": amount(),
            "total": amount()
        })),
        json!({
            "externalId": text(),
            "name": text(),
            "customer": shape(json!({}), customer),
            "shippingAddress": address(),
            "billingAddress": address(),
            "tags": texts(),
            "customFields": list(shape(json!({ "name": text(), "value": text() }), json!({}))),
            "notes": text(),
            "cancelReason": text()
        }),
    )
}

fn line_quantity() -> Value {
    json!({ "sku": text(), "quantity": count() })
}

fn fulfillment() -> Value {
    let line = shape(line_quantity(), json!({ "locationId": text() }));
    shape(
        stamped(json!({ "id": text(), "orderId": text(), "lineItems": list(line) })),
        json!({ "trackingNumbers": texts() }),
    )
}

fn returned() -> Value {
    shape(
        stamped(json!({
            "id": text(),
            "orderId": text(),
            "outcome": { "enum": ["refund", "exchange", "store-credit"] },
            "lineItems": list(shape(line_quantity(), json!({})))
        })),
        json!({}),
    )
}

fn customer() -> Value {
    shape(stamped(json!({ "id": text() })), contact())
}

fn product() -> Value {
    shape(
        stamped(json!({ "id": text(), "name": text() })),
        json!({ "description": text() }),
    )
}

fn variant() -> Value {
    shape(
        stamped(json!({
            "id": text(),
            "productId": text(),
            "sku": text(),
            "name": text(),
            "currency": text(),
            "price": amount()
        })),
        json!({}),
    )
}

fn inventory() -> Value {
    shape(
        stamped(json!({
            "sku": text(),
            "locationId": text(),
            "onHand": count(),
            "reservedTotal": count(),
            "availableTotal": count()
        })),
        json!({}),
    )
}

/// Returns the schema of one entity in an operation's answer.
pub(crate) fn entity(operation: OrderOperation) -> Value {
    match operation {
        OrderOperation::CreateOrder
        | OrderOperation::UpdateOrder
        | OrderOperation::CancelOrder
        | OrderOperation::GetOrders => order(),
        OrderOperation::FulfillOrder | OrderOperation::GetFulfillments => fulfillment(),
        OrderOperation::CreateReturn | OrderOperation::GetReturns => returned(),
        OrderOperation::GetCustomers => customer(),
        OrderOperation::GetProducts => product(),
        OrderOperation::GetVariants => variant(),
        OrderOperation::GetInventory => inventory(),
    }
}

/// Returns the schema of an operation's answer.
pub(crate) fn answer(operation: OrderOperation) -> Value {
    let member = operation.member();
    if operation.changes() {
        return shape(json!({ member: entity(operation) }), json!({}));
    }
    shape(
        json!({ member: list(entity(operation)), "nextCursor": { "type": ["string", "null"] } }),
        json!({}),
    )
}
