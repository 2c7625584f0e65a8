//! Any JSON as a tree, in which every member is an ordinary one.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// A tree of JSON that somebody else has written.
///
/// `serde_json` cannot read every object into a [`Value`]: if the first member is called
/// `$serde_json::private::RawValue`, it takes the object for a `RawValue` in disguise, and parses the text
/// of that member in place of the object. This type reads such an object as it is written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JsonTree(pub Value);

impl<'de> Deserialize<'de> for JsonTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor).map(JsonTree)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut tree = Vec::new();
        while let Some(JsonTree(item)) = items.next_element()? {
            tree.push(item);
        }
        Ok(Value::Array(tree))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut tree = Map::new();
        while let Some((name, JsonTree(member))) = members.next_entry()? {
            tree.insert(name, member);
        }
        Ok(Value::Object(tree))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IndexedText;
    use crate::deserialize::RAW_VALUE;
    use serde_json::json;

    /// Reads a text by `serde_json` and through the index.
    fn read(text: &str) -> [Value; 2] {
        let JsonTree(parsed) = serde_json::from_str(text).unwrap();
        let indexed = IndexedText::new(text).unwrap();
        let JsonTree(deserialized) = JsonTree::deserialize(indexed.root()).unwrap();
        [parsed, deserialized]
    }

    #[test]
    fn every_type_becomes_a_tree() {
        let text = r#"{"a":[null,true,-1,18446744073709551615,0.5,"\n"],"b":{},"":{"c":[]}}"#;
        let wanted: Value = serde_json::from_str(text).unwrap();
        assert_eq!(read(text), [wanted.clone(), wanted]);
    }

    #[test]
    fn private_names_of_the_parser_are_ordinary_names() {
        for name in [RAW_VALUE, "$serde_json::private::Number"] {
            for value in [json!("u"), json!("[1]"), json!({ name: "u" }), json!(7)] {
                let tree = json!([{ name: value, "b": { name: "1" } }]);
                assert_eq!(read(&tree.to_string()), [tree.clone(), tree]);
            }
        }
    }
}
