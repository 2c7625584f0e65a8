//! The neutral dialect `candor/1`, for every server built on these crates that brings its own codes.

use super::result::{self, ToolResult};
use crate::codes::candor as core;
use crate::json::to_raw_json;
use crate::{
    Answer, CallFacts, Code, CodeRow, CodeValue, Dialect, Fault, FiveAnswers, Refusal, Retry,
    Timestamp, ToolOutput, Violation, sentence, to_json,
};
use serde::Serialize;
use serde_json::value::RawValue;
use std::marker::PhantomData;

/// The neutral dialect with the codes `C` beside its own.
#[derive(Debug, Clone, Copy)]
pub struct Candor<C>(PhantomData<C>);

#[derive(Serialize)]
struct Structured<'a> {
    error: &'a RawValue,
}

#[derive(Serialize)]
struct ErrorObject<'a> {
    code: CodeValue,
    message: &'a str,
    fault: FiveAnswers<'a>,
    violations: Vec<Entry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    violations_omitted: Option<u64>,
}

#[derive(Serialize)]
struct Entry<'a> {
    path: String,
    field: String,
    keyword: &'a str,
    message: &'a str,
    expected: &'a str,
    value: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

fn entry(violation: &Violation) -> Entry<'_> {
    Entry {
        path: violation.path.pointer(),
        field: violation.field(),
        keyword: violation.keyword,
        message: &violation.message,
        expected: &violation.expected,
        value: &violation.value,
        hint: violation.hint.as_deref(),
    }
}

impl<C: Code> Dialect for Candor<C> {
    type Code = C;
    type Facts = ();

    fn rows() -> Vec<&'static CodeRow> {
        let core = core::ROWS.iter();
        // The dialect's own registry is `Candor<core::Code>`'s own too.
        let own = C::rows().iter().filter(|row| row.dialect != "candor");
        core.chain(own).collect()
    }

    fn adopt(refusal: Refusal) -> Fault<Self> {
        match refusal {
            Refusal::Arguments(violations) => core::InvalidArguments
                .within()
                .fault()
                .with_violations(violations),
            Refusal::Limited { after } => core::Limited.within::<Self>().fault().after(after),
            Refusal::Deadline { effect } => core::Deadline
                .within()
                .fault(Retry::after_cut(effect), effect),
            Refusal::Cancelled { effect } => core::Cancelled
                .within()
                .fault(Retry::after_cut(effect), effect),
            Refusal::Panicked { cause, effect } => core::Internal
                .within::<Self>()
                .fault(effect)
                .with_cause(cause),
            Refusal::Unrecorded { cause, effect } => core::Unrecorded
                .within::<Self>()
                .fault(effect)
                .with_cause(cause),
        }
    }

    fn failure(fault: &Fault<Self>, call: &CallFacts<'_>, _at: Timestamp) -> Answer {
        let violations = fault.violations();
        // Written once: it stands in the answer three times.
        let error = to_raw_json(&ErrorObject {
            code: fault.row().code,
            message: fault.message(),
            fault: fault.five(),
            violations: violations.shown().iter().map(entry).collect(),
            violations_omitted: Some(violations.omitted()).filter(|more| *more > 0),
        });
        let structured = Structured { error: &error };
        let text = format!("{}\n{}", sentence(fault), to_json(&structured));
        let mut result = ToolResult::text(&text);
        result.structured = Some(&structured);
        result.is_error = true;
        result.meta.error = Some(&*error);
        result.meta.receipt = call.receipt;
        result.answer()
    }

    fn success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer {
        result::success(output, call.receipt)
    }
}
