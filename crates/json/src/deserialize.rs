//! Deserializes any type from an indexed value, exactly as `serde_json::from_value` does from a tree.

use crate::index::JsonKind;
use crate::json_ref::{Items, JsonRef, Members};
use serde::de::value::CowStrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Number};
use std::borrow::Cow;

/// The name under which `serde_json` asks for the text of a value.
pub(crate) const RAW_VALUE: &str = "$serde_json::private::RawValue";

impl<'de> JsonRef<'de> {
    fn visit_number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.as_number() {
            Some(number) => visit_number(&number, visitor),
            None => Err(Error::custom("not a number")),
        }
    }

    fn visit_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.as_str().unwrap_or_default() {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn visit_array<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut items = ItemAccess(self.items());
        let visited = visitor.visit_seq(&mut items)?;
        match items.0.len() {
            0 => Ok(visited),
            _ => Err(Error::invalid_length(
                self.len(),
                &"fewer elements in array",
            )),
        }
    }

    fn visit_object<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut members = MemberAccess {
            members: self.members(),
            value: None,
        };
        let visited = visitor.visit_map(&mut members)?;
        match members.members.len() {
            0 => Ok(visited),
            _ => Err(Error::invalid_length(self.len(), &"fewer elements in map")),
        }
    }

    fn invalid_type(self, expected: &dyn Expected) -> Error {
        let text = self.as_str().unwrap_or_default();
        let number = self.as_number();
        let number = number
            .as_ref()
            .map(|number| match (number.as_u64(), number.as_i64()) {
                (Some(integer), _) => Unexpected::Unsigned(integer),
                (None, Some(integer)) => Unexpected::Signed(integer),
                (None, None) => Unexpected::Float(number.as_f64().unwrap_or_default()),
            });
        let unexpected = match self.kind() {
            JsonKind::Null => Unexpected::Unit,
            JsonKind::Boolean => Unexpected::Bool(self.as_bool().unwrap_or_default()),
            JsonKind::Number => number.unwrap_or(Unexpected::Other("number")),
            JsonKind::String => Unexpected::Str(&text),
            JsonKind::Array => Unexpected::Seq,
            JsonKind::Object => Unexpected::Map,
        };
        Error::invalid_type(unexpected, expected)
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Error> {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(integer), _, _) => visitor.visit_u64(integer),
        (_, Some(integer), _) => visitor.visit_i64(integer),
        (_, _, float) => visitor.visit_f64(float.unwrap_or_default()),
    }
}

impl<'de> Deserializer<'de> for JsonRef<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.kind() {
            JsonKind::Null => visitor.visit_unit(),
            JsonKind::Boolean => visitor.visit_bool(self.as_bool().unwrap_or_default()),
            JsonKind::Number => self.visit_number(visitor),
            JsonKind::String => self.visit_string(visitor),
            JsonKind::Array => self.visit_array(visitor),
            JsonKind::Object => self.visit_object(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.kind() {
            JsonKind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match name {
            // Only `serde_json` can make its raw values.
            RAW_VALUE => self.to_value().deserialize_newtype_struct(name, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let (variant, value) = match self.kind() {
            JsonKind::String => (self.as_str().unwrap_or_default(), None),
            JsonKind::Object => match (self.members().next(), self.len()) {
                (Some((name, value)), 1) => (name, Some(value)),
                _ => {
                    return Err(Error::invalid_value(
                        Unexpected::Map,
                        &"map with a single key",
                    ));
                }
            },
            _ => return Err(self.invalid_type(&"string or map")),
        };
        visitor.visit_enum(VariantName { variant, value })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier
    }
}

struct ItemAccess<'de>(Items<'de>);

impl<'de> SeqAccess<'de> for ItemAccess<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|item| seed.deserialize(item)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct MemberAccess<'de> {
    members: Members<'de>,
    value: Option<JsonRef<'de>>,
}

impl<'de> MapAccess<'de> for MemberAccess<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.members.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(MemberName(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let value = self.value.take();
        seed.deserialize(value.ok_or_else(|| Error::custom("value is missing"))?)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// The name of a member as the key of a map, whose type may be a number or a boolean.
struct MemberName<'de>(Cow<'de, str>);

impl<'de> MemberName<'de> {
    fn visit_number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.parse::<Number>() {
            Ok(number) => visit_number(&number, visitor),
            Err(_) => Err(Error::custom(
                "invalid value: expected key to be a number in quotes",
            )),
        }
    }
}

/// Methods for keys that are numbers.
macro_rules! deserialize_numeric_key {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.visit_number(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for MemberName<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(name) => visitor.visit_borrowed_str(name),
            Cow::Owned(name) => visitor.visit_string(name),
        }
    }

    deserialize_numeric_key! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &*self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => Err(Error::invalid_type(Unexpected::Str(other), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        CowStrDeserializer::new(self.0).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

struct VariantName<'de> {
    variant: Cow<'de, str>,
    value: Option<JsonRef<'de>>,
}

impl<'de> EnumAccess<'de> for VariantName<'de> {
    type Error = Error;
    type Variant = VariantContent<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self::Variant), Error> {
        let variant = seed.deserialize(CowStrDeserializer::new(self.variant))?;
        Ok((variant, VariantContent(self.value)))
    }
}

struct VariantContent<'de>(Option<JsonRef<'de>>);

impl<'de> VariantAccess<'de> for VariantContent<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.0 {
            Some(value) => <()>::deserialize(value),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        match self.0 {
            Some(value) => seed.deserialize(value),
            None => Err(Error::invalid_type(
                Unexpected::UnitVariant,
                &"newtype variant",
            )),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Some(value) if value.kind() == JsonKind::Array && value.is_empty() => {
                visitor.visit_unit()
            }
            Some(value) if value.kind() == JsonKind::Array => value.visit_array(visitor),
            Some(value) => Err(value.invalid_type(&"tuple variant")),
            None => Err(Error::invalid_type(
                Unexpected::UnitVariant,
                &"tuple variant",
            )),
        }
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Some(value) if value.is_object() => value.visit_object(visitor),
            Some(value) => Err(value.invalid_type(&"struct variant")),
            None => Err(Error::invalid_type(
                Unexpected::UnitVariant,
                &"struct variant",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RAW_VALUE;
    use crate::IndexedText;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
    struct Name(String);

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Choice {
        Unit,
        New(i8),
        Pair(u8, Option<bool>),
        Record { a: f64 },
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Number(u64),
        Text(String),
        Many(Vec<Untagged>),
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Closed {
        a: Option<String>,
        #[serde(default)]
        b: u8,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Flat {
        a: Value,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }

    fn agree<T: serde::de::DeserializeOwned + Debug + PartialEq>(value: &Value) {
        let text = IndexedText::unbounded(value);
        let (own, oracle) = (T::deserialize(text.root()), T::deserialize(value));
        match (own, oracle) {
            (Ok(own), Ok(oracle)) => assert_eq!(own, oracle, "{value}"),
            (Err(own), Err(oracle)) => assert_eq!(words(&own), words(&oracle), "{value}"),
            (own, oracle) => panic!("{value}: {own:?} and {oracle:?}"),
        }
    }

    /// Returns the text of an error without a position, which only a text has.
    fn words(error: &serde_json::Error) -> String {
        let text = error.to_string();
        text.split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    fn agree_on_every_type(value: &Value) {
        agree::<Value>(value);
        agree::<Choice>(value);
        agree::<Untagged>(value);
        agree::<Closed>(value);
        agree::<Flat>(value);
        agree::<Option<bool>>(value);
        agree::<(u8, String)>(value);
        agree::<Vec<Choice>>(value);
        agree::<BTreeMap<Name, Option<Choice>>>(value);
        agree::<BTreeMap<i16, Value>>(value);
        agree::<BTreeMap<u64, Value>>(value);
        agree::<BTreeMap<bool, Value>>(value);
        agree::<Name>(value);
        agree::<()>(value);
        agree::<i64>(value);
        agree::<f64>(value);
    }

    #[test]
    fn each_form_of_an_enum_is_read_as_by_the_oracle() {
        for value in [
            json!("unit"),
            json!("UNIT"),
            json!({ "unit": null }),
            json!({ "unit": 1 }),
            json!({ "new": -7 }),
            json!({ "new": 700 }),
            json!("new"),
            json!({ "pair": [1, true] }),
            json!({ "pair": [1] }),
            json!({ "pair": [] }),
            json!({ "pair": [1, null, 2] }),
            json!({ "pair": {} }),
            json!({ "record": { "a": 1 } }),
            json!({ "record": { "b": 1 } }),
            json!({ "record": [1.5] }),
            json!({ "unit": null, "new": 1 }),
            json!({}),
            json!([1, "a"]),
            json!([1, "a", 2]),
            json!({ "a": "\n\u{e9}", "b": 7 }),
            json!({ "a": null, "c": 7 }),
            json!({ "1": 1, "-2": 2 }),
            json!({ "70000": 1 }),
            json!({ "1 ": 1 }),
            json!({ "": 1 }),
            json!({ "true": 1, "false": 2 }),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(-0.0),
            json!({ RAW_VALUE: "u" }),
            json!({ RAW_VALUE: "[1]" }),
            json!({ RAW_VALUE: "[1]", "a": 1 }),
            json!({ "a": { RAW_VALUE: 7 } }),
        ] {
            agree_on_every_type(&value);
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let names = || {
            prop::sample::select(vec![
                "a", "b", "unit", "new", "pair", "record", "\n", "1", "-2", "true",
            ])
        };
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-300..300i64).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            names().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 3, move |inner| {
            let members = prop::collection::vec((names(), inner.clone()), 0..3);
            let object = |members: Vec<(&str, Value)>| {
                let members = members.into_iter();
                members
                    .map(|(name, member)| (name.to_owned(), member))
                    .collect()
            };
            prop_oneof![
                prop::collection::vec(inner, 0..3).prop_map(Value::from),
                members.prop_map(object),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_type_is_read_as_by_the_oracle(value in any_value()) {
            agree_on_every_type(&value);
        }
    }
}
