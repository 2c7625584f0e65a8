//! The JSON Schemas of the tools' arguments. The published schema is the one that is enforced.

use crate::cursor::MAX_CURSOR;
use crate::model::field_schemas::{
    amount, closed_object, definition_pointer, line, line_definition, notes, reference, text,
    with_definitions, with_description,
};
use crate::model::{MAX_PAGE_SIZE, MAX_QUANTITY, MAX_TEXT, OrderStatus, PAGE_DEFAULT};
use serde_json::{Map, Value, json};

/// The most lines of an order.
pub const MAX_LINES: usize = 500;

/// The most values of one filter.
pub const MAX_FILTER: usize = 100;

/// The most tags, custom fields or tracking numbers.
pub const MAX_LIST: usize = 50;

/// The longest idempotency key, in characters.
pub const MAX_KEY: usize = 255;

/// One `@` with text on both sides. Only sending mail can prove more.
const EMAIL: &str = r"^[^@\s]+@[^@\s]+$";

const MAX_EMAIL: usize = 254;

// Keys and email addresses use the definition of a line.
const _: () = assert!(MAX_KEY == MAX_TEXT && MAX_EMAIL < MAX_TEXT);

/// Returns the schema of a tool's arguments, with the definitions that it refers to.
pub(crate) fn arguments(required: &[&str], properties: Value) -> Value {
    with_definitions(
        closed_object(required, properties),
        [("address", address_definition()), line_definition()],
    )
}

fn list(description: &str, items: Value, most: usize) -> Value {
    with_description(
        description,
        json!({ "type": "array", "minItems": 1, "maxItems": most, "items": items }),
    )
}

/// As [`list`]; none at all is a list too.
fn any_list(description: &str, items: Value) -> Value {
    with_description(
        description,
        json!({ "type": "array", "maxItems": MAX_LIST, "items": items }),
    )
}

fn email() -> Value {
    json!({ "maxLength": MAX_EMAIL, "pattern": EMAIL, "$ref": definition_pointer("line") })
}

fn quantity() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": MAX_QUANTITY })
}

/// The key that every change has.
pub(crate) fn key() -> Value {
    text(
        "A new UUID for each wish of the user. To retry, send the same key with the same arguments: the change is made once.",
    )
}

pub(crate) fn order_id() -> Value {
    text("The id of the order, as get-orders shows it")
}

fn address() -> Value {
    reference("address", "")
}

fn address_definition() -> Value {
    closed_object(
        &["address1", "city", "country"],
        json!({
            "address1": text(""),
            "address2": text(""),
            "city": text(""),
            "stateOrProvince": text(""),
            "zipCodeOrPostalCode": text(""),
            "country": { "type": "string", "pattern": "^[A-Z]{2}$", "description": "ISO 3166 alpha-2" },
            "firstName": text(""),
            "lastName": text(""),
            "company": text(""),
            "phone": text("")
        }),
    )
}

fn customer() -> Value {
    let mut schema = closed_object(
        &[],
        json!({
            "id": text("A known customer"),
            "email": email(),
            "firstName": text(""),
            "lastName": text("")
        }),
    );
    schema["anyOf"] = json!([{ "required": ["email"] }, { "required": ["id"] }]);
    with_description("A known customer by id, or anybody by email", schema)
}

fn custom_fields() -> Value {
    let value = line(0, MAX_TEXT);
    any_list(
        "",
        closed_object(
            &["name", "value"],
            json!({ "name": text(""), "value": value }),
        ),
    )
}

fn new_line() -> Value {
    closed_object(
        &["sku", "quantity"],
        json!({
            "sku": text(""),
            "quantity": quantity(),
            "unitPrice": amount("The catalogue's price if absent"),
            "unitDiscount": amount("Taken off for each unit"),
            "name": text("The catalogue's name if absent")
        }),
    )
}

/// The order of `create-sales-order`.
pub(crate) fn new_order() -> Value {
    closed_object(
        &["lineItems"],
        json!({
            "externalId": text("Your own id for the order; no other order may have it"),
            "name": text(""),
            "currency": { "type": "string", "pattern": "^[A-Z]{3}$", "description": "ISO 4217; the store's if absent" },
            "lineItems": list("", new_line(), MAX_LINES),
            "customer": customer(),
            "shippingAddress": address(),
            "billingAddress": address(),
            "tags": any_list("", text("")),
            "customFields": custom_fields(),
            "notes": notes(),
            "subTotal": amount("Checked, if given"),
            "discountTotal": amount("Checked, if given"),
            "total": amount("Checked, if given")
        }),
    )
}

/// The updates of `update-order`.
pub(crate) fn updates() -> Value {
    let mut schema = closed_object(
        &[],
        json!({
            "status": { "type": "string", "enum": ["confirmed", "processing", "delivered"] },
            "name": text(""),
            "shippingAddress": address(),
            "billingAddress": address(),
            "tags": any_list("", text("")),
            "customFields": custom_fields(),
            "notes": notes()
        }),
    );
    schema["minProperties"] = json!(1);
    with_description("What is to be different; the rest stays", schema)
}

/// Quantities of SKUs of an order.
pub(crate) fn line_quantities(description: &str) -> Value {
    let line = closed_object(
        &["sku", "quantity"],
        json!({ "sku": text(""), "quantity": quantity() }),
    );
    list(description, line, MAX_LINES)
}

pub(crate) fn reason() -> Value {
    text("Why")
}

pub(crate) fn tracking_numbers() -> Value {
    any_list("The carrier's numbers", text(""))
}

pub(crate) fn location() -> Value {
    text("Where the goods leave; wherever stock lies if absent")
}

pub(crate) fn outcome() -> Value {
    json!({ "type": "string", "enum": ["refund", "exchange", "store-credit"], "description": "What the customer gets" })
}

/// The filters that an entity may have, each with its schema.
fn filter(name: &str) -> Value {
    match name {
        "statuses" => {
            let words = OrderStatus::ALL.map(OrderStatus::word);
            list("", json!({ "type": "string", "enum": words }), words.len())
        }
        "emails" => list("", email(), MAX_FILTER),
        "createdAtMin" | "createdAtMax" | "updatedAtMin" | "updatedAtMax" => {
            json!({ "type": "string", "format": "date-time", "maxLength": 64 })
        }
        _ => list("", text(""), MAX_FILTER),
    }
}

/// The arguments of a query with these filters.
pub(crate) fn query(filters: &[&str]) -> Value {
    let mut properties: Map<String, Value> = filters
        .iter()
        .map(|name| ((*name).to_owned(), filter(name)))
        .collect();
    let size = json!({ "type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": PAGE_DEFAULT });
    properties.insert(String::from("pageSize"), size);
    let cursor = json!({
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_CURSOR,
        "description": "nextCursor of the last page, with the same filters"
    });
    properties.insert(String::from("cursor"), cursor);
    arguments(&[], Value::Object(properties))
}
