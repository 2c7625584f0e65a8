//! The JSON Schema of a catalogue file.

use super::MAX_STOCK;
use crate::model::field_schemas::{
    amount, amount_definition, closed_object, line_definition, notes, text, with_definitions,
};
use serde_json::{Value, json};

pub(super) fn catalogue() -> Value {
    let stock = closed_object(
        &["locationId", "onHand"],
        json!({
            "locationId": text(""),
            "onHand": { "type": "integer", "minimum": 0, "maximum": MAX_STOCK }
        }),
    );
    let variant = closed_object(
        &["sku", "price"],
        json!({
            "sku": text(""),
            "name": text(""),
            "price": amount(""),
            "stock": { "type": "array", "items": stock }
        }),
    );
    let product = closed_object(
        &["id", "name"],
        json!({
            "id": text(""),
            "name": text(""),
            "description": notes(),
            "variants": { "type": "array", "items": variant }
        }),
    );
    let location = closed_object(&["id", "name"], json!({ "id": text(""), "name": text("") }));
    let catalogue = closed_object(
        &[],
        json!({
            "locations": { "type": "array", "items": location },
            "products": { "type": "array", "items": product }
        }),
    );
    with_definitions(catalogue, [line_definition(), amount_definition()])
}
