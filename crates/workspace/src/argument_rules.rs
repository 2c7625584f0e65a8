//! Parses the arguments that have rules which no schema can state: base64 that does not decode, text
//! that is not a plan, the new content given twice, or not at all.

use crate::plan::{Plan, PlanError, parse};
use crate::reading::ContentEncoding;
use crate::tools::{ChangeRequest, PlanChoice, RequestedChange};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_fault::{ArgumentPath, PathStep, Violation, Violations, excerpt};
use serde::Deserialize;
use serde_json::{Value, json};

/// The members that can give the new content of a file.
const WAYS: [&str; 3] = ["content", "edits", "patch"];

/// Returns what was parsed, if nothing is wrong.
fn outcome<T>(parsed: Option<T>, violations: Violations) -> Result<Option<T>, Violations> {
    match violations.is_empty() {
        true => Ok(parsed),
        false => Err(violations),
    }
}

/// Parses the arguments of `write_file`.
pub(crate) fn parse_write(arguments: &Value) -> Result<Option<ChangeRequest>, Violations> {
    let mut violations = Violations::default();
    let change = change(arguments, &ArgumentPath::default(), &mut violations);
    let request = change.and_then(|change| request(arguments, vec![change]));
    outcome(request, violations)
}

/// Parses the arguments of `apply_changes`.
pub(crate) fn parse_changes(arguments: &Value) -> Result<Option<ChangeRequest>, Violations> {
    let mut violations = Violations::default();
    let changes = arguments.get("changes").and_then(Value::as_array);
    let parsed = changes.map(|changes| {
        let parse = |(index, value)| {
            let at = ArgumentPath(vec![
                PathStep::Member(String::from("changes")),
                PathStep::Item(index),
            ]);
            let change = change(value, &at, &mut violations);
            deletion(value, &at, &mut violations);
            change
        };
        let parsed: Vec<_> = changes.iter().enumerate().map(parse).collect();
        parsed.into_iter().collect::<Option<Vec<_>>>()
    });
    let request = parsed
        .flatten()
        .and_then(|changes| request(arguments, changes));
    outcome(request, violations)
}

fn request(arguments: &Value, changes: Vec<RequestedChange>) -> Option<ChangeRequest> {
    let by = PlanChoice::deserialize(arguments).ok()?;
    Some(ChangeRequest { changes, by })
}

/// Parses the plan in the arguments.
pub(crate) fn parse_plan(arguments: &Value) -> Result<Option<Plan>, Violations> {
    let mut violations = Violations::default();
    one_of(
        arguments,
        &["plan", "content"],
        &ArgumentPath::default(),
        &mut violations,
    );
    let text = arguments.get("content").and_then(Value::as_str);
    let object = arguments.get("plan").filter(|plan| plan.is_object());
    let (member, parsed) = match (object, text) {
        (Some(plan), _) => ("plan", Plan::from_value(plan).map(Some)),
        (None, Some(text)) => ("content", parse(text).map(Some)),
        (None, None) => ("content", Ok(None)),
    };
    let plan = parsed.unwrap_or_else(|error| {
        violations.push(no_plan(member, &error));
        None
    });
    outcome(plan, violations)
}

/// Returns the violation for a text or an object that is not a plan.
pub(crate) fn no_plan(member: &str, error: &PlanError) -> Violation {
    Violation {
        path: member_of(&ArgumentPath::default(), member),
        // Every way of not being a plan is reported as a wrong form.
        keyword: "format",
        message: error.to_string(),
        params: json!({ "format": "plan" }),
        value: excerpt(&Value::Null),
        expected: String::from("a plan"),
        hint: Some(String::from("see the schema of save_plan")),
    }
}

/// The content of a file and its encoding.
#[derive(Deserialize)]
struct ContentArguments<'a> {
    content: Option<&'a str>,
    #[serde(default)]
    encoding: ContentEncoding,
}

/// Parses one change. Returns `None` if its form is wrong.
fn change(
    value: &Value,
    at: &ArgumentPath,
    violations: &mut Violations,
) -> Option<RequestedChange> {
    let decoded = base64_content(value, at, violations);
    let ContentArguments { content, encoding } = ContentArguments::deserialize(value).ok()?;
    let mut change = RequestedChange::deserialize(value).ok()?;
    change.content = match encoding {
        ContentEncoding::Utf8 => content.map(|text| text.as_bytes().to_vec()),
        ContentEncoding::Base64 => decoded,
    };
    Some(change)
}

/// Decodes a content in base64, and checks what may stand beside a content.
fn base64_content(
    value: &Value,
    at: &ArgumentPath,
    violations: &mut Violations,
) -> Option<Vec<u8>> {
    let is_base64 = value.get("encoding") == Some(&json!("base64"));
    let content = value.get("content").and_then(Value::as_str);
    let decoded = content.filter(|_| is_base64).and_then(|content| {
        let decoded = STANDARD.decode(content);
        decoded
            .map_err(|_| violations.push(undecodable(content, at)))
            .ok()
    });
    one_of(value, &WAYS, at, violations);
    if is_base64 && value.get("content").is_none() {
        violations.push(Violation {
            path: member_of(at, "encoding"),
            keyword: "dependentRequired",
            message: String::from("must have content beside it"),
            params: json!({ "property": "encoding", "deps": "content" }),
            value: excerpt(&json!("base64")),
            expected: String::from("utf8"),
            hint: Some(String::from("edits and patches are text")),
        });
    }
    decoded
}

fn undecodable(content: &str, at: &ArgumentPath) -> Violation {
    Violation {
        path: member_of(at, "content"),
        keyword: "contentEncoding",
        message: String::from("must be valid base64"),
        params: json!({ "contentEncoding": "base64" }),
        value: excerpt(&json!({ "bytes": content.len() })),
        expected: String::from("base64 with its padding"),
        hint: Some(String::from(
            "encode the bytes again, or leave encoding out for text",
        )),
    }
}

/// Checks that a deletion is `true`, has no other content, and has the hash of the file that it
/// deletes.
fn deletion(value: &Value, at: &ArgumentPath, violations: &mut Violations) {
    let given = WAYS.iter().find(|way| value.get(**way).is_some());
    match (value.get("delete"), given) {
        (Some(Value::Bool(true)), Some(way)) => violations.push(choose(at, "delete", way)),
        (Some(Value::Bool(true)), None) if value.get("previous_hash").is_none() => {
            violations.push(missing(at, "previous_hash", "read the file for its hash"));
        }
        (Some(Value::Bool(false)), None) => {
            violations.push(missing(at, "content", "or edits, or a patch"));
        }
        _ => {}
    }
}

fn missing(at: &ArgumentPath, name: &str, hint: &str) -> Violation {
    Violation {
        path: at.clone(),
        keyword: "required",
        message: format!("must have required property '{name}'"),
        params: json!({ "missingProperty": name }),
        value: excerpt(&Value::Null),
        expected: name.to_owned(),
        hint: Some(hint.to_owned()),
    }
}

/// Checks that at most one of these members is present.
fn one_of(value: &Value, names: &[&str], at: &ArgumentPath, violations: &mut Violations) {
    let mut given = names.iter().filter(|name| value.get(**name).is_some());
    if let (Some(first), Some(second)) = (given.next(), given.next()) {
        violations.push(choose(at, first, second));
    }
}

fn choose(at: &ArgumentPath, one: &str, other: &str) -> Violation {
    Violation {
        path: member_of(at, other),
        keyword: "oneOf",
        message: format!("must NOT stand beside {one}"),
        params: json!({ "passingSchemas": null }),
        value: excerpt(&Value::Null),
        expected: format!("one of {one} and {other}"),
        hint: Some(String::from("send one of them")),
    }
}

fn member_of(at: &ArgumentPath, name: &str) -> ArgumentPath {
    let mut path = at.clone();
    path.0.push(PathStep::Member(name.to_owned()));
    path
}
