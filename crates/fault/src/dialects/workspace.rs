//! The workspace dialect: the SystemError envelope, eleven keys, as the text of a failing result.

use super::result::{self, ToolResult};
use crate::codes::workspace::{self as codes, Code};
use crate::{
    Answer, CallFacts, Cause, ClientText, Dialect, Fault, Refusal, Retry, Timestamp, ToolOutput,
    Violation, ViolationKind, Violations, iso_millis, to_json,
};
use serde::Serialize;
use serde_json::json;

/// The dialect of governed edits.
#[derive(Debug, Clone, Copy)]
pub struct Workspace;

/// What only this dialect's answers carry; what is empty is filled at the boundary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceFacts {
    /// The server's role.
    pub role: Option<String>,
    /// The session.
    pub session_id: Option<String>,
    /// The canonical root.
    pub workspace_root: Option<String>,
    /// The tool, where it is not the one that was called.
    pub tool_name: Option<String>,
    /// The violated invariant.
    pub invariant_id: Option<&'static str>,
    /// The phase from the caller.
    pub phase_id: Option<String>,
    /// The plan's hash.
    pub plan_hash: Option<String>,
    /// The stack, only where debugging was asked for.
    pub stack_trace: Option<String>,
}

impl WorkspaceFacts {
    /// Fills what is empty from `more`; never overwrites.
    pub fn fill(&mut self, more: WorkspaceFacts) {
        let fill = |own: &mut Option<String>, more: Option<String>| {
            if own.is_none() {
                *own = more;
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
    /// The envelope: compact JSON, keys in the specification's order.
    pub fn envelope(fault: &Fault<Workspace>, tool: Option<&str>, at: Timestamp) -> String {
        let facts = fault.facts();
        to_json(&Envelope {
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
        })
    }
}

/// How much of a violation's own wording the message takes over.
const WORDING_CHARS: usize = 200;

fn bad_arguments(violations: Violations) -> Fault<Workspace> {
    let Some(first) = violations.first_by_kind() else {
        return codes::InvalidInputValue.fault();
    };
    let raise = match first.kind() {
        ViolationKind::NotAnObject | ViolationKind::Type => codes::InvalidInputType,
        ViolationKind::Missing => codes::MissingRequiredField,
        ViolationKind::Form => codes::InvalidInputFormat,
        ViolationKind::Unknown | ViolationKind::Value => codes::InvalidInputValue,
    };
    let cause = listed(&violations);
    raise
        .fault()
        .with_message(wording(first))
        .with_cause(cause)
        .with_violations(violations)
}

fn wording(violation: &Violation) -> ClientText {
    let field = match violation.field() {
        root if root.is_empty() => String::from("arguments"),
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
struct Listed<'a> {
    violations: Vec<Entry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<u64>,
}

/// One violation. What came stays out: it may be a file's content, and the record has none.
#[derive(Serialize)]
struct Entry<'a> {
    path: String,
    field: String,
    keyword: &'a str,
    message: &'a str,
    expected: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

fn listed(violations: &Violations) -> serde_json::Value {
    let listed = Listed {
        violations: violations.shown().iter().map(entry).collect(),
        omitted: Some(violations.omitted()).filter(|more| *more > 0),
    };
    json!(listed)
}

fn entry(violation: &Violation) -> Entry<'_> {
    Entry {
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
            Refusal::Limited { .. } => codes::InternalError.fault(crate::Effect::None),
            Refusal::Deadline { effect } => codes::InternalError.fault(effect),
        }
    }

    fn failure(fault: &Fault<Self>, call: &CallFacts<'_>, at: Timestamp) -> Answer {
        let envelope = Workspace::envelope(fault, call.tool, at);
        let mut result = ToolResult::<(), ()>::text(&envelope);
        result.is_error = true;
        result.meta.fault = Some(fault.five());
        result.meta.receipt = call.receipt;
        result.answer()
    }

    fn success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer {
        result::success(output, call.receipt)
    }
}
