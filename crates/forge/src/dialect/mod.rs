//! The GitHub dialect: JSON-RPC errors with `data`, or the same object in a failing result.

pub mod codes;
mod registry;
pub mod schemas;
#[cfg(test)]
mod tests;

pub use registry::REGISTRY;

use crate::Conflict;
use crate::faults::{FREE_SPACE, internal_fault};
use candor_fault::dialects::Wire;
use candor_fault::{
    Answer, CUT, CallFacts, Cause, ClientText, Dialect, ErrorBody, Fault, FiveAnswers, Form,
    Refusal, Retry, RuleParams, Timestamp, ToolOutput, ToolResult, ValueExcerpt, Violation,
    Violations, iso_millis, sentence, to_json, to_json_with_capacity, truncate_json,
};
use codes::Code;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The dialect of the GitHub tools.
#[derive(Debug, Clone, Copy)]
pub struct Github;

/// The members of `data` that only this dialect has.
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
    /// The head that the pull request has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// The pull request that exists already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// The paths that cannot be merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflicts: Option<Vec<Conflict>>,
    /// The number of conflicts that are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflicts_omitted: Option<u64>,
    /// The paths that both sides changed since the merge base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_on_both: Option<Vec<String>>,
    /// Paths that differ from a missing one in case only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similar: Option<Vec<String>>,
    /// The number of occurrences of a text that must occur once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrences: Option<u64>,
    /// The number of lines of a file that has not the wanted ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    /// The page on which a person must authorise the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sso_url: Option<String>,
}

/// The most bytes of JSON of a list from GitHub in `data`.
const MAX_LIST_BYTES: usize = 8 * 1024;

/// The most conflicts in `data`.
pub const MAX_CONFLICTS: usize = 100;

/// The most levels of containers of a list from GitHub in `data`.
const MAX_LIST_DEPTH: usize = 4;

impl GithubFacts {
    /// Returns the same facts with the lists from GitHub cut to their bounds.
    fn truncated(&self) -> GithubFacts {
        let errors = self.errors.as_ref();
        let checks = self.failing_checks.as_deref();
        let conflicts = self.conflicts.as_deref().map(first_conflicts);
        let all = self.conflicts.as_ref().map_or(0, Vec::len);
        let omitted = all - conflicts.as_ref().map_or(0, Vec::len);
        let both = self.changed_on_both.as_deref();
        let both = both.map(|paths| &paths[..paths.len().min(MAX_CONFLICTS)]);
        GithubFacts {
            conflicts,
            conflicts_omitted: Some(omitted as u64).filter(|omitted| *omitted > 0),
            changed_on_both: both.map(truncate_list),
            errors: errors.map(|list| truncate_json(list, MAX_LIST_DEPTH, MAX_LIST_BYTES)),
            failing_checks: checks.map(truncate_list),
            similar: self.similar.as_deref().map(truncate_list),
            ..self.clone()
        }
    }
}

/// Returns the first conflicts that fit.
fn first_conflicts(conflicts: &[Conflict]) -> Vec<Conflict> {
    let mut room = MAX_LIST_BYTES;
    let fitting = conflicts.iter().take(MAX_CONFLICTS).take_while(|conflict| {
        let size = to_json(conflict).len() + 1;
        let fits = size <= room;
        room -= size.min(room);
        fits
    });
    fitting.cloned().collect()
}

/// Returns the first names that fit, and the marker if some do not.
fn truncate_list(names: &[String]) -> Vec<String> {
    let mut room = MAX_LIST_BYTES - CUT.len();
    let mut list = Vec::new();
    for name in names {
        let size = to_json(name).len() + 1;
        if size > room {
            list.push(CUT.to_owned());
            break;
        }
        room -= size;
        list.push(name.clone());
    }
    list
}

#[derive(Serialize)]
struct InvalidData<'a> {
    tool: &'a str,
    validation_errors: Vec<ValidationError<'a>>,
    timestamp: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<ArgumentHint<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<u64>,
}

#[derive(Serialize)]
struct ValidationError<'a> {
    message: &'a str,
    path: Cow<'a, str>,
    keyword: &'a str,
    params: &'a RuleParams,
    value: &'a ValueExcerpt,
}

#[derive(Serialize)]
struct ArgumentHint<'a> {
    path: Cow<'a, str>,
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

fn validation_error(violation: &Violation) -> ValidationError<'_> {
    ValidationError {
        message: &violation.message,
        path: violation.path.pointer(),
        keyword: violation.keyword,
        params: &violation.params,
        value: &violation.value,
    }
}

fn hint(violation: &Violation) -> Option<ArgumentHint<'_>> {
    let hint = violation.hint.as_deref()?;
    Some(ArgumentHint {
        path: violation.path.pointer(),
        hint,
    })
}

/// Returns the frozen message of arguments that do not fit the schema.
fn validation_message(violations: &Violations) -> String {
    const BEGINNING: &str = "Validation errors: ";
    const BETWEEN: &str = "; ";
    let shown = violations.shown().iter().map(|one| &*one.message);
    let length: usize = shown.clone().map(|one| one.len() + BETWEEN.len()).sum();
    let mut message = String::with_capacity(BEGINNING.len() + length);
    message.push_str(BEGINNING);
    for (index, one) in shown.enumerate() {
        if index > 0 {
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
    /// Returns the message of a failure as it is in the answer.
    pub fn message(fault: &Fault<Github>) -> String {
        let violations = fault.violations();
        if fault.is(codes::InvalidParams) && !violations.is_empty() {
            validation_message(violations)
        } else {
            fault.message().to_owned()
        }
    }
}

/// The usual length of `data`.
const DATA_CAPACITY: usize = 512;

/// Returns message and `data` of a failure.
fn message_and_data(fault: &Fault<Github>, tool: &str, at: Timestamp) -> (String, String) {
    let message = Github::message(fault);
    if !fault.is(codes::InvalidParams) {
        let data = FaultData {
            tool,
            timestamp: iso_millis(at),
            facts: fault.facts().truncated(),
            fault: fault.five_answers(),
        };
        return (message, to_json_with_capacity(&data, DATA_CAPACITY));
    }
    let violations = fault.violations();
    let data = InvalidData {
        tool,
        validation_errors: violations.shown().iter().map(validation_error).collect(),
        timestamp: iso_millis(at),
        hints: violations.shown().iter().filter_map(hint).collect(),
        omitted: Some(violations.omitted()).filter(|more| *more > 0),
    };
    (message, to_json_with_capacity(&data, DATA_CAPACITY))
}

/// Returns true if an error of the operating system says that the disk or the quota has no room.
pub(crate) fn is_full_disk(cause: &Cause) -> bool {
    let code = match cause {
        Cause::Error { code, .. } => code.as_deref(),
        // The failure of the call may stand beside the failure to record it.
        Cause::Data(data) => data["recording"]["code"].as_str(),
        Cause::Text(_) => None,
    };
    matches!(code, Some("ENOSPC" | "EDQUOT"))
}

impl Dialect for Github {
    type Code = Code;
    type Facts = GithubFacts;

    fn adopt(refusal: Refusal) -> Fault<Self> {
        let cut = |effect, reason: &'static str| {
            let message = ClientText::from("Internal error: ").then(reason);
            internal_fault(Retry::after_cut(effect), effect).with_message(message)
        };
        match refusal {
            Refusal::Arguments(violations) => {
                codes::InvalidParams.fault().with_violations(violations)
            }
            Refusal::Limited { after } => codes::RateLimited.fault().after(after),
            Refusal::Deadline { effect } => cut(effect, "the call took too long"),
            Refusal::Cancelled { effect } => cut(effect, "the call was cancelled"),
            Refusal::Panicked { cause, effect } => {
                internal_fault(Retry::Never, effect).with_cause(cause)
            }
            // The attempt was recorded before, so this is the record of an outcome.
            Refusal::Unrecorded { cause, effect } if is_full_disk(&cause) => codes::Internal
                .fault(Retry::AfterChange, effect)
                .with_message("Internal error: the disk is full; the outcome is not on record")
                .with_remedy(FREE_SPACE)
                .with_cause(cause),
            Refusal::Unrecorded { cause, effect } => internal_fault(Retry::AfterChange, effect)
                .with_message("Internal error: the call could not be recorded")
                .with_cause(cause),
        }
    }

    fn encode_failure(fault: &Fault<Self>, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        let (message, data) = message_and_data(fault, call.tool.unwrap_or("-"), at);
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

    fn encode_success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer {
        ToolResult::encode_success(output, call.receipt)
    }

    fn encode_protocol_fault(fault: &Fault<Wire>, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        let mut answer = Wire::encode_failure(fault, call, at);
        let Some(unknown) = &fault.facts().unknown_tool else {
            return answer;
        };
        let near = unknown.hint();
        let data = InvalidData {
            tool: &unknown.name,
            validation_errors: Vec::new(),
            timestamp: iso_millis(at),
            hints: near
                .iter()
                .map(|hint| ArgumentHint {
                    path: Cow::Borrowed("root"),
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
