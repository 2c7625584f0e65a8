//! Texts of an order system: hidden characters are replaced in texts for people, and refused in
//! identifiers.

use super::Mismatch;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::fmt::Write as _;

/// Replaces a hidden character.
const REPLACEMENT: char = '\u{fffd}';

/// The most characters of an id that is named in `omitted`.
const MAX_ID: usize = 255;

/// Returns true for control characters, line separators and direction characters: what input
/// schemas refuse in a text of one line.
fn is_hidden(one: char) -> bool {
    one.is_control()
        || matches!(one, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The kinds of texts in entities.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    /// It names something: a changed character makes it another name.
    Identifier,
    Line,
    /// A text for people that may have several lines, as in the input schemas.
    SeveralLines,
}

impl TextKind {
    /// Returns the kind of a member of any entity.
    fn of(member: &str) -> TextKind {
        match member {
            "id" | "sku" | "externalId" | "email" | "trackingNumbers" | "reference" | "orderId"
            | "productId" | "locationId" | "returnId" | "orderNumber" | "exchangeFor"
            | "exchangeOrderId" | "restockLocationId" | "currency" => TextKind::Identifier,
            "notes" | "note" | "instructions" | "description" => TextKind::SeveralLines,
            _ => TextKind::Line,
        }
    }

    fn admits(self, one: char) -> bool {
        !is_hidden(one) || (self == TextKind::SeveralLines && matches!(one, '\n' | '\r' | '\t'))
    }
}

/// Returns an entity with clean texts, and the number of texts that were changed.
pub(in crate::http) fn clean_entity(
    entity: Box<RawValue>,
) -> Result<(Box<RawValue>, usize), Mismatch> {
    if !may_contain_hidden(entity.get()) {
        return Ok((entity, 0));
    }
    // The text was written from an entity just now, so it can be read and written again.
    let unread = |_| Mismatch::new("the entity", "cannot be written");
    let mut value: Value = serde_json::from_str(entity.get()).map_err(unread)?;
    let mut cleaning = Cleaning::default();
    cleaning.clean("", &mut value)?;
    match cleaning.count {
        0 => Ok((entity, 0)),
        count => Ok((to_raw_value(&value).map_err(unread)?, count)),
    }
}

/// Returns true if the JSON text can contain a hidden character. A text with an escape, or with the
/// first byte of a hidden character, is examined more closely, because reading it costs more.
fn may_contain_hidden(json: &str) -> bool {
    let first = |byte: u8| matches!(byte, b'\\' | 0x7f | 0xc2 | 0xd8 | 0xe2 | 0xef);
    json.bytes().any(first) && (has_control_escape(json) || json.chars().any(is_hidden))
}

/// Returns true if the JSON text has an escape other than those of a quote and a backslash.
fn has_control_escape(json: &str) -> bool {
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && !matches!(bytes.next(), Some(b'"' | b'\\')) {
            return true;
        }
    }
    false
}

/// Returns an id that can be shown, whatever its characters are.
pub(in crate::http) fn clean_id(id: &str) -> String {
    let clean = |one| {
        if is_hidden(one) { REPLACEMENT } else { one }
    };
    id.chars().take(MAX_ID).map(clean).collect()
}

/// The state of one walk through an entity.
#[derive(Default)]
struct Cleaning {
    /// The number of texts that were changed.
    count: usize,
    /// The indexes and names above the current value.
    path: String,
}

impl Cleaning {
    /// Cleans the texts in a value that belongs to a member. Entities have few levels, so the
    /// recursion is bounded.
    fn clean(&mut self, member: &str, value: &mut Value) -> Result<(), Mismatch> {
        match value {
            Value::String(text) => {
                let kind = TextKind::of(member);
                if text.chars().all(|one| kind.admits(one)) {
                    return Ok(());
                }
                if kind == TextKind::Identifier {
                    let path = self.path.trim_start_matches('.');
                    return Err(Mismatch::new(
                        path,
                        "is an identifier with control or direction characters",
                    ));
                }
                self.count += 1;
                let clean = |one| {
                    if kind.admits(one) { one } else { REPLACEMENT }
                };
                *text = text.chars().map(clean).collect();
                Ok(())
            }
            Value::Array(items) => items
                .iter_mut()
                .enumerate()
                .try_for_each(|(index, item)| self.step(&index.to_string(), member, item)),
            Value::Object(members) => members
                .iter_mut()
                .try_for_each(|(name, value)| self.step(name, name, value)),
            _ => Ok(()),
        }
    }

    fn step(&mut self, step: &str, member: &str, value: &mut Value) -> Result<(), Mismatch> {
        let length = self.path.len();
        // Writing to a string cannot fail.
        let _ = write!(self.path, ".{step}");
        self.clean(member, value)?;
        self.path.truncate(length);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::field_schemas;
    use candor_schema::Schema;
    use proptest::prelude::*;
    use serde_json::json;

    fn cleaned(entity: &Value) -> Result<(String, usize), String> {
        let cleaned = clean_entity(to_raw_value(entity).unwrap());
        let cleaned = cleaned.map_err(|mismatch| mismatch.to_string())?;
        Ok((cleaned.0.get().to_owned(), cleaned.1))
    }

    #[test]
    fn texts_for_people_are_cleaned_and_counted() {
        let entity = json!({
            "id": "ord_1",
            "name": "a\u{202e}b\u{7}",
            "notes": "one\ntwo\u{2028}",
            "tags": ["ok", "no\u{85}"],
            "shippingAddress": { "city": "K\u{f6}ln – \"Dom\"", "phone": "\t1" }
        });
        let expected = json!({
            "id": "ord_1",
            "name": "a\u{fffd}b\u{fffd}",
            "notes": "one\ntwo\u{fffd}",
            "tags": ["ok", "no\u{fffd}"],
            "shippingAddress": { "city": "K\u{f6}ln – \"Dom\"", "phone": "\u{fffd}1" }
        });
        assert_eq!(cleaned(&entity), Ok((expected.to_string(), 4)));
        let plain = json!({ "id": "ä–\"x\"", "notes": "a\nb" });
        assert_eq!(cleaned(&plain), Ok((plain.to_string(), 0)));
    }

    #[test]
    fn hidden_characters_in_identifiers_are_a_mismatch() {
        let rule = "is an identifier with control or direction characters";
        for (entity, member) in [
            (json!({ "id": "a\u{7}" }), "id"),
            (
                json!({ "lineItems": [{ "sku": "a" }, { "sku": "\u{feff}a" }] }),
                "lineItems.1.sku",
            ),
            (
                json!({ "trackingNumbers": ["1", "2\n"] }),
                "trackingNumbers.1",
            ),
            (
                json!({ "customer": { "email": "a@\u{200e}b" } }),
                "customer.email",
            ),
            (json!({ "externalId": "\u{2066}" }), "externalId"),
        ] {
            assert_eq!(cleaned(&entity), Err(format!("{member} {rule}")));
        }
    }

    #[test]
    fn id_of_an_omitted_entity_is_short_and_clean() {
        assert_eq!(clean_id("a\u{202e}b"), "a\u{fffd}b");
        assert_eq!(clean_id(&"ä".repeat(300)).chars().count(), 255);
    }

    proptest! {
        #[test]
        fn input_schema_and_cleaning_agree_about_one_line(text in "[a\u{0}-\u{a0}\u{610}-\u{620}\u{2000}-\u{2070}\u{feff}]{1,3}") {
            let schema = Schema::new(field_schemas::line(0, 255)).unwrap();
            let admitted = schema.check(&json!(text)).is_ok();
            prop_assert_eq!(text.chars().all(|one| TextKind::Line.admits(one)), admitted);
            let entity = json!({ "name": text });
            prop_assert_eq!(cleaned(&entity).unwrap().1 == 0, admitted);
        }
    }
}
