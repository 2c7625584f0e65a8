//! Violations of objects and arrays, compared with a simple oracle.

use candor_fault::{MAX_VIOLATIONS, Violations};
use candor_schema::Schema;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// An integer of at least 3, as one member or item of a larger value.
fn number() -> Value {
    json!({"type": "integer", "minimum": 3})
}

fn number_violations(at: &str, value: &Value) -> Vec<String> {
    let mut violations = Vec::new();
    let is_integer = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    if !is_integer {
        violations.push(format!("{at} type"));
    }
    if value.as_f64().is_some_and(|number| number < 3.0) {
        violations.push(format!("{at} minimum"));
    }
    violations
}

fn object_violations(
    required: &[&str],
    known: &[&str],
    members: &Map<String, Value>,
) -> Vec<String> {
    let mut violations = Vec::new();
    for name in required {
        if !members.contains_key(*name) {
            violations.push(format!("root required {name}"));
        }
    }
    for name in members.keys() {
        if !known.contains(&name.as_str()) {
            violations.push(format!("root additionalProperties {name}"));
        }
    }
    for name in known {
        if let Some(member) = members.get(*name) {
            violations.extend(number_violations(&format!("/{name}"), member));
        }
    }
    violations
}

/// Returns the violations and the number of omitted ones.
fn check(schema: Value, value: &Value) -> (Vec<String>, u64) {
    let violations = Schema::new(schema).unwrap().check(value);
    let violations: Violations = violations.err().unwrap_or_default();
    (crate::rules_of(&violations), violations.omitted())
}

/// Returns the first violations and the number of the others.
fn cap(mut violations: Vec<String>) -> (Vec<String>, u64) {
    let more = violations.len().saturating_sub(MAX_VIOLATIONS) as u64;
    violations.truncate(MAX_VIOLATIONS);
    (violations, more)
}

fn member() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..6i64).prop_map(Value::from),
        (0..12i32).prop_map(|n| Value::from(f64::from(n) / 2.0)),
        Just(json!("3")),
        Just(Value::Null),
    ]
}

fn shuffled(size: impl Into<prop::sample::SizeRange>) -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(NAMES.to_vec(), size).prop_shuffle()
}

proptest! {
    #[test]
    fn object_violations_agree_with_the_oracle(
        required in shuffled(0..=6),
        known in shuffled(0..=6),
        members in prop::collection::vec((select(&NAMES[..]), member()), 0..8),
    ) {
        let properties: Map<_, _> = known.iter().map(|name| ((*name).to_owned(), number())).collect();
        let schema = json!({"properties": properties, "required": &required, "additionalProperties": false});
        let members: Map<_, _> = members.into_iter().map(|(name, member)| (name.to_owned(), member)).collect();
        let violations = object_violations(&required, &known, &members);
        prop_assert_eq!(check(schema, &Value::Object(members)), cap(violations));
    }

    #[test]
    fn array_violations_agree_with_the_oracle(items in prop::collection::vec(member(), 0..150)) {
        let violations = items.iter().enumerate().flat_map(|(index, item)| number_violations(&format!("/{index}"), item));
        let violations = cap(violations.collect());
        prop_assert_eq!(check(json!({"items": number()}), &Value::from(items)), violations);
    }
}
