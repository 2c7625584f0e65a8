//! Objects and lists against the plainest way to say what is wrong about them.

use candor_fault::{VIOLATIONS_MAX, Violations};
use candor_schema::Schema;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// An integer of at least 3, as one member or item of a larger value.
fn number() -> Value {
    json!({"type": "integer", "minimum": 3})
}

fn wrong_number(at: &str, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    if !whole {
        found.push(format!("{at} type"));
    }
    if value.as_f64().is_some_and(|number| number < 3.0) {
        found.push(format!("{at} minimum"));
    }
    found
}

fn wrong_object(required: &[&str], known: &[&str], members: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    for name in required {
        if !members.contains_key(*name) {
            found.push(format!("root required {name}"));
        }
    }
    for name in members.keys() {
        if !known.contains(&name.as_str()) {
            found.push(format!("root additionalProperties {name}"));
        }
    }
    for name in known {
        if let Some(member) = members.get(*name) {
            found.extend(wrong_number(&format!("/{name}"), member));
        }
    }
    found
}

/// The violations that were found, and the number of further ones.
fn checked(schema: Value, value: &Value) -> (Vec<String>, u64) {
    let violations = Schema::new(schema).unwrap().check(value);
    let violations: Violations = violations.err().unwrap_or_default();
    (crate::named(&violations), violations.omitted())
}

/// The first of everything, and how much more there is.
fn capped(mut found: Vec<String>) -> (Vec<String>, u64) {
    let more = found.len().saturating_sub(VIOLATIONS_MAX) as u64;
    found.truncate(VIOLATIONS_MAX);
    (found, more)
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
    fn objects(
        required in shuffled(0..=6),
        known in shuffled(0..=6),
        members in prop::collection::vec((select(&NAMES[..]), member()), 0..8),
    ) {
        let properties: Map<_, _> = known.iter().map(|name| ((*name).to_owned(), number())).collect();
        let schema = json!({"properties": properties, "required": &required, "additionalProperties": false});
        let members: Map<_, _> = members.into_iter().map(|(name, member)| (name.to_owned(), member)).collect();
        let found = wrong_object(&required, &known, &members);
        prop_assert_eq!(checked(schema, &Value::Object(members)), capped(found));
    }

    #[test]
    fn lists(items in prop::collection::vec(member(), 0..150)) {
        let found = items.iter().enumerate().flat_map(|(index, item)| wrong_number(&format!("/{index}"), item));
        let found = capped(found.collect());
        prop_assert_eq!(checked(json!({"items": number()}), &Value::from(items)), found);
    }
}
