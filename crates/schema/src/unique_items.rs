//! Finds the first item of an array that repeats an earlier one, in linear time for any items.
//!
//! The library's own check gives `[[1], 2]` and `[1, [2]]` the same hash, so many items of such shapes
//! take quadratic time: 15 s for 20,000 items, compared with 55 ms here. The hash here depends on the
//! shape, and has a new key for each array.

use crate::indexed_json::equal;
use candor_json::{JsonKind, JsonRef};
use serde_json::Number;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

/// Finds the first item that equals an earlier one, as `(repeat, first)`. A value that is not an array
/// has no items.
pub(crate) fn first_repeat(array: JsonRef<'_>) -> Option<(usize, usize)> {
    let items = array.items();
    let mut seen = HashMap::with_capacity(items.len());
    items.enumerate().find_map(|(index, item)| {
        seen.insert(ByMeaning(item), index)
            .map(|first| (index, first))
    })
}

/// A value that is compared as JSON Schema compares: `1` equals `1.0`, members have no order.
struct ByMeaning<'a>(JsonRef<'a>);

impl PartialEq for ByMeaning<'_> {
    fn eq(&self, other: &Self) -> bool {
        equal(self.0, other.0)
    }
}

impl Eq for ByMeaning<'_> {}

impl Hash for ByMeaning<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0.kind() {
            JsonKind::Null => state.write_u8(0),
            JsonKind::Boolean => (1u8, self.0.as_bool()).hash(state),
            JsonKind::Number => hash_number(&self.0.as_number().unwrap_or_else(|| 0.into()), state),
            JsonKind::String => (2u8, self.0.as_str()).hash(state),
            JsonKind::Array => {
                (3u8, self.0.len()).hash(state);
                self.0.items().for_each(|item| ByMeaning(item).hash(state));
            }
            JsonKind::Object => {
                let mut members: Vec<_> = self.0.members().collect();
                members.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
                (4u8, members.len()).hash(state);
                for (name, member) in members {
                    name.hash(state);
                    ByMeaning(member).hash(state);
                }
            }
        }
    }
}

/// Hashes a number so that equal numbers have the same hash, however they are written.
fn hash_number<H: Hasher>(number: &Number, state: &mut H) {
    // Every `f64` below it fits an `i128`; above it none equals an integer that JSON can hold here.
    const INTEGERS_END: f64 = 1e38;
    let whole = match (number.as_i128(), number.as_f64()) {
        (Some(integer), _) => Some(integer),
        (None, Some(float)) if float.fract() == 0.0 && float.abs() < INTEGERS_END => {
            Some(float as i128)
        }
        _ => None,
    };
    match whole {
        Some(integer) => (5u8, integer).hash(state),
        None => (6u8, number.as_f64().map(f64::to_bits)).hash(state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_json::IndexedText;
    use jsonschema::json::cmp;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn repeat(items: Value) -> Option<(usize, usize)> {
        first_repeat(IndexedText::unbounded(&items).root())
    }

    #[test]
    fn items_are_compared_as_json_schema_does() {
        assert_eq!(repeat(json!([1, 2, 1.0])), Some((2, 0)));
        assert_eq!(repeat(json!([0, -0.0])), Some((1, 0)));
        assert_eq!(
            repeat(json!([{"a": 1, "b": [2]}, 3, {"b": [2.0], "a": 1}])),
            Some((2, 0))
        );
        assert_eq!(repeat(json!([1e300, 1, 1e300])), Some((2, 0)));
        assert_eq!(repeat(json!([u64::MAX, u64::MAX as f64])), None);
        assert_eq!(repeat(json!([1, "1", true, [1], {"1": 1}, null])), None);
        assert_eq!(repeat(json!([0, false, [], {}, "", null])), None);
        assert_eq!(repeat(json!([])), None);
    }

    #[test]
    fn first_repeat_is_returned_with_the_item_it_repeats() {
        assert_eq!(repeat(json!(["a", "b", "c", "b", "a"])), Some((3, 1)));
    }

    /// Returns nested empty arrays, all of which the library gives the same hash.
    fn shape(mut bits: u32) -> Value {
        let mut shape = json!([]);
        while bits > 0 {
            shape = if bits & 1 == 0 {
                json!([shape])
            } else {
                json!([shape, []])
            };
            bits >>= 1;
        }
        shape
    }

    #[test]
    fn many_nested_empty_arrays_take_linear_time() {
        let shapes: Vec<_> = (0..20_000).map(shape).collect();
        assert_eq!(repeat(shapes.into()), None);
    }

    fn item() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            (-2..3i64).prop_map(Value::from),
            (-2..3i32).prop_map(|n| Value::from(f64::from(n) / 2.0)),
            Just(json!(u64::MAX)),
            Just(json!(1.8446744073709552e19)),
            "[ab]{0,1}".prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(2, 8, 2, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..2).prop_map(Value::from),
                prop::collection::vec(("[ab]", inner), 0..2)
                    .prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn result_agrees_with_comparing_all_pairs(items in prop::collection::vec(item(), 0..20)) {
            let plain = (0..items.len()).find_map(|later| {
                let first = (0..later).find(|first| cmp::equal(&items[later], &items[*first]))?;
                Some((later, first))
            });
            prop_assert_eq!(repeat(items.into()), plain);
        }
    }
}
