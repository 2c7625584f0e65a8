//! What the tests share: a fixed call at a fixed time, whole answers, violations, and schemas.

use candor_fault::{
    Answer, ArgumentPath, CallFacts, Dialect, Fault, Form, PathStep, Receipt, Timestamp, Violation,
    excerpt, schemas,
};
use jsonschema::Validator;
use serde_json::{Value, json};

/// When everything happens: the time of the specification's own example.
pub(crate) const AT: Timestamp = Timestamp::constant(1_760_284_161, 49_000_000);

/// A call of `tool` without a record.
pub(crate) fn call(tool: &str, form: Form) -> CallFacts<'_> {
    CallFacts {
        tool: Some(tool),
        form,
        receipt: None,
    }
}

pub(crate) fn receipt() -> Receipt {
    Receipt {
        seq: 7,
        hash: "ab".repeat(32),
    }
}

/// The JSON text of a result, or of the `error` member.
pub(crate) fn body(answer: &Answer) -> String {
    match answer {
        Answer::Result(text) => text.to_string(),
        Answer::Error(error) => error.json(),
    }
}

/// The whole JSON-RPC answer.
pub(crate) fn line(answer: &Answer) -> String {
    let member = match answer {
        Answer::Result(_) => "result",
        Answer::Error(_) => "error",
    };
    format!(r#"{{"jsonrpc":"2.0","id":1,"{member}":{}}}"#, body(answer))
}

/// The whole JSON-RPC answer of a failure.
pub(crate) fn failed<D: Dialect>(fault: &Fault<D>, tool: &str, form: Form) -> String {
    line(&D::failure(fault, &call(tool, form), AT))
}

/// The text of the one text block of a result.
pub(crate) fn text_block(answer: &Answer) -> String {
    let result: Value = serde_json::from_str(&body(answer)).unwrap();
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1));
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The validator of a published schema.
pub(crate) fn published(name: &str) -> Validator {
    let file = format!("{name}.schema.json");
    let (_, schema) = schemas::all()
        .into_iter()
        .find(|(known, _)| *known == file)
        .unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// What is wrong about a JSON text for a schema; empty where it fits.
pub(crate) fn misfits(validator: &Validator, text: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(text).unwrap();
    validator
        .iter_errors(&value)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect()
}

/// A violation at a place that is written with slashes.
pub(crate) fn violation(place: &str, keyword: &'static str, message: &str) -> Violation {
    let steps = place.split('/').filter(|step| !step.is_empty());
    let step = |step: &str| match step.parse() {
        Ok(index) => PathStep::Item(index),
        Err(_) => PathStep::Member(step.to_owned()),
    };
    Violation {
        path: ArgumentPath(steps.map(step).collect()),
        keyword,
        message: message.to_owned(),
        params: json!({}),
        value: excerpt(&json!({})),
        expected: String::from("something else"),
        hint: None,
    }
}

/// The violation of a missing member.
pub(crate) fn missing(place: &str, name: &str) -> Violation {
    let message = format!("must have required property '{name}'");
    Violation {
        params: json!({ "missingProperty": name }),
        expected: format!("an object with '{name}'"),
        ..violation(place, "required", &message)
    }
}

/// The violation of a member that no schema knows.
pub(crate) fn unknown(place: &str, name: &str) -> Violation {
    Violation {
        params: json!({ "additionalProperty": name }),
        expected: String::from("no other member"),
        ..violation(
            place,
            "additionalProperties",
            "must NOT have additional properties",
        )
    }
}

/// The violation of a value of the wrong type.
pub(crate) fn wrong_type(place: &str, wanted: &str, came: &Value) -> Violation {
    Violation {
        params: json!({ "type": wanted }),
        value: excerpt(came),
        expected: format!("of type {wanted}"),
        ..violation(place, "type", &format!("must be {wanted}"))
    }
}
