//! The rules about arguments that no schema can state: base64 that does not decode, two ways of saying
//! the new content, one file twice.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_fault::{Path, Step, Violation, Violations, excerpt};
use serde_json::{Value, json};

/// The ways in which a new content is said.
const WAYS: [&str; 3] = ["content", "edits", "patch"];

/// What is wrong about arguments that the schema admits.
pub(crate) fn check(tool: &str, arguments: &Value) -> Result<(), Violations> {
    let mut violations = Violations::default();
    match tool {
        "write_file" => change(arguments, &Path::default(), &mut violations),
        "apply_changes" => {
            let changes = arguments.get("changes").and_then(Value::as_array);
            for (index, item) in changes.into_iter().flatten().enumerate() {
                let at = Path(vec![
                    Step::Member(String::from("changes")),
                    Step::Item(index),
                ]);
                change(item, &at, &mut violations);
            }
        }
        "lint_plan" | "save_plan" => one_of(
            arguments,
            &["plan", "content"],
            &Path::default(),
            &mut violations,
        ),
        _ => {}
    }
    if violations.is_empty() {
        Ok(())
    } else {
        Err(violations)
    }
}

fn change(value: &Value, at: &Path, violations: &mut Violations) {
    let is_base64 = value.get("encoding") == Some(&json!("base64"));
    if let Some(content) = value.get("content").and_then(Value::as_str)
        && is_base64
        && STANDARD.decode(content).is_err()
    {
        violations.push(Violation {
            path: member(at, "content"),
            keyword: "contentEncoding",
            message: String::from("must be valid base64"),
            params: json!({ "contentEncoding": "base64" }),
            value: excerpt(&json!({ "bytes": content.len() })),
            expected: String::from("base64 with its padding"),
            hint: Some(String::from(
                "encode the bytes again, or leave encoding out for text",
            )),
        });
    }
    one_of(value, &WAYS, at, violations);
    let is_delete = value.get("delete") == Some(&Value::Bool(true));
    let given: Vec<_> = WAYS
        .iter()
        .filter(|way| value.get(**way).is_some())
        .collect();
    if is_delete && !given.is_empty() {
        violations.push(choose(at, &["delete", given[0]]));
    }
    if is_base64 && value.get("content").is_none() {
        violations.push(Violation {
            path: member(at, "encoding"),
            keyword: "dependentRequired",
            message: String::from("must have content beside it"),
            params: json!({ "missingProperty": "content" }),
            value: excerpt(&json!("base64")),
            expected: String::from("utf8"),
            hint: Some(String::from("edits and patches are text")),
        });
    }
}

/// At most one of these members may be there.
fn one_of(value: &Value, names: &[&'static str], at: &Path, violations: &mut Violations) {
    let given: Vec<_> = names
        .iter()
        .filter(|name| value.get(**name).is_some())
        .collect();
    if let [first, second, ..] = given.as_slice() {
        violations.push(choose(at, &[first, second]));
    }
}

fn choose(at: &Path, names: &[&str]) -> Violation {
    Violation {
        path: member(at, names[1]),
        keyword: "oneOf",
        message: format!("must NOT stand beside {}", names[0]),
        params: json!({ "passingSchemas": null }),
        value: excerpt(&Value::Null),
        expected: format!("one of {} and {}", names[0], names[1]),
        hint: Some(String::from("send one of them")),
    }
}

fn member(at: &Path, name: &str) -> Path {
    let mut path = at.clone();
    path.0.push(Step::Member(name.to_owned()));
    path
}
