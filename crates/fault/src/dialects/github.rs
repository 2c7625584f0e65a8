//! The GitHub dialect: JSON-RPC errors with `data`, or the same object in a failing result.

use super::result::{self, ToolResult};
use super::wire::Wire;
use crate::bound::bounded;
use crate::codes::github::{self as codes, Code};
use crate::json::to_json_of_length;
use crate::{
    Answer, CUT, CallFacts, ClientText, Dialect, ErrorBody, Fault, FiveAnswers, Form, Refusal,
    Retry, Timestamp, ToolOutput, Violation, Violations, iso_millis, sentence, to_json,
};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt::Write as _;

/// The dialect of the GitHub tools.
#[derive(Debug, Clone, Copy)]
pub struct Github;

/// What only this dialect's answers carry.
#[derive(Debug, Clone, Default, Serialize)]
pub struct GithubFacts {
    /// GitHub's own status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// GitHub's own `errors[]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Value>,
    /// The last `mergeable_state` seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mergeable_state: Option<String>,
    /// The checks that fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing_checks: Option<Vec<String>>,
    /// The head that the caller expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// The head there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// The pull request that exists already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
}

/// How many bytes of JSON a list from GitHub may have in `data`.
const LIST_MAX_BYTES: usize = 8 * 1024;

/// How many levels of containers a list from GitHub may have in `data`.
const LIST_MAX_DEPTH: usize = 4;

impl GithubFacts {
    /// The same facts, the lists that GitHub made cut to a size that a caller can want.
    fn within_bounds(&self) -> GithubFacts {
        let errors = self.errors.as_ref();
        let checks = self.failing_checks.as_deref();
        GithubFacts {
            errors: errors.map(|list| bounded(list, LIST_MAX_DEPTH, LIST_MAX_BYTES)),
            failing_checks: checks.map(within_list),
            ..self.clone()
        }
    }
}

/// The first names that fit, and the marker where some do not.
fn within_list(names: &[String]) -> Vec<String> {
    let mut room = LIST_MAX_BYTES - CUT.len();
    let mut kept = Vec::new();
    for name in names {
        let size = to_json(name).len() + 1;
        if size > room {
            kept.push(CUT.to_owned());
            break;
        }
        room -= size;
        kept.push(name.clone());
    }
    kept
}

#[derive(Serialize)]
struct InvalidData<'a> {
    tool: &'a str,
    validation_errors: Vec<Entry<'a>>,
    timestamp: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<Hint<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<u64>,
}

#[derive(Serialize)]
struct Entry<'a> {
    message: &'a str,
    path: String,
    keyword: &'a str,
    params: &'a Value,
    value: &'a RawValue,
}

#[derive(Serialize)]
struct Hint<'a> {
    path: String,
    hint: &'a str,
}

#[derive(Serialize)]
struct FaultData<'a> {
    tool: &'a str,
    timestamp: String,
    #[serde(flatten)]
    facts: GithubFacts,
    fault: FiveAnswers<'a>,
}

fn entry(violation: &Violation) -> Entry<'_> {
    Entry {
        message: &violation.message,
        path: violation.path.pointer(),
        keyword: violation.keyword,
        params: &violation.params,
        value: &violation.value,
    }
}

fn hint(violation: &Violation) -> Option<Hint<'_>> {
    let hint = violation.hint.as_deref()?;
    Some(Hint {
        path: violation.path.pointer(),
        hint,
    })
}

/// The frozen message of arguments that do not fit.
fn validation_message(violations: &Violations) -> String {
    const BEGINNING: &str = "Validation errors: ";
    const BETWEEN: &str = "; ";
    let shown = violations.shown().iter().map(|one| one.message.as_str());
    let length: usize = shown.clone().map(|one| one.len() + BETWEEN.len()).sum();
    let mut message = String::with_capacity(BEGINNING.len() + length);
    message.push_str(BEGINNING);
    for (place, one) in shown.enumerate() {
        if place > 0 {
            message.push_str(BETWEEN);
        }
        message.push_str(one);
    }
    if violations.omitted() > 0 {
        // Writing to a string cannot fail.
        let _ = write!(message, "{BETWEEN}and {} more", violations.omitted());
    }
    message
}

impl Github {
    /// The message of a failure as it is answered.
    pub fn message(fault: &Fault<Github>) -> String {
        let violations = fault.violations();
        if fault.is(codes::InvalidParams) && !violations.is_empty() {
            validation_message(violations)
        } else {
            fault.message().to_owned()
        }
    }
}

/// How long `data` is as a rule.
const USUAL_DATA: usize = 512;

/// Message and `data` of a failure.
fn said(fault: &Fault<Github>, tool: &str, at: Timestamp) -> (String, String) {
    let message = Github::message(fault);
    if !fault.is(codes::InvalidParams) {
        let data = FaultData {
            tool,
            timestamp: iso_millis(at),
            facts: fault.facts().within_bounds(),
            fault: fault.five(),
        };
        return (message, to_json_of_length(&data, USUAL_DATA));
    }
    let violations = fault.violations();
    let data = InvalidData {
        tool,
        validation_errors: violations.shown().iter().map(entry).collect(),
        timestamp: iso_millis(at),
        hints: violations.shown().iter().filter_map(hint).collect(),
        omitted: Some(violations.omitted()).filter(|more| *more > 0),
    };
    (message, to_json_of_length(&data, USUAL_DATA))
}

impl Dialect for Github {
    type Code = Code;
    type Facts = GithubFacts;

    fn adopt(refusal: Refusal) -> Fault<Self> {
        let cut = |effect, why: &'static str| {
            let said = ClientText::from("Internal error: ").then(why);
            codes::Internal
                .fault(Retry::after_cut(effect), effect)
                .with_message(said)
        };
        match refusal {
            Refusal::Arguments(violations) => {
                codes::InvalidParams.fault().with_violations(violations)
            }
            Refusal::Limited { after } => codes::RateLimited.fault().after(after),
            Refusal::Deadline { effect } => cut(effect, "the call took too long"),
            Refusal::Cancelled { effect } => cut(effect, "the call was cancelled"),
            Refusal::Panicked { cause, effect } => codes::Internal
                .fault(Retry::Never, effect)
                .with_cause(cause),
            Refusal::Unrecorded { cause, effect } => codes::Internal
                .fault(Retry::AfterChange, effect)
                .with_message("Internal error: the call could not be recorded")
                .with_cause(cause),
        }
    }

    fn failure(fault: &Fault<Self>, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        let (message, data) = said(fault, call.tool.unwrap_or("-"), at);
        let body = ErrorBody {
            code: fault.row().code.number(),
            message,
            data: Some(data),
            status: 200,
        };
        if call.form == Form::Protocol {
            return Answer::Error(Box::new(body));
        }
        let object = body.json();
        let text = format!("{}\n{object}", sentence(fault));
        let mut result = ToolResult::<(), ()>::text(&text);
        result.is_error = true;
        result.answer()
    }

    fn success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer {
        result::success(output, call.receipt)
    }

    fn protocol(fault: &Fault<Wire>, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        let mut answer = Wire::failure(fault, call, at);
        let Some(unknown) = &fault.facts().unknown_tool else {
            return answer;
        };
        let near = unknown
            .near
            .as_ref()
            .map(|near| format!("did you mean '{near}'?"));
        let data = InvalidData {
            tool: &unknown.name,
            validation_errors: Vec::new(),
            timestamp: iso_millis(at),
            hints: near
                .iter()
                .map(|hint| Hint {
                    path: String::from("root"),
                    hint,
                })
                .collect(),
            omitted: None,
        };
        if let Answer::Error(body) = &mut answer {
            body.data = Some(to_json(&data));
        }
        answer
    }
}
