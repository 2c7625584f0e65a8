//! Cuts JSON values to a depth and a size, with a marker at each cut.

use serde_json::{Map, Value};

/// The marker that replaces cut text.
pub const CUT: &str = "…[cut]";

/// Bytes reserved for a closing bracket, a comma and a marker.
const RESERVE: usize = 2 * CUT.len() + 8;

/// Returns a copy of `value` with at most `levels` levels of containers and at most `bytes` bytes of
/// JSON.
pub fn truncate_json(value: &Value, levels: usize, bytes: usize) -> Value {
    // Every level can end in its own marker after the room is used up.
    let mut room = bytes.saturating_sub((levels + 1) * RESERVE);
    truncate_value(value, levels, &mut room)
}

/// Copies as much of `value` as fits into `room`, and subtracts its size from `room`.
fn truncate_value(value: &Value, levels: usize, room: &mut usize) -> Value {
    let copy = match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => marker(),
        Value::Array(items) => return truncate_items(items, levels, room),
        Value::Object(members) => return truncate_members(members, levels, room),
        Value::String(text) => cut_text(text, *room),
        scalar => scalar.clone(),
    };
    *room = room.saturating_sub(size(&copy));
    copy
}

fn truncate_items(items: &[Value], levels: usize, room: &mut usize) -> Value {
    *room = room.saturating_sub(2);
    let mut all = Vec::new();
    for item in items {
        if *room < RESERVE {
            all.push(marker());
            *room = 0;
            break;
        }
        *room -= 1;
        all.push(truncate_value(item, levels - 1, room));
    }
    Value::Array(all)
}

fn truncate_members(members: &Map<String, Value>, levels: usize, room: &mut usize) -> Value {
    *room = room.saturating_sub(2);
    let mut all = Map::new();
    for (name, member) in members {
        let name_size = crate::to_json(name).len() + 2;
        if *room < RESERVE + name_size {
            all.insert(CUT.to_owned(), marker());
            *room = 0;
            break;
        }
        *room -= name_size;
        all.insert(name.clone(), truncate_value(member, levels - 1, room));
    }
    Value::Object(all)
}

/// Returns the text, or as much of it as fits with the marker after it.
fn cut_text(text: &str, room: usize) -> Value {
    if text.len() < room && crate::to_json(text).len() <= room.saturating_sub(RESERVE) {
        return Value::String(text.to_owned());
    }
    let mut left = room.saturating_sub(2 * RESERVE);
    let mut kept = String::new();
    for c in text.chars() {
        let mut utf8 = [0; 4];
        let cost = crate::to_json(c.encode_utf8(&mut utf8)).len() - 2;
        if cost > left {
            break;
        }
        left -= cost;
        kept.push(c);
    }
    kept.push_str(CUT);
    Value::String(kept)
}

fn size(value: &Value) -> usize {
    crate::to_json(value).len()
}

fn marker() -> Value {
    Value::String(CUT.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const LEVELS: usize = 8;
    const BYTES: usize = 16 * 1024;

    #[test]
    fn deep_value_is_cut_with_a_marker() {
        let mut deep = json!("core");
        for _ in 0..=LEVELS {
            deep = json!([deep]);
        }
        let text = crate::to_json(&truncate_json(&deep, LEVELS, BYTES));
        assert_eq!(text, format!("{}\"{CUT}\"{}", "[".repeat(8), "]".repeat(8)));
    }

    #[test]
    fn every_level_may_end_in_a_marker() {
        let long = "x".repeat(BYTES);
        let mut value = json!({ "a": long });
        for _ in 1..LEVELS {
            value = json!({ "a": value, "b": 1, "c": 2 });
        }
        let kept = truncate_json(&value, LEVELS, BYTES);
        assert!(size(&kept) <= BYTES);
        assert!(crate::to_json(&kept).matches(CUT).count() > LEVELS);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(|n| json!(n)),
            any::<f64>().prop_map(|n| json!(n)),
            proptest::collection::vec(any::<char>(), 0..3000)
                .prop_map(|text| json!(text.into_iter().collect::<String>())),
        ];
        leaf.prop_recursive(12, 64, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
                proptest::collection::vec(("[a-z\"\\n]{0,40}", inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    proptest! {
        #[test]
        fn every_value_fits_its_bounds(value in any_json(), bytes in 1024..BYTES) {
            let kept = truncate_json(&value, LEVELS, bytes);
            prop_assert!(size(&kept) <= bytes, "{} of {bytes} bytes", size(&kept));
            prop_assert!(depth(&kept) <= LEVELS);
            if size(&value) < bytes / 2 && depth(&value) <= LEVELS {
                prop_assert_eq!(kept, value);
            }
        }
    }
}
