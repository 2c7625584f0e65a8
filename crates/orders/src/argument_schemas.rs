//! The arguments of the tools, as schemas: what is published is what is enforced.

use crate::cursor::CURSOR_MAX;
use crate::model::{OrderStatus, QUANTITY_MAX};
use crate::query::{PAGE_DEFAULT, PAGE_MAX};
use crate::sql::STOCK_MAX;
use serde_json::{Map, Value, json};

/// How many lines an order may have.
pub const LINES_MAX: usize = 500;

/// How many values one filter may list.
pub const FILTER_MAX: usize = 100;

/// The longest name, SKU or line of an address.
pub const TEXT_MAX: usize = 255;

/// The longest notes.
pub const NOTES_MAX: usize = 5_000;

/// How many tags, fields of the caller's own or tracking numbers there may be.
pub const LIST_MAX: usize = 50;

/// The longest idempotency key.
pub const KEY_MAX: usize = 255;

/// Text of one line: no control characters, no line separators, nothing that turns its direction.
const LINE: &str =
    r"^[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]*$";

/// The same with line breaks and tabs.
const LINES: &str = r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]*$";

/// An amount; how many places it may have is up to its currency.
const AMOUNT: &str = r"^[0-9]{1,15}(\.[0-9]{1,4})?$";

/// Something before an @, something behind it; mail alone can tell more.
const EMAIL: &str = r"^[^@\s]+@[^@\s]+$";

/// The longest address of mail.
const EMAIL_MAX: usize = 254;

// A key is text of one line like any other.
const _: () = assert!(KEY_MAX == TEXT_MAX && EMAIL_MAX < TEXT_MAX);

/// An object with exactly these members.
pub(crate) fn object(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false
    })
}

/// What is said of text of one line, so that nobody has to read it out of the pattern.
const ONE_LINE: &str = "one line, no control or direction characters";

/// The same of text of several lines.
const SEVERAL_LINES: &str = "no control or direction characters";

/// The schemas that the arguments of a tool name in many places, those first that name others.
fn definitions() -> [(&'static str, Value); 2] {
    [("address", address_itself()), ("line", line(1, TEXT_MAX))]
}

/// A reference to one of the definitions.
fn defined(name: &str, description: &str) -> Value {
    said(description, json!({ "$ref": place_of(name) }))
}

fn place_of(name: &str) -> String {
    format!("#/$defs/{name}")
}

/// The arguments of a tool: an object with exactly these members, and the definitions that they name.
/// Written out in every place they would make half of the list of tools.
pub(crate) fn arguments(required: &[&str], properties: Value) -> Value {
    let mut schema = object(required, properties);
    let mut named = Map::new();
    for (name, definition) in definitions() {
        let place = Value::from(place_of(name)).to_string();
        let names_it = |schema: &Value| schema.to_string().contains(&place);
        if names_it(&schema) || named.values().any(names_it) {
            named.insert(name.to_owned(), definition);
        }
    }
    if !named.is_empty() {
        schema["$defs"] = Value::Object(named);
    }
    schema
}

/// Text of one line.
fn line(least: usize, most: usize) -> Value {
    let mut schema = json!({ "type": "string", "maxLength": most });
    if least > 0 {
        schema["minLength"] = least.into();
    }
    schema["allOf"] = json!([{ "pattern": LINE, "description": ONE_LINE }]);
    schema
}

fn text(description: &str) -> Value {
    defined("line", description)
}

/// The schema with a description, where there is one.
fn said(description: &str, mut schema: Value) -> Value {
    if !description.is_empty() {
        schema["description"] = description.into();
    }
    schema
}

fn list(description: &str, items: Value, most: usize) -> Value {
    said(
        description,
        json!({ "type": "array", "minItems": 1, "maxItems": most, "items": items }),
    )
}

/// As [`list`]; none at all is a list too.
fn any_list(description: &str, items: Value) -> Value {
    said(
        description,
        json!({ "type": "array", "maxItems": LIST_MAX, "items": items }),
    )
}

fn amount(description: &str) -> Value {
    said(description, json!({ "type": "string", "pattern": AMOUNT }))
}

fn email() -> Value {
    json!({ "maxLength": EMAIL_MAX, "pattern": EMAIL, "$ref": place_of("line") })
}

fn quantity() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": QUANTITY_MAX })
}

fn notes() -> Value {
    let pattern = json!([{ "pattern": LINES, "description": SEVERAL_LINES }]);
    json!({ "type": "string", "maxLength": NOTES_MAX, "allOf": pattern })
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
    defined("address", "")
}

fn address_itself() -> Value {
    object(
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
    let mut schema = object(
        &[],
        json!({
            "id": text("A known customer"),
            "email": email(),
            "firstName": text(""),
            "lastName": text("")
        }),
    );
    schema["anyOf"] = json!([{ "required": ["email"] }, { "required": ["id"] }]);
    said("A known customer by id, or anybody by email", schema)
}

fn custom_fields() -> Value {
    let value = line(0, TEXT_MAX);
    any_list(
        "",
        object(
            &["name", "value"],
            json!({ "name": text(""), "value": value }),
        ),
    )
}

fn new_line() -> Value {
    object(
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
    object(
        &["lineItems"],
        json!({
            "externalId": text("Your own id for the order; no other order may have it"),
            "name": text(""),
            "currency": { "type": "string", "pattern": "^[A-Z]{3}$", "description": "ISO 4217; the store's if absent" },
            "lineItems": list("", new_line(), LINES_MAX),
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
    let mut schema = object(
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
    said("What is to be different; the rest stays", schema)
}

/// Quantities of SKUs of an order.
pub(crate) fn line_quantities(description: &str) -> Value {
    let line = object(
        &["sku", "quantity"],
        json!({ "sku": text(""), "quantity": quantity() }),
    );
    list(description, line, LINES_MAX)
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
        "emails" => list("", email(), FILTER_MAX),
        "createdAtMin" | "createdAtMax" | "updatedAtMin" | "updatedAtMax" => {
            json!({ "type": "string", "format": "date-time", "maxLength": 64 })
        }
        _ => list("", text(""), FILTER_MAX),
    }
}

/// The arguments of a query with these filters.
pub(crate) fn query(filters: &[&str]) -> Value {
    let mut properties: Map<String, Value> = filters
        .iter()
        .map(|name| ((*name).to_owned(), filter(name)))
        .collect();
    let size =
        json!({ "type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": PAGE_DEFAULT });
    properties.insert(String::from("pageSize"), size);
    let cursor = json!({
        "type": "string",
        "minLength": 1,
        "maxLength": CURSOR_MAX,
        "description": "nextCursor of the last page, with the same filters"
    });
    properties.insert(String::from("cursor"), cursor);
    arguments(&[], Value::Object(properties))
}

/// The file that a catalogue comes in.
pub(crate) fn catalogue() -> Value {
    let lying = object(
        &["locationId", "onHand"],
        json!({
            "locationId": text(""),
            "onHand": { "type": "integer", "minimum": 0, "maximum": STOCK_MAX }
        }),
    );
    let variant = object(
        &["sku", "price"],
        json!({
            "sku": text(""),
            "name": text(""),
            "price": amount(""),
            "stock": { "type": "array", "items": lying }
        }),
    );
    let product = object(
        &["id", "name"],
        json!({
            "id": text(""),
            "name": text(""),
            "description": notes(),
            "variants": { "type": "array", "items": variant }
        }),
    );
    let location = object(&["id", "name"], json!({ "id": text(""), "name": text("") }));
    arguments(
        &[],
        json!({
            "locations": { "type": "array", "items": location },
            "products": { "type": "array", "items": product }
        }),
    )
}
