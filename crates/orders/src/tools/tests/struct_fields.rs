//! The fields of structs, as their `Deserialize` names them.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

type Fields = BTreeMap<String, BTreeSet<String>>;

/// Deserializes a value, and returns the fields of each struct by path.
pub(super) fn struct_fields<T: DeserializeOwned>(value: &Value) -> Fields {
    let fields = RefCell::default();
    let recorder = FieldRecorder {
        value,
        path: String::new(),
        fields: &fields,
    };
    T::deserialize(recorder).unwrap();
    fields.into_inner()
}

#[derive(Clone)]
struct FieldRecorder<'de> {
    value: &'de Value,
    path: String,
    fields: &'de RefCell<Fields>,
}

impl<'de> Deserializer<'de> for FieldRecorder<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.value.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
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
        self.value.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let items = self
            .value
            .as_array()
            .map_or([].iter(), |items| items.iter());
        let items: Vec<_> = items
            .map(|value| FieldRecorder {
                value,
                ..self.clone()
            })
            .collect();
        visitor.visit_seq(Items(items.into_iter()))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let names = fields.iter().map(|name| (*name).to_owned()).collect();
        self.fields.borrow_mut().insert(self.path.clone(), names);
        let object = self.value.as_object();
        let members: Vec<_> = object
            .ok_or_else(|| Error::custom("not an object"))?
            .iter()
            .map(|(name, value)| {
                let path = format!("{}.{name}", self.path);
                let fields = self.fields;
                let member = FieldRecorder {
                    value,
                    path,
                    fields,
                };
                (name.as_str(), member)
            })
            .collect();
        visitor.visit_map(Members(members.into_iter(), None))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct tuple tuple_struct map identifier ignored_any
    }
}

struct Items<'de>(std::vec::IntoIter<FieldRecorder<'de>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|item| seed.deserialize(item)).transpose()
    }
}

struct Members<'de>(
    std::vec::IntoIter<(&'de str, FieldRecorder<'de>)>,
    Option<FieldRecorder<'de>>,
);

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((name, member)) = self.0.next() else {
            return Ok(None);
        };
        self.1 = Some(member);
        seed.deserialize(StrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let member = self.1.take();
        seed.deserialize(member.ok_or_else(|| Error::custom("a value without a key"))?)
    }
}
