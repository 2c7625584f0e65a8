//! The orders dialect: ErrorResponse in a failing result, or −32602 for violations of the schema.

pub mod codes;
mod key_rule;
mod registry;
pub mod schemas;
#[cfg(test)]
mod tests;

pub use key_rule::KeyState;
pub(crate) use key_rule::with_key_state;
pub use registry::REGISTRY;

use crate::faults::{argument_rule, rule_code};
use candor_fault::codes::wire;
use candor_fault::dialects::Wire;
use candor_fault::{
    Answer, CallFacts, Class, CodeRow, Dialect, Effect, ErrorBody, Fault, FiveAnswers, Fixed, Form,
    IncludesCodesOf, Raise, Refusal, Retry, Timestamp, ToolOutput, ToolResult, Violation,
    ViolationKind, Violations, escape_invisible, to_json, truncate_json,
};
use codes::Code;
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The dialect of order systems.
#[derive(Debug, Clone, Copy)]
pub struct Orders;

/// The members of `details` that only this dialect has.
#[derive(Debug, Clone, Default)]
pub struct OrdersFacts {
    /// The field, for validation failures.
    pub field: Option<String>,
    /// A short machine-readable reason.
    pub reason: Option<&'static str>,
    /// The adapter's own identifier.
    pub original_error: Option<String>,
    /// The state of the idempotency key, for failures of changes.
    pub key: Option<KeyState>,
    /// The key that the server gave a change without one.
    pub own_key: Option<String>,
    /// Further members of `details.context`, safe to show.
    pub context: Map<String, Value>,
}

#[derive(Serialize)]
struct ErrorObject<'a> {
    error: &'a ErrorResponse<'a>,
}

#[derive(Serialize)]
struct ErrorResponse<'a> {
    code: i32,
    message: &'a str,
    retryable: bool,
    details: Details<'a>,
}

#[derive(Serialize)]
struct Details<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    suggestion: &'a str,
    context: DetailsContext<'a>,
    #[serde(rename = "originalError", skip_serializing_if = "Option::is_none")]
    original_error: Option<&'a str>,
}

#[derive(Serialize)]
struct DetailsContext<'a> {
    class: Class,
    effect: Effect,
    #[serde(rename = "retryAfterMs")]
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<KeyState>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    violations: Vec<ViolationDetails<'a>>,
    #[serde(rename = "violationsOmitted", skip_serializing_if = "Option::is_none")]
    violations_omitted: Option<u64>,
    #[serde(flatten)]
    more: Value,
}

/// The members of `details.context` that facts must not repeat.
const RESERVED: [&str; 6] = [
    "class",
    "effect",
    "retryAfterMs",
    "key",
    "violations",
    "violationsOmitted",
];

/// The most bytes of JSON of the further facts.
const MAX_CONTEXT_BYTES: usize = 8 * 1024;

/// The most levels of containers of the further facts.
const MAX_CONTEXT_DEPTH: usize = 4;

/// Returns the further facts within their bounds, without reserved members.
fn further_facts(facts: &Map<String, Value>) -> Value {
    let allowed = facts
        .iter()
        .filter(|(name, _)| !RESERVED.contains(&name.as_str()));
    let allowed = allowed.map(|(name, fact)| (name.clone(), fact.clone()));
    truncate_json(
        &Value::Object(allowed.collect()),
        MAX_CONTEXT_DEPTH,
        MAX_CONTEXT_BYTES,
    )
}

#[derive(Serialize)]
struct InvalidData<'a> {
    field: Cow<'a, str>,
    code: i32,
    reason: &'a str,
    violations: Vec<ViolationDetails<'a>>,
}

#[derive(Serialize)]
struct ViolationDetails<'a> {
    field: Cow<'a, str>,
    code: i32,
    reason: &'a str,
    expected: &'a str,
}

#[derive(Serialize)]
struct BugData<'a> {
    fault: FiveAnswers<'a>,
}

/// Returns the code of one violation.
fn violation_code(violation: &Violation) -> Raise<Orders, Fixed, Fixed> {
    if let Some(rule) = argument_rule(violation) {
        return rule_code(rule);
    }
    match violation.kind() {
        ViolationKind::Missing => codes::MissingField,
        ViolationKind::Form => codes::InvalidFormat,
        ViolationKind::NotAnObject
        | ViolationKind::Unknown
        | ViolationKind::Type
        | ViolationKind::Value => codes::Validation,
    }
}

fn code_number(violation: &Violation) -> i32 {
    violation_code(violation).row().code.number()
}

/// Returns true for the codes of wrong arguments.
fn is_about_arguments(code: Code) -> bool {
    matches!(
        code,
        Code::Validation | Code::MissingField | Code::InvalidFormat
    )
}

fn bad_arguments(violations: Violations) -> Fault<Orders> {
    let Some(first) = violations.shown().first() else {
        return codes::Validation.fault();
    };
    let (field, reason) = (first.field().into_owned(), first.keyword);
    violation_code(first)
        .fault()
        .with_facts(|facts| {
            facts.field = Some(field);
            facts.reason = Some(reason);
        })
        .with_violations(violations)
}

fn violation_details(violation: &Violation) -> ViolationDetails<'_> {
    ViolationDetails {
        field: violation.field(),
        code: code_number(violation),
        reason: violation.keyword,
        expected: &violation.expected,
    }
}

/// Describes the first violation and counts the others. Values are never echoed.
fn describe(violations: &Violations, first: &Violation) -> String {
    let field = match first.field() {
        root if root.is_empty() => String::from("arguments"),
        field => escape_invisible(&field),
    };
    let what = match first.kind() {
        ViolationKind::Missing => "is required",
        ViolationKind::Unknown => "is not a known member",
        _ => &first.message,
    };
    let hint = match &first.hint {
        Some(hint) => format!(" ({})", escape_invisible(hint)),
        None => String::new(),
    };
    match violations.shown().len() as u64 - 1 + violations.omitted() {
        0 => format!("{field} {what}{hint}"),
        more => format!("{field} {what}{hint}; and {more} more"),
    }
}

/// Encodes violations of the published schema as −32602.
fn invalid_params(violations: &Violations, first: &Violation) -> Answer {
    let message = format!("Invalid params: {}", describe(violations, first));
    let data = InvalidData {
        field: first.field(),
        code: code_number(first),
        reason: first.keyword,
        violations: violations.shown().iter().map(violation_details).collect(),
    };
    Answer::Error(Box::new(ErrorBody {
        code: wire::InvalidParams.row().code.number(),
        message,
        data: Some(to_json(&data)),
        status: 200,
    }))
}

/// Returns the list of violations. An argument rule that is broken alone needs none: the message
/// describes it.
fn list_violations(violations: &Violations) -> Vec<ViolationDetails<'_>> {
    match violations.shown() {
        [only] if argument_rule(only).is_some() => Vec::new(),
        shown => shown.iter().map(violation_details).collect(),
    }
}

/// Returns the specification's error object.
fn response<'a>(fault: &'a Fault<Orders>, message: &'a str) -> ErrorResponse<'a> {
    let (facts, five, violations) = (fault.facts(), fault.five_answers(), fault.violations());
    ErrorResponse {
        code: fault.row().code.number(),
        message,
        retryable: matches!(five.retry, Retry::SameCall | Retry::AfterDelay),
        details: Details {
            field: facts.field.as_deref(),
            reason: facts.reason,
            suggestion: five.remedy,
            context: DetailsContext {
                class: five.class,
                effect: five.effect,
                retry_after_ms: five.retry_after_ms,
                key: facts.key,
                violations: list_violations(violations),
                violations_omitted: Some(violations.omitted()).filter(|more| *more > 0),
                more: further_facts(&facts.context),
            },
            original_error: facts.original_error.as_deref(),
        },
    }
}

/// Encodes a bug as JSON-RPC's own error: the model cannot correct it.
fn encode_bug(fault: &Fault<Orders>) -> Answer {
    Answer::Error(Box::new(ErrorBody {
        code: fault.row().code.number(),
        message: fault.message().to_owned(),
        data: Some(to_json(&BugData {
            fault: fault.five_answers(),
        })),
        status: 200,
    }))
}

/// A bug is not one of the specification's eight codes; it stays JSON-RPC's own −32603.
impl IncludesCodesOf<Wire> for Orders {}

impl Dialect for Orders {
    type Code = Code;
    type Facts = OrdersFacts;

    fn rows() -> Vec<&'static CodeRow> {
        codes::ROWS
            .iter()
            .chain([wire::InternalError.row()])
            .collect()
    }

    fn set_reason(facts: &mut OrdersFacts, reason: &'static str) {
        facts.original_error = Some(reason.to_owned());
    }

    fn adopt(refusal: Refusal) -> Fault<Self> {
        let internal = wire::InternalError.in_dialect::<Orders>();
        match refusal {
            Refusal::Arguments(violations) => bad_arguments(violations),
            Refusal::Limited { after } => codes::RateLimited.fault().after(after),
            Refusal::Deadline { effect } => codes::Timeout.fault(effect),
            Refusal::Cancelled { effect } => codes::Timeout
                .fault(effect)
                .with_message("The call was cancelled"),
            Refusal::Panicked { cause, effect } => internal
                .fault(Retry::Never, effect)
                .with_remedy("Report it to the owner of the server with the time of the call.")
                .with_cause(cause),
            Refusal::Unrecorded { cause, effect } => internal
                .fault(Retry::AfterChange, effect)
                .with_remedy("Ask the owner of the server to look at its record.")
                .with_cause(cause),
        }
    }

    fn encode_failure(fault: &Fault<Self>, call: &CallFacts<'_>, _at: Timestamp) -> Answer {
        let Some(code) = fault.code() else {
            return encode_bug(fault);
        };
        let violations = fault.violations();
        let first = violations
            .shown()
            .first()
            .filter(|_| is_about_arguments(code));
        let breaks_schema = |first: &&Violation| argument_rule(first).is_none();
        if let (Form::Protocol, Some(first)) = (call.form, first.filter(breaks_schema)) {
            return invalid_params(violations, first);
        }
        let summary = fault.message();
        let message = first.map(|first| format!("{summary}: {}", describe(violations, first)));
        let response = response(fault, message.as_deref().unwrap_or(summary));
        let object = ErrorObject { error: &response };
        let text = to_json(&object);
        let mut result = ToolResult::<&ErrorObject<'_>, &ErrorResponse<'_>>::text(&text);
        result.structured = Some(&object);
        result.is_error = true;
        result.error = Some(&response);
        result.meta.receipt = call.receipt;
        result.meta.key = fault.facts().own_key.as_deref();
        result.answer()
    }

    fn encode_success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer {
        ToolResult::encode_success(output, call.receipt)
    }
}
