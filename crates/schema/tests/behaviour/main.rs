//! The public contract of the crate.

#![allow(clippy::unwrap_used, reason = "in a test, that is how it fails")]

mod hints;
mod limits;
mod oracle;
mod order;
mod page;
mod schemas;

use candor_fault::{Violation, Violations};
use candor_schema::Schema;
use serde_json::{Value, json};

/// Everything that is said of a value, whole.
fn said(schema: Value, value: Value) -> Value {
    let checked = Schema::new(schema).unwrap().check(&value);
    let violations = checked.err().unwrap_or_default();
    assert_eq!(violations.omitted(), 0);
    violations.shown().iter().map(whole).collect()
}

fn whole(violation: &Violation) -> Value {
    let value: Value = serde_json::from_str(violation.value.get()).unwrap();
    let mut entry = json!({
        "message": violation.message,
        "path": violation.path.pointer(),
        "keyword": violation.keyword,
        "params": violation.params,
        "value": value,
        "expected": violation.expected,
    });
    if let Some(hint) = &violation.hint {
        entry["hint"] = json!(hint);
    }
    entry
}

/// Only where and which rule, for tests of order.
fn rules(schema: Value, value: Value) -> Vec<String> {
    let checked = Schema::new(schema).unwrap().check(&value);
    named(&checked.err().unwrap_or_default())
}

fn named(violations: &Violations) -> Vec<String> {
    let named = violations.shown().iter().map(|violation| {
        let name = violation.params.get("missingProperty");
        let name = name.or(violation.params.get("additionalProperty"));
        let name = name.map(|name| format!(" {}", name.as_str().unwrap()));
        let place = violation.path.pointer();
        format!("{place} {}{}", violation.keyword, name.unwrap_or_default())
    });
    named.collect()
}
