//! The workspace dialect: the SystemError envelope, eleven keys, as the text of a failing result.

pub mod codes;
mod registry;
pub mod schemas;
pub mod system_error;
#[cfg(test)]
mod tests;

pub use registry::REGISTRY;

use candor_fault::{
    Answer, CallFacts, Cause, ClientText, Dialect, Effect, Fault, Refusal, Retry, Timestamp,
    ToolOutput, ToolResult, Violation, ViolationKind, Violations, iso_millis, to_json,
};
use codes::Code;
use serde::Serialize;
use serde_json::json;
use std::borrow::Cow;

/// The dialect of governed edits.
#[derive(Debug, Clone, Copy)]
pub struct Workspace;

/// The members of the envelope that come from the session. The server fills the empty ones before
/// it answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceFacts {
    pub role: Option<String>,
    pub session_id: Option<String>,
    pub workspace_root: Option<String>,
    /// The tool, if it is not the one that was called.
    pub tool_name: Option<String>,
    pub invariant_id: Option<&'static str>,
    /// The phase that the caller named.
    pub phase_id: Option<String>,
    pub plan_hash: Option<String>,
    /// The stack, only if debugging was requested.
    pub stack_trace: Option<String>,
}

impl WorkspaceFacts {
    /// Fills empty members from `more`; never overwrites.
    pub fn fill(&mut self, more: WorkspaceFacts) {
        let fill = |member: &mut Option<String>, more: Option<String>| {
            if member.is_none() {
                *member = more;
            }
        };
        fill(&mut self.role, more.role);
        fill(&mut self.session_id, more.session_id);
        fill(&mut self.workspace_root, more.workspace_root);
        fill(&mut self.tool_name, more.tool_name);
        fill(&mut self.phase_id, more.phase_id);
        fill(&mut self.plan_hash, more.plan_hash);
        fill(&mut self.stack_trace, more.stack_trace);
        self.invariant_id = self.invariant_id.or(more.invariant_id);
    }
}

#[derive(Serialize)]
struct Envelope<'a> {
    error_code: &'a str,
    human_message: &'a str,
    role: Option<&'a str>,
    session_id: Option<&'a str>,
    workspace_root: Option<&'a str>,
    tool_name: &'a str,
    invariant_id: Option<&'a str>,
    phase_id: Option<&'a str>,
    plan_hash: Option<&'a str>,
    cause: Option<&'a Cause>,
    timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack_trace: Option<&'a str>,
}

impl Workspace {
    /// Returns the envelope: compact JSON, keys in the specification's order.
    pub fn envelope(fault: &Fault<Workspace>, tool: Option<&str>, at: Timestamp) -> String {
        to_json(&Envelope::new(fault, tool, at))
    }

    /// Returns the envelope as a JSON object.
    pub(crate) fn envelope_value(
        fault: &Fault<Workspace>,
        tool: Option<&str>,
        at: Timestamp,
    ) -> serde_json::Value {
        json!(Envelope::new(fault, tool, at))
    }
}

impl<'a> Envelope<'a> {
    fn new(fault: &'a Fault<Workspace>, tool: Option<&'a str>, at: Timestamp) -> Envelope<'a> {
        let facts = fault.facts();
        Envelope {
            error_code: fault.row().code.text(),
            human_message: fault.message(),
            role: facts.role.as_deref(),
            session_id: facts.session_id.as_deref(),
            workspace_root: facts.workspace_root.as_deref(),
            tool_name: facts.tool_name.as_deref().or(tool).unwrap_or("unknown"),
            invariant_id: facts.invariant_id,
            phase_id: facts.phase_id.as_deref(),
            plan_hash: facts.plan_hash.as_deref(),
            cause: fault.cause(),
            timestamp: iso_millis(at),
            stack_trace: facts.stack_trace.as_deref(),
        }
    }
}

/// The most characters of a violation's wording in the message.
const WORDING_CHARS: usize = 200;

fn bad_arguments(violations: Violations) -> Fault<Workspace> {
    let Some(first) = violations.first_by_kind() else {
        return codes::InvalidInputValue.fault();
    };
    let code = match first.kind() {
        ViolationKind::NotAnObject | ViolationKind::Type => codes::InvalidInputType,
        ViolationKind::Missing => codes::MissingRequiredField,
        ViolationKind::Form => codes::InvalidInputFormat,
        ViolationKind::Unknown | ViolationKind::Value => codes::InvalidInputValue,
    };
    let cause = list_violations(&violations);
    code.fault()
        .with_message(wording(first))
        .with_cause(cause)
        .with_violations(violations)
}

fn wording(violation: &Violation) -> ClientText {
    let field = match violation.field() {
        root if root.is_empty() => Cow::Borrowed("arguments"),
        field => field,
    };
    let what = match violation.kind() {
        ViolationKind::Missing if violation.missing().is_some() => {
            ClientText::from("").quoting(&field).then(" is required")
        }
        ViolationKind::Missing => ClientText::from("")
            .quoting(&field)
            .then(" must be ")
            .quoting_at_most(&violation.expected, WORDING_CHARS),
        ViolationKind::Unknown => ClientText::from("")
            .quoting(&field)
            .then(" is not a known member"),
        _ => ClientText::from("")
            .quoting(&field)
            .then(" ")
            .quoting_at_most(&violation.message, WORDING_CHARS),
    };
    match &violation.hint {
        Some(hint) => what.then("; ").quoting_at_most(hint, WORDING_CHARS),
        None => what,
    }
}

#[derive(Serialize)]
struct ViolationList<'a> {
    violations: Vec<ListedViolation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<u64>,
}

/// One violation, without the value: it may be a file's content, which the record must not contain.
#[derive(Serialize)]
struct ListedViolation<'a> {
    path: Cow<'a, str>,
    field: Cow<'a, str>,
    keyword: &'a str,
    message: &'a str,
    expected: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

fn list_violations(violations: &Violations) -> serde_json::Value {
    let list = ViolationList {
        violations: violations.shown().iter().map(entry).collect(),
        omitted: Some(violations.omitted()).filter(|more| *more > 0),
    };
    json!(list)
}

fn entry(violation: &Violation) -> ListedViolation<'_> {
    ListedViolation {
        path: violation.path.pointer(),
        field: violation.field(),
        keyword: violation.keyword,
        message: &violation.message,
        expected: &violation.expected,
        hint: violation.hint.as_deref(),
    }
}

impl Dialect for Workspace {
    type Code = Code;
    type Facts = WorkspaceFacts;

    fn set_reason(facts: &mut WorkspaceFacts, reason: &'static str) {
        facts.invariant_id = Some(reason);
    }

    fn adopt(refusal: Refusal) -> Fault<Self> {
        match refusal {
            Refusal::Arguments(violations) => bad_arguments(violations),
            Refusal::Panicked { cause, effect } => {
                codes::InternalError.fault(effect).with_cause(cause)
            }
            Refusal::Unrecorded { cause, effect } => {
                codes::AuditLogFailed.fault(effect).with_cause(cause)
            }
            Refusal::Cancelled { effect } => codes::UnknownToolFailure
                .fault(Retry::AfterChange, effect)
                .with_message("The call was cancelled")
                .with_cause(Cause::Error {
                    message: String::from("the call was cancelled, or the server ended"),
                    code: None,
                    name: String::from("Cancelled"),
                }),
            // This dialect's servers have neither limiter nor deadline.
            Refusal::Limited { .. } => codes::InternalError.fault(Effect::None),
            Refusal::Deadline { effect } => codes::InternalError.fault(effect),
        }
    }

    fn encode_failure(fault: &Fault<Self>, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        let envelope = Workspace::envelope(fault, call.tool, at);
        let mut result = ToolResult::<(), ()>::text(&envelope);
        result.is_error = true;
        result.meta.fault = Some(fault.five_answers());
        result.meta.receipt = call.receipt;
        result.answer()
    }

    fn encode_success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer {
        ToolResult::encode_success(output, call.receipt)
    }
}
