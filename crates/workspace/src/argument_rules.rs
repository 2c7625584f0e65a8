//! Parses the arguments that have rules which no schema can state: base64 that does not decode, text
//! that is not a plan, the new content given twice, or not at all.

use crate::plan::{MAX_ARG_BYTES, Plan, PlanError, parse};
use crate::reading::ContentEncoding;
use crate::tools::{ChangeRequest, PlanChoice, RequestedChange, RunCommand};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use candor_fault::{ArgumentPath, PathStep, Violation, Violations, excerpt};
use candor_street::{JsonKind, JsonRef};
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
pub(crate) fn parse_write(arguments: JsonRef<'_>) -> Result<Option<ChangeRequest>, Violations> {
    let mut violations = Violations::default();
    let change = change(arguments, &ArgumentPath::default(), &mut violations);
    let request = change.and_then(|change| request(arguments, vec![change]));
    outcome(request, violations)
}

/// Parses the arguments of `apply_changes`.
pub(crate) fn parse_changes(arguments: JsonRef<'_>) -> Result<Option<ChangeRequest>, Violations> {
    let mut violations = Violations::default();
    let changes = arguments.get("changes");
    let changes = changes.filter(|changes| changes.kind() == JsonKind::Array);
    let parsed = changes.map(|changes| {
        let parse = |(index, value)| {
            let at = ArgumentPath(vec![
                PathStep::Member(String::from("changes")),
                PathStep::Item(index),
            ]);
            let change = change(value, &at, &mut violations);
            deletion(value, &at, &mut violations);
            move_rules(value, &at, &mut violations);
            change
        };
        let parsed: Vec<_> = changes.items().enumerate().map(parse).collect();
        parsed.into_iter().collect::<Option<Vec<_>>>()
    });
    let request = parsed
        .flatten()
        .and_then(|changes| request(arguments, changes));
    outcome(request, violations)
}

fn request(arguments: JsonRef<'_>, changes: Vec<RequestedChange>) -> Option<ChangeRequest> {
    let by = PlanChoice::deserialize(arguments).ok()?;
    Some(ChangeRequest { changes, by })
}

/// Parses the arguments of `run_command`.
pub(crate) fn parse_command(arguments: JsonRef<'_>) -> Result<Option<RunCommand>, Violations> {
    let mut violations = Violations::default();
    let argv = arguments.get("argv");
    let argv = argv.filter(|argv| argv.kind() == JsonKind::Array);
    for (index, word) in argv.iter().flat_map(|argv| argv.items()).enumerate() {
        let text = word.as_str();
        let text = text.as_deref().unwrap_or_default();
        let at = || {
            ArgumentPath(vec![
                PathStep::Member(String::from("argv")),
                PathStep::Item(index),
            ])
        };
        if text.contains('\0') {
            violations.push(Violation {
                path: at(),
                keyword: "not",
                message: "must NOT have a NUL".into(),
                params: json!({}).into(),
                value: excerpt(&Value::Null),
                expected: "an argument without NUL".into(),
                hint: None,
            });
        }
        // The schema counts characters.
        if text.len() > MAX_ARG_BYTES && text.chars().count() <= MAX_ARG_BYTES {
            violations.push(Violation {
                path: at(),
                keyword: "maxLength",
                message: format!("must NOT have more than {MAX_ARG_BYTES} bytes").into(),
                params: json!({ "limit": MAX_ARG_BYTES }).into(),
                value: excerpt(&Value::Null),
                expected: format!("at most {MAX_ARG_BYTES} bytes").into(),
                hint: Some(String::from("pass long text on stdin")),
            });
        }
    }
    outcome(RunCommand::deserialize(arguments).ok(), violations)
}

/// Parses the plan in the arguments.
pub(crate) fn parse_plan(arguments: JsonRef<'_>) -> Result<Option<Plan>, Violations> {
    let mut violations = Violations::default();
    one_of(
        arguments,
        &["plan", "content"],
        &ArgumentPath::default(),
        &mut violations,
    );
    let text = arguments.get_or_null("content").as_str();
    let object = arguments.get("plan").filter(JsonRef::is_object);
    let (member, parsed) = match (object, text) {
        (Some(plan), _) => ("plan", Plan::from_value(plan).map(Some)),
        (None, Some(text)) => ("content", parse(&text).map(Some)),
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
        message: error.to_string().into(),
        params: json!({ "format": "plan" }).into(),
        value: excerpt(&Value::Null),
        expected: "a plan".into(),
        hint: Some(String::from("see the schema of save_plan")),
    }
}

/// The content of a file and its encoding.
#[derive(Deserialize)]
struct ContentArguments {
    content: Option<String>,
    #[serde(default)]
    encoding: ContentEncoding,
}

/// Parses one change. Returns `None` if its form is wrong.
fn change(
    value: JsonRef<'_>,
    at: &ArgumentPath,
    violations: &mut Violations,
) -> Option<RequestedChange> {
    let decoded = base64_content(value, at, violations);
    let ContentArguments { content, encoding } = ContentArguments::deserialize(value).ok()?;
    empty_edits(value, at, violations);
    let mut change = RequestedChange::deserialize(value).ok()?;
    change.content = match encoding {
        ContentEncoding::Utf8 => content.map(String::into_bytes),
        ContentEncoding::Base64 => decoded,
    };
    Some(change)
}

/// Decodes a content in base64, and checks what may stand beside a content.
fn base64_content(
    value: JsonRef<'_>,
    at: &ArgumentPath,
    violations: &mut Violations,
) -> Option<Vec<u8>> {
    let is_base64 = value.get_or_null("encoding").as_str().as_deref() == Some("base64");
    let content = value.get_or_null("content").as_str();
    let decoded = content.filter(|_| is_base64).and_then(|content| {
        let decoded = STANDARD.decode(content.as_bytes());
        decoded
            .map_err(|_| violations.push(undecodable(&content, at)))
            .ok()
    });
    one_of(value, &WAYS, at, violations);
    if is_base64 && value.get("content").is_none() {
        violations.push(Violation {
            path: member_of(at, "encoding"),
            keyword: "dependentRequired",
            message: "must have content beside it".into(),
            params: json!({ "property": "encoding", "deps": "content" }).into(),
            value: excerpt(&json!("base64")),
            expected: "utf8".into(),
            hint: Some(String::from("edits and patches are text")),
        });
    }
    decoded
}

fn undecodable(content: &str, at: &ArgumentPath) -> Violation {
    Violation {
        path: member_of(at, "content"),
        keyword: "contentEncoding",
        message: "must be valid base64".into(),
        params: json!({ "contentEncoding": "base64" }).into(),
        value: excerpt(&json!({ "bytes": content.len() })),
        expected: "base64 with its padding".into(),
        hint: Some(String::from(
            "encode the bytes again, or leave encoding out for text",
        )),
    }
}

/// Checks that a deletion is `true`, has no other content, and has the hash of the file that it
/// deletes.
fn deletion(value: JsonRef<'_>, at: &ArgumentPath, violations: &mut Violations) {
    let given = WAYS.iter().find(|way| value.get(way).is_some());
    match (value.get_or_null("delete").as_bool(), given) {
        (Some(true), Some(way)) => violations.push(choose(at, "delete", way)),
        (Some(true), None) if value.get("executable").is_some() => {
            violations.push(choose(at, "delete", "executable"));
        }
        (Some(true), None) if value.get("previous_hash").is_none() => {
            violations.push(missing(at, "previous_hash", "read the file for its hash"));
        }
        (Some(false), None) if value.get("from").is_none() => {
            violations.push(missing(at, "content", "or edits, or a patch"));
        }
        _ => {}
    }
}

/// Checks that a move has the hash of the file that it moves, and nothing beside it but edits.
fn move_rules(value: JsonRef<'_>, at: &ArgumentPath, violations: &mut Violations) {
    if value.get("from").is_none() {
        return;
    }
    let is_delete = value.get_or_null("delete").as_bool() == Some(true);
    let given = ["content", "patch"];
    let given = given.into_iter().find(|way| value.get(way).is_some());
    match given.or(is_delete.then_some("delete")) {
        Some(way) => violations.push(choose(at, "from", way)),
        None if value.get("previous_hash").is_none() => {
            violations.push(missing(at, "previous_hash", "read the file for its hash"));
        }
        None => {}
    }
}

/// Checks that edits are not empty, unless the mode of the file changes.
fn empty_edits(value: JsonRef<'_>, at: &ArgumentPath, violations: &mut Violations) {
    let edits = value.get("edits");
    let edits = edits.filter(|edits| edits.kind() == JsonKind::Array);
    let is_empty = edits.is_some_and(|edits| edits.items().next().is_none());
    if is_empty && value.get("executable").is_none() {
        violations.push(Violation {
            path: member_of(at, "edits"),
            keyword: "minItems",
            message: "must NOT have fewer than 1 items".into(),
            params: json!({ "limit": 1 }).into(),
            value: excerpt(&json!([])),
            expected: "an array of at least 1 item".into(),
            hint: None,
        });
    }
}

fn missing(at: &ArgumentPath, name: &str, hint: &str) -> Violation {
    Violation {
        path: at.clone(),
        keyword: "required",
        message: format!("must have required property '{name}'").into(),
        params: json!({ "missingProperty": name }).into(),
        value: excerpt(&Value::Null),
        expected: name.into(),
        hint: Some(hint.to_owned()),
    }
}

/// Checks that at most one of these members is present.
fn one_of(value: JsonRef<'_>, names: &[&str], at: &ArgumentPath, violations: &mut Violations) {
    let mut given = names.iter().filter(|name| value.get(name).is_some());
    if let (Some(first), Some(second)) = (given.next(), given.next()) {
        violations.push(choose(at, first, second));
    }
}

fn choose(at: &ArgumentPath, one: &str, other: &str) -> Violation {
    Violation {
        path: member_of(at, other),
        keyword: "oneOf",
        message: format!("must NOT stand beside {one}").into(),
        params: json!({ "passingSchemas": null }).into(),
        value: excerpt(&Value::Null),
        expected: format!("one of {one} and {other}").into(),
        hint: Some(String::from("send one of them")),
    }
}

fn member_of(at: &ArgumentPath, name: &str) -> ArgumentPath {
    let mut path = at.clone();
    path.0.push(PathStep::Member(name.to_owned()));
    path
}
