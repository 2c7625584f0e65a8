//! Bounds of nesting, so that nothing that recurses on values and schemas can overflow the stack.

use serde_json::Value;

/// The most levels of arrays and objects of a checked value.
pub const MAX_VALUE_DEPTH: usize = 256;

/// The most levels of arrays and objects of a schema.
pub const MAX_SCHEMA_DEPTH: usize = 128;

/// Returns true if `value` has more than `levels` levels of arrays and objects.
pub(crate) fn exceeds(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| exceeds(item, levels - 1)),
        Value::Object(members) => {
            levels == 0 || members.values().any(|member| exceeds(member, levels - 1))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_container_is_one_level_deep() {
        assert!(!exceeds(&json!(1), 0));
        assert!(exceeds(&json!([]), 0));
        assert!(!exceeds(&json!([[], {"a": 1}]), 2));
        assert!(exceeds(&json!([[], {"a": []}]), 2));
    }
}
