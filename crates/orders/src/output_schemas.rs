//! The JSON Schemas of entities, against which answers of adapters are validated, and of the
//! envelopes around them, which are published as `outputSchema`.

use crate::OrderOperation;
use crate::model::{
    OrderStatus, PaymentMethod, PaymentStatus, RecordedStatus, ReturnOutcome, ReturnReason,
    ReturnStatus,
};
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

fn one_of(words: &[&str]) -> Value {
    json!({ "enum": words })
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
    json!({ "email": text(), "firstName": text(), "lastName": text(), "phone": text() })
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
        json!({ "line": line_number(), "name": text(), "tax": amount() }),
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
            "platformStatus": text(),
            "name": text(),
            "customer": shape(json!({}), customer),
            "shippingAddress": address(),
            "billingAddress": address(),
            "tags": texts(),
            "customFields": list(shape(json!({ "name": text(), "value": text() }), json!({}))),
            "notes": text(),
            "cancelReason": text(),
            "orderNumber": text(),
            "shipping": shipping(),
            "exchangeFor": text(),
            "orderDiscount": amount(),
            "shippingTotal": amount(),
            "orderTax": amount(),
            "taxTotal": amount(),
            "taxIncluded": { "type": "boolean" },
            "payments": list(payment()),
            "refunds": list(refund()),
            "paidTotal": amount(),
            "refundedTotal": amount(),
            "paymentStatus": one_of(&PaymentStatus::words())
        }),
    )
}

fn line_number() -> Value {
    json!({ "type": "integer", "minimum": 1 })
}

fn shipping() -> Value {
    shape(
        json!({}),
        json!({
            "carrier": text(),
            "service": text(),
            "price": amount(),
            "tax": amount(),
            "instructions": text()
        }),
    )
}

fn payment() -> Value {
    shape(
        json!({
            "id": text(),
            "reference": text(),
            "method": one_of(&PaymentMethod::words()),
            "amount": amount(),
            "status": one_of(&RecordedStatus::words()),
            "at": instant()
        }),
        json!({}),
    )
}

fn refund() -> Value {
    shape(
        json!({ "id": text(), "amount": amount(), "reference": text(), "at": instant() }),
        json!({ "reason": text(), "returnId": text() }),
    )
}

fn line_quantity() -> Value {
    json!({ "sku": text(), "quantity": count() })
}

fn fulfillment() -> Value {
    let line = shape(line_quantity(), json!({ "locationId": text() }));
    shape(
        stamped(json!({ "id": text(), "orderId": text(), "lineItems": list(line) })),
        json!({ "trackingNumbers": texts(), "carrier": text(), "service": text() }),
    )
}

fn returned() -> Value {
    let reason = one_of(&ReturnReason::words());
    let line = shape(
        line_quantity(),
        json!({ "line": line_number(), "reason": reason }),
    );
    shape(
        stamped(json!({
            "id": text(),
            "orderId": text(),
            "outcome": one_of(&ReturnOutcome::words()),
            "lineItems": list(line)
        })),
        json!({
            "status": one_of(&ReturnStatus::words()),
            "note": text(),
            "refundAmount": amount(),
            "exchangeOrderId": text(),
            "restockLocationId": text()
        }),
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

/// Returns the members that identify an entity in an operation's answer.
const fn identifiers(operation: OrderOperation) -> &'static [&'static str] {
    match operation {
        OrderOperation::FulfillOrder
        | OrderOperation::GetFulfillments
        | OrderOperation::CreateReturn
        | OrderOperation::GetReturns => &["id", "orderId"],
        OrderOperation::GetVariants => &["id", "sku"],
        OrderOperation::GetInventory => &["sku", "locationId"],
        _ => &["id"],
    }
}

/// Returns the schema of an operation's answer as clients see it: the identifiers of its entities.
pub(crate) fn envelope(operation: OrderOperation) -> Value {
    let names = identifiers(operation);
    let members = names.iter().map(|name| ((*name).to_owned(), text()));
    let entity = shape(Value::Object(members.collect()), json!({}));
    let member = operation.member();
    match operation.changes() {
        true => json!({ "required": [member], "properties": { member: entity } }),
        false => json!({
            "required": [member, "nextCursor"],
            "properties": { member: list(entity), "nextCursor": { "type": ["string", "null"] } }
        }),
    }
}

/// Returns the files with the complete schemas of entities: name, title, schema.
pub(crate) fn entity_files() -> [(&'static str, &'static str, Value); 7] {
    [
        ("orders.order", "Orders: an order", order()),
        ("orders.fulfillment", "Orders: a fulfilment", fulfillment()),
        ("orders.return", "Orders: a return", returned()),
        ("orders.customer", "Orders: a customer", customer()),
        ("orders.product", "Orders: a product", product()),
        (
            "orders.product-variant",
            "Orders: a variant of a product",
            variant(),
        ),
        (
            "orders.inventory",
            "Orders: stock of a SKU at a location",
            inventory(),
        ),
    ]
}
