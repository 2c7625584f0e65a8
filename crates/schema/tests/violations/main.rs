//! The violations that a schema reports: their content, order, hints and bounds.

#![allow(clippy::unwrap_used, reason = "in a test, that is how it fails")]

mod hints;
mod keywords;
mod limits;
mod oracle;
mod order;
mod schemas;

use candor_fault::{Violation, Violations};
use candor_schema::Schema;
use serde_json::{Value, json};

/// Returns every violation of a value, with all its members.
fn describe_violations(schema: Value, value: Value) -> Value {
    let checked = Schema::new(schema).unwrap().check(&value);
    let violations = checked.err().unwrap_or_default();
    assert_eq!(violations.omitted(), 0);
    violations.shown().iter().map(describe_violation).collect()
}

fn describe_violation(violation: &Violation) -> Value {
    let value: Value = serde_json::from_str(violation.value.get()).unwrap();
    let mut entry = json!({
        "message": *violation.message,
        "path": violation.path.pointer(),
        "keyword": violation.keyword,
        "params": violation.params,
        "value": value,
        "expected": *violation.expected,
    });
    if let Some(hint) = &violation.hint {
        entry["hint"] = json!(hint);
    }
    entry
}

/// Returns only the path and the keyword of each violation, for tests of the order.
fn rules(schema: Value, value: Value) -> Vec<String> {
    let checked = Schema::new(schema).unwrap().check(&value);
    rules_of(&checked.err().unwrap_or_default())
}

fn rules_of(violations: &Violations) -> Vec<String> {
    let rules = violations.shown().iter().map(|violation| {
        let params = json!(violation.params);
        let name = params.get("missingProperty");
        let name = name.or(params.get("additionalProperty"));
        let name = name.map(|name| format!(" {}", name.as_str().unwrap()));
        let path = violation.path.pointer();
        format!("{path} {}{}", violation.keyword, name.unwrap_or_default())
    });
    rules.collect()
}
