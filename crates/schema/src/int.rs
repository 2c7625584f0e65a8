//! An integer as JSON Schema means it: `1`, `1.0` and `1e0` are the same number.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// An integer from `MIN` to `MAX`. It accepts every number that the type `integer` of a schema
/// accepts.
///
/// Plain serde refuses `1.0` for an `i64`, so a tool would refuse arguments that its published
/// schema accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Int<const MIN: i64, const MAX: i64>(i64);

/// A number that is outside the range of its [`Int`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfRange {
    min: i64,
    max: i64,
    was: i64,
}

impl<const MIN: i64, const MAX: i64> Int<MIN, MAX> {
    /// Returns the integer if it is in range.
    pub const fn new(integer: i64) -> Option<Self> {
        if MIN <= integer && integer <= MAX {
            Some(Int(integer))
        } else {
            None
        }
    }

    pub const fn get(self) -> i64 {
        self.0
    }
}

impl<const MIN: i64, const MAX: i64> From<Int<MIN, MAX>> for i64 {
    fn from(integer: Int<MIN, MAX>) -> Self {
        integer.0
    }
}

impl<const MIN: i64, const MAX: i64> TryFrom<i64> for Int<MIN, MAX> {
    type Error = OutOfRange;

    fn try_from(integer: i64) -> Result<Self, OutOfRange> {
        Int::new(integer).ok_or(OutOfRange {
            min: MIN,
            max: MAX,
            was: integer,
        })
    }
}

impl<const MIN: i64, const MAX: i64> fmt::Display for Int<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfRange { min, max, was } = self;
        write!(f, "{was} is not an integer from {min} to {max}")
    }
}

impl std::error::Error for OutOfRange {}

impl<const MIN: i64, const MAX: i64> Serialize for Int<MIN, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0)
    }
}

impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for Int<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not `deserialize_i64`: serde buffers the members of a flattened struct, and returns
        // floats from that buffer only to `deserialize_any`.
        deserializer.deserialize_any(IntVisitor)
    }
}

struct IntVisitor<const MIN: i64, const MAX: i64>;

impl<const MIN: i64, const MAX: i64> Visitor<'_> for IntVisitor<MIN, MAX> {
    type Value = Int<MIN, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an integer from {MIN} to {MAX}")
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Self::Value, E> {
        Int::new(integer).ok_or_else(|| E::invalid_value(Unexpected::Signed(integer), &self))
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Self::Value, E> {
        let fits = i64::try_from(integer).ok().and_then(Int::new);
        fits.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(integer), &self))
    }

    fn visit_f64<E: Error>(self, float: f64) -> Result<Self::Value, E> {
        let fits = whole(float).and_then(Int::new);
        fits.ok_or_else(|| E::invalid_value(Unexpected::Float(float), &self))
    }
}

/// Returns the integer that a float equals, if it equals one that fits.
fn whole(float: f64) -> Option<i64> {
    // Both ends are powers of two, so exact; the upper one is the first that does not fit.
    const END: f64 = 9_223_372_036_854_775_808.0;
    let fits = float.fract() == 0.0 && (-END..END).contains(&float);
    fits.then_some(float as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;
    use proptest::prelude::*;
    use serde_json::{Value, from_str, from_value, json, to_string};

    type Page = Int<1, 100>;
    type Any = Int<{ i64::MIN }, { i64::MAX }>;

    #[test]
    fn every_notation_of_an_integer_is_accepted() {
        for text in ["1", "1.0", "1e0", "10e-1", "0.1e1", "1E+0"] {
            assert_eq!(from_str::<Page>(text).unwrap().get(), 1, "{text}");
            let value: Value = from_str(text).unwrap();
            assert_eq!(from_value::<Page>(value).unwrap().get(), 1, "{text}");
        }
        assert_eq!(from_str::<Any>("-0.0").unwrap().get(), 0);
        assert_eq!(
            from_str::<Any>("-9223372036854775808").unwrap().get(),
            i64::MIN
        );
        assert_eq!(
            from_str::<Any>("-9.223372036854775808e18").unwrap().get(),
            i64::MIN
        );
    }

    #[test]
    fn flattened_struct_accepts_every_notation() {
        #[derive(serde::Deserialize)]
        struct Outer {
            #[serde(flatten)]
            inner: Inner,
        }
        #[derive(serde::Deserialize)]
        struct Inner {
            page: Option<Page>,
        }
        for text in ["1", "1.0", "1e0"] {
            let outer: Outer = from_str(&format!(r#"{{"page":{text}}}"#)).unwrap();
            assert_eq!(outer.inner.page.map(Page::get), Some(1), "{text}");
        }
    }

    #[test]
    fn fractions_and_numbers_out_of_range_are_refused() {
        let refused = |value: Value| from_value::<Page>(value).unwrap_err().to_string();
        let expected = "expected an integer from 1 to 100";
        for (value, reason) in [
            (json!(1.5), "invalid value: floating point `1.5`"),
            (json!(0), "invalid value: integer `0`"),
            (json!(101.0), "invalid value: floating point `101.0`"),
            (json!(-1), "invalid value: integer `-1`"),
            (
                json!(u64::MAX),
                "invalid value: integer `18446744073709551615`",
            ),
            (json!(1e300), "invalid value: floating point `1e+300`"),
            (json!("1"), "invalid type: string \"1\""),
            (json!(true), "invalid type: boolean `true`"),
            (json!(null), "invalid type: null"),
        ] {
            assert_eq!(refused(value), format!("{reason}, {expected}"));
        }
        assert!(from_str::<Any>("9223372036854775808").is_err());
        assert!(from_str::<Any>("9.223372036854775808e18").is_err());
    }

    #[test]
    fn integer_converts_from_and_to_i64() {
        assert_eq!(Page::new(0), None);
        assert_eq!(i64::from(Page::new(7).unwrap()), 7);
        assert_eq!(
            Page::try_from(101).unwrap_err().to_string(),
            "101 is not an integer from 1 to 100"
        );
        assert_eq!(Page::new(7).unwrap().to_string(), "7");
        assert_eq!(to_string(&Page::new(7).unwrap()).unwrap(), "7");
    }

    fn number() -> impl Strategy<Value = Value> {
        prop_oneof![
            (-3..104i64).prop_map(Value::from),
            (-12..416i32).prop_map(|n| Value::from(f64::from(n) / 4.0)),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            prop::num::f64::NORMAL.prop_map(Value::from),
        ]
    }

    proptest! {
        #[test]
        fn type_accepts_exactly_what_its_schema_accepts(value in number()) {
            let schema = Schema::new(json!({"type": "integer", "minimum": 1, "maximum": 100})).unwrap();
            let parsed = from_value::<Page>(value.clone());
            prop_assert_eq!(parsed.is_ok(), schema.check(&value).is_ok());
            prop_assert_eq!(from_str::<Page>(&value.to_string()).ok(), parsed.ok());
        }

        #[test]
        fn integer_round_trips_through_text(integer in any::<i64>()) {
            let text = to_string(&Any::new(integer).unwrap()).unwrap();
            prop_assert_eq!(&text, &integer.to_string());
            prop_assert_eq!(from_str::<Any>(&text).unwrap().get(), integer);
        }
    }
}
