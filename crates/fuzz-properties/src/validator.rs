//! The explanation of wrong arguments agrees with the decision, for any schema and value.

use candor_fault::MAX_VIOLATIONS;
use candor_schema::Schema;
use serde_json::Value;

/// Checks a schema and a value, two lines of `bytes`.
///
/// # Panics
///
/// Panics if a violation breaks its bounds, or if a value is refused without a violation.
pub fn validator(bytes: &[u8]) {
    let Some(newline) = bytes.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let (schema, value) = bytes.split_at(newline);
    let (Ok(schema), Ok(value)) = (
        serde_json::from_slice::<Value>(schema),
        serde_json::from_slice::<Value>(&value[1..]),
    ) else {
        return;
    };
    let Ok(schema) = Schema::new(schema) else {
        return;
    };
    let first = schema.check(&value);
    assert_eq!(
        first,
        schema.check(&value),
        "the same value has the same violations"
    );
    if let Err(violations) = first {
        assert!(!violations.is_empty(), "a refusal has a reason");
        assert!(violations.shown().len() <= MAX_VIOLATIONS);
    }
}
