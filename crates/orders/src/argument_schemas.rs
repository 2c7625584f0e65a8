//! The JSON Schemas of the tools' arguments. The published schema is the one that is enforced.

use crate::OrderOperation;
use crate::cursor::MAX_CURSOR;
use crate::model::field_schemas::{
    amount, amount_definition, closed_object, definition_pointer, line, line_definition, notes,
    reference, text, with_definitions, with_description,
};
use crate::model::{
    MAX_ENTRIES, MAX_LINE, MAX_LINES, MAX_PAGE_SIZE, MAX_QUANTITY, MAX_TEXT, OrderStatus,
    PAGE_DEFAULT, PaymentMethod, PaymentStatus, RecordedStatus, ReturnOutcome, ReturnReason,
    ReturnStatus, SortOrder, TIME_FILTERS, filter_names,
};
use serde_json::{Map, Value, json};

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
        [
            ("address", address_definition()),
            ("shipping", shipping_definition()),
            ("payments", payments_definition()),
            ("texts", list("", text(""), MAX_FILTER)),
            (
                "time",
                json!({ "type": "string", "format": "date-time", "maxLength": 64 }),
            ),
            line_definition(),
            amount_definition(),
        ],
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

pub(crate) fn quantity() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": MAX_QUANTITY })
}

fn line_number() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": MAX_LINE })
}

fn one_of(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
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
            "lastName": text(""),
            "phone": text("")
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
            "name": text("The catalogue's name if absent"),
            "tax": amount("On the whole line")
        }),
    )
}

fn shipping() -> Value {
    reference("shipping", "")
}

fn shipping_definition() -> Value {
    closed_object(
        &[],
        json!({
            "carrier": text(""),
            "service": text(""),
            "price": amount(""),
            "tax": amount(""),
            "instructions": text("")
        }),
    )
}

fn payments() -> Value {
    reference("payments", "Money that moved elsewhere")
}

fn payments_definition() -> Value {
    let payment = closed_object(
        &["reference", "method", "amount"],
        json!({
            "reference": text("Unique in the order"),
            "method": one_of(&PaymentMethod::words()),
            "amount": amount(""),
            "status": with_description("Captured if absent", one_of(&RecordedStatus::words()))
        }),
    );
    list("", payment, MAX_ENTRIES)
}

fn refunds() -> Value {
    let refund = closed_object(
        &["amount", "reference"],
        json!({
            "amount": amount(""),
            "reference": text(""),
            "reason": text(""),
            "returnId": text("")
        }),
    );
    list("Money paid back elsewhere", refund, MAX_ENTRIES)
}

fn line_edits() -> Value {
    let edit = closed_object(
        &["sku", "quantity"],
        json!({
            "sku": text(""),
            "quantity": { "type": "integer", "minimum": 0, "maximum": MAX_QUANTITY },
            "line": line_number(),
            "unitPrice": amount(""),
            "unitDiscount": amount(""),
            "tax": amount(""),
            "name": text("")
        }),
    );
    let description =
        "Lines with new values, before they ship; quantity 0 removes one, a new SKU adds one";
    list(description, edit, MAX_LINES)
}

fn return_updates() -> Value {
    let update = closed_object(
        &["id", "status"],
        json!({
            "id": text(""),
            "status": one_of(&ReturnStatus::words()),
            "note": notes(),
            "restockLocationId": text("Adds the received units to its stock")
        }),
    );
    list("Next steps of returns", update, MAX_ENTRIES)
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
            "total": amount("Checked, if given"),
            "shipping": shipping(),
            "orderDiscount": amount("Off the whole order"),
            "orderTax": amount("Not stated by line"),
            "taxIncluded": { "type": "boolean" },
            "shippingTotal": amount("Checked, if given"),
            "taxTotal": amount("Checked, if given"),
            "payments": payments()
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
            "notes": notes(),
            "shipping": shipping(),
            "lineItems": line_edits(),
            "payments": payments(),
            "refunds": refunds(),
            "returns": return_updates()
        }),
    );
    schema["minProperties"] = json!(1);
    with_description("What is to be different; the rest stays", schema)
}

/// Quantities of SKUs of an order.
pub(crate) fn line_quantities(description: &str) -> Value {
    let line = closed_object(
        &["sku", "quantity"],
        json!({ "sku": text(""), "quantity": quantity(), "line": line_number() }),
    );
    list(description, line, MAX_LINES)
}

/// The returned units of `create-return`.
pub(crate) fn return_lines() -> Value {
    let line = closed_object(
        &["sku", "quantity"],
        json!({
            "sku": text(""),
            "quantity": quantity(),
            "line": line_number(),
            "reason": one_of(&ReturnReason::words())
        }),
    );
    list("What came back", line, MAX_LINES)
}

/// The lines of the order that replaces returned goods.
pub(crate) fn exchange_lines() -> Value {
    let line = closed_object(
        &["sku", "quantity"],
        json!({ "sku": text(""), "quantity": quantity(), "unitPrice": amount("") }),
    );
    list(
        "What the customer gets instead, as a new order; only with the outcome exchange",
        line,
        MAX_ENTRIES,
    )
}

pub(crate) fn return_note() -> Value {
    notes()
}

pub(crate) fn refund_amount() -> Value {
    amount("What the customer is to get back; the price of the units if absent")
}

pub(crate) fn one_text() -> Value {
    text("")
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
    with_description("What the customer gets", one_of(&ReturnOutcome::words()))
}

/// Returns the schema of a filter of a query.
fn filter(operation: OrderOperation, name: &str) -> Value {
    let words = |words: &[&str]| list("", one_of(words), words.len());
    match name {
        "statuses" if operation == OrderOperation::GetReturns => words(&ReturnStatus::words()),
        "statuses" => words(&OrderStatus::ALL.map(OrderStatus::word)),
        "paymentStatuses" => words(&PaymentStatus::words()),
        "outcomes" => words(&ReturnOutcome::words()),
        "sort" => with_description("createdAt if absent", one_of(&SortOrder::words())),
        "emails" => list("", email(), MAX_FILTER),
        "phones" => reference("texts", "At least 7 digits each"),
        name if TIME_FILTERS.contains(&name) => reference("time", ""),
        _ => reference("texts", ""),
    }
}

/// Returns the schema of the arguments of a query.
pub(crate) fn query(operation: OrderOperation) -> Value {
    let (common, declared) = filter_names(operation);
    let names = common.iter().chain(declared).chain(&TIME_FILTERS);
    let mut properties: Map<String, Value> = names
        .map(|name| ((*name).to_owned(), filter(operation, name)))
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
