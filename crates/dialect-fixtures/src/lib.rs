//! Helpers for tests of dialects: a fixed call at a fixed time, whole answers, sample violations, and
//! random failures.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails like a test"
)]

mod draw;
mod properties;
mod refusals;

pub use draw::{FaultDraw, fault_draw};
pub use properties::{DrawnCall, assert_fits, drawn_call, encode_drawn, violations_size};
pub use refusals::{assert_causes_are_kept, describe_refusals};

use candor_fault::{
    Answer, ArgumentPath, CallFacts, Code, Dialect, Effect, Fault, Form, PathStep, Receipt,
    Registry, Retry, Timestamp, Violation, excerpt,
};
use jsonschema::Validator;
use serde_json::{Value, json};

/// The time of every answer: the one in the specification's own example.
pub const AT: Timestamp = Timestamp::constant(1_760_284_161, 49_000_000);

/// A call of `tool` that was not recorded.
pub fn call(tool: &str, form: Form) -> CallFacts<'_> {
    CallFacts {
        tool: Some(tool),
        form,
        receipt: None,
    }
}

pub fn receipt() -> Receipt {
    Receipt {
        seq: 7,
        hash: "ab".repeat(32),
    }
}

/// Returns the JSON text of a result, or of the `error` member.
pub fn body(answer: &Answer) -> String {
    match answer {
        Answer::Result(text) => text.to_string(),
        Answer::Error(error) => error.json(),
    }
}

/// Returns the whole JSON-RPC response.
pub fn response(answer: &Answer) -> String {
    let member = match answer {
        Answer::Result(_) => "result",
        Answer::Error(_) => "error",
    };
    format!(r#"{{"jsonrpc":"2.0","id":1,"{member}":{}}}"#, body(answer))
}

/// Returns the whole JSON-RPC response of a failure.
pub fn failure_response<D: Dialect>(fault: &Fault<D>, tool: &str, form: Form) -> String {
    response(&D::encode_failure(fault, &call(tool, form), AT))
}

/// Returns the text of the one text block of a result.
pub fn text_block(answer: &Answer) -> String {
    let result: Value = serde_json::from_str(&body(answer)).unwrap();
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Returns the validator of a published schema of a registry.
pub fn published(registry: &Registry, name: &str) -> Validator {
    let files = (registry.schemas)();
    let file = files.iter().find(|file| file.name == name).unwrap();
    jsonschema::validator_for(&file.schema).unwrap()
}

/// Returns the errors of a JSON text against a schema; empty if it is valid.
pub fn schema_errors(validator: &Validator, text: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(text).unwrap();
    validator
        .iter_errors(&value)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect()
}

/// A violation at a path that is written with slashes.
pub fn violation(path: &str, keyword: &'static str, message: &str) -> Violation {
    let steps = path.split('/').filter(|step| !step.is_empty());
    let step = |step: &str| match step.parse() {
        Ok(index) => PathStep::Item(index),
        Err(_) => PathStep::Member(step.to_owned()),
    };
    Violation {
        path: ArgumentPath(steps.map(step).collect()),
        keyword,
        message: message.into(),
        params: json!({}).into(),
        value: excerpt(&json!({})),
        expected: "something else".into(),
        hint: None,
    }
}

/// The violation of a missing member.
pub fn missing(path: &str, name: &str) -> Violation {
    let message = format!("must have required property '{name}'");
    Violation {
        params: json!({ "missingProperty": name }).into(),
        expected: format!("an object with '{name}'").into(),
        ..violation(path, "required", &message)
    }
}

/// The violation of a member that is not in the schema.
pub fn unknown(path: &str, name: &str) -> Violation {
    Violation {
        params: json!({ "additionalProperty": name }).into(),
        expected: "no other member".into(),
        ..violation(
            path,
            "additionalProperties",
            "must NOT have additional properties",
        )
    }
}

/// The violation of a value of the wrong type.
pub fn wrong_type(path: &str, expected: &str, value: &Value) -> Violation {
    Violation {
        params: json!({ "type": expected }).into(),
        value: excerpt(value),
        expected: format!("of type {expected}").into(),
        ..violation(path, "type", &format!("must be {expected}"))
    }
}

/// Checks that every code of the dialect is found again in its failures.
pub fn assert_codes_are_found<D: Dialect>() {
    for (index, code) in D::Code::all().iter().enumerate() {
        let fault = Fault::<D>::replay(*code, Retry::Never, Effect::Unknown);
        assert_eq!(fault.code(), Some(*code));
        assert!(std::ptr::eq(fault.row(), &D::Code::rows()[index]));
        assert!(D::rows().iter().any(|row| row.has_key_of(fault.row())));
    }
}
