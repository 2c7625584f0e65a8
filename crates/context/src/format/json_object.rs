//! Deserialises structs from JSON objects only: serde would accept an array of the values as well.

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// A value that was deserialised from an object.
pub(crate) struct JsonObject<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = JsonObject<T>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<JsonObject<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(JsonObject)
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Pair {
        a: u8,
        b: u8,
    }

    #[test]
    fn array_is_not_an_object() {
        let pair: JsonObject<Pair> = serde_json::from_str(r#"{"b":2,"a":1}"#).unwrap();
        assert_eq!((pair.0.a, pair.0.b), (1, 2));
        for wrong in ["[1,2]", "null", "1", r#"{"a":1}"#, r#"{"a":1,"a":1,"b":2}"#] {
            assert!(
                serde_json::from_str::<JsonObject<Pair>>(wrong).is_err(),
                "{wrong}"
            );
        }
    }
}
