//! JSON objects that are read as objects only: serde would take a list of the members' values as well.

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

/// What an object says.
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Object<T>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
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
    fn a_list_is_no_object() {
        let pair: Object<Pair> = serde_json::from_str(r#"{"b":2,"a":1}"#).unwrap();
        assert_eq!((pair.0.a, pair.0.b), (1, 2));
        for wrong in ["[1,2]", "null", "1", r#"{"a":1}"#, r#"{"a":1,"a":1,"b":2}"#] {
            assert!(
                serde_json::from_str::<Object<Pair>>(wrong).is_err(),
                "{wrong}"
            );
        }
    }
}
