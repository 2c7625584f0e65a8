//! The index of a scanned text as a representation of JSON for the library, so that it decides without a
//! tree of values.

use candor_json::{IndexedText, Items, JsonKind, JsonRef, Members};
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, cmp};
use jsonschema::{JsonType, Validator};
use serde_json::{Number, Value};
use std::borrow::Cow;

/// A compiled schema that decides about indexed values.
pub(crate) type IndexedValidator = Validator<IndexedJson>;

/// The representation.
#[derive(Debug)]
pub(crate) struct IndexedJson;

impl Json for IndexedJson {
    type Node<'a> = JsonRef<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    // A lookup compares the names one after the other, so one pass over them replaces many lookups.
    const KEYS_PER_LOOKUP: usize = 2;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(JsonRef<'_>) -> T) -> T {
        f(IndexedText::from(candor_fault::to_json(string)).root())
    }
}

impl<'a> Node<'a, IndexedJson> for JsonRef<'a> {
    type Object = ObjectRef<'a>;
    type Array = ArrayRef<'a>;
    type Number = Number;

    fn as_object(&self) -> Option<ObjectRef<'a>> {
        (self.kind() == JsonKind::Object).then_some(ObjectRef(*self))
    }

    fn as_array(&self) -> Option<ArrayRef<'a>> {
        (self.kind() == JsonKind::Array).then_some(ArrayRef(*self))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.as_str()
    }

    fn as_number(&self) -> Option<Number> {
        JsonRef::as_number(self)
    }

    fn as_boolean(&self) -> Option<bool> {
        self.as_bool()
    }

    fn is_null(&self) -> bool {
        self.kind() == JsonKind::Null
    }

    fn is_number(&self) -> bool {
        self.kind() == JsonKind::Number
    }

    fn json_type(&self) -> JsonType {
        match self.kind() {
            JsonKind::Null => JsonType::Null,
            JsonKind::Boolean => JsonType::Boolean,
            JsonKind::Number => JsonType::Number,
            JsonKind::String => JsonType::String,
            JsonKind::Array => JsonType::Array,
            JsonKind::Object => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match expected {
            Value::Null => self.is_null(),
            Value::Bool(expected) => self.as_bool() == Some(*expected),
            Value::Number(expected) => {
                let number = JsonRef::as_number(self);
                number.is_some_and(|number| cmp::equal_numbers(&number, expected))
            }
            Value::String(expected) => self.as_str().is_some_and(|text| text == *expected),
            Value::Array(expected) => {
                self.kind() == JsonKind::Array
                    && self.len() == expected.len()
                    && self
                        .items()
                        .zip(expected)
                        .all(|(item, expected)| item.equals_value(expected))
            }
            Value::Object(expected) => {
                let is_expected = |(name, member): (Cow<'_, str>, JsonRef<'_>)| {
                    let expected = expected.get(&*name);
                    expected.is_some_and(|expected| member.equals_value(expected))
                };
                self.kind() == JsonKind::Object
                    && self.len() == expected.len()
                    && self.members().all(is_expected)
            }
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(JsonRef::to_value(self))
    }

    fn identity(&self) -> Option<NodeIdentity> {
        let tag = u32::try_from(self.id()).ok()?;
        Some(NodeIdentity::tagged(self.index_address(), tag))
    }
}

/// Returns true if two values are equal as JSON Schema compares: `1` equals `1.0`, members have no order.
pub(crate) fn equal(one: JsonRef<'_>, other: JsonRef<'_>) -> bool {
    if one.kind() != other.kind() || one.len() != other.len() {
        return false;
    }
    match one.kind() {
        JsonKind::Null => true,
        JsonKind::Boolean => one.as_bool() == other.as_bool(),
        JsonKind::String => one.as_str() == other.as_str(),
        JsonKind::Number => {
            let numbers = JsonRef::as_number(&one).zip(JsonRef::as_number(&other));
            numbers.is_some_and(|(one, other)| cmp::equal_numbers(&one, &other))
        }
        JsonKind::Array => one
            .items()
            .zip(other.items())
            .all(|(one, other)| equal(one, other)),
        JsonKind::Object => equal_members(one, other),
    }
}

/// Compares members in the order of their names, because a lookup of each would take quadratic time.
fn equal_members(one: JsonRef<'_>, other: JsonRef<'_>) -> bool {
    let (one, other) = (sorted_members(one), sorted_members(other));
    let mut pairs = one.iter().zip(&other);
    pairs
        .all(|((one_name, one), (other_name, other))| one_name == other_name && equal(*one, *other))
}

fn sorted_members(object: JsonRef<'_>) -> Vec<(Cow<'_, str>, JsonRef<'_>)> {
    let mut members: Vec<_> = object.members().collect();
    members.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    members
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectRef<'a>(JsonRef<'a>);

impl<'a> Object<'a, IndexedJson> for ObjectRef<'a> {
    type Node = JsonRef<'a>;
    type MemberName = Cow<'a, str>;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<JsonRef<'a>> {
        self.0.get(key)
    }

    fn members(&self) -> Members<'a> {
        self.0.members()
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ArrayRef<'a>(JsonRef<'a>);

impl<'a> Array<'a, IndexedJson> for ArrayRef<'a> {
    type Node = JsonRef<'a>;
    type ElementsIter = Items<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> Items<'a> {
        self.0.items()
    }
}
