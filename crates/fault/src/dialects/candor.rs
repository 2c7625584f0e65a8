//! The neutral dialect `candor/1`, for servers with codes of their own.

use crate::codes::candor as core;
use crate::sentence::{USUAL_SENTENCE, write_sentence};
use crate::{
    Answer, CallFacts, Code, CodeRow, CodeValue, Dialect, Fault, FiveAnswers, IncludesCodesOf,
    Refusal, Retry, Timestamp, ToolOutput, ToolResult, Violation, to_json, to_raw_json,
};
use serde::Serialize;
use serde_json::value::RawValue;
use std::marker::PhantomData;

/// The neutral dialect, with the codes `C` of a server beside the core ones.
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
    violations: Vec<ViolationEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    violations_omitted: Option<u64>,
}

#[derive(Serialize)]
struct ViolationEntry<'a> {
    path: String,
    field: String,
    keyword: &'a str,
    message: &'a str,
    expected: &'a str,
    value: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

fn entry(violation: &Violation) -> ViolationEntry<'_> {
    ViolationEntry {
        path: violation.path.pointer(),
        field: violation.field(),
        keyword: violation.keyword,
        message: &violation.message,
        expected: &violation.expected,
        value: &violation.value,
        hint: violation.hint.as_deref(),
    }
}

/// Returns `{"error":…}` as `candor/1` encodes a failure in `structuredContent`.
pub fn candor_error_object<D: Dialect>(fault: &Fault<D>) -> String {
    let error = error_object(fault);
    to_json(&Structured { error: &error })
}

/// Encodes a failure in the form of `candor/1`. For dialects that use this form and declare every code
/// themselves, the ones for refusals too.
pub fn encode_candor_failure<D: Dialect>(fault: &Fault<D>, call: &CallFacts<'_>) -> Answer {
    // Serialised once: the answer contains it three times.
    let error = error_object(fault);
    let mut text = String::with_capacity(error.get().len() + USUAL_SENTENCE);
    write_sentence(fault, &mut text);
    text.push_str("\n{\"error\":");
    text.push_str(error.get());
    text.push('}');
    let structured = Structured { error: &error };
    let mut result = ToolResult::text(&text);
    result.structured = Some(&structured);
    result.is_error = true;
    result.meta.error = Some(&*error);
    result.meta.receipt = call.receipt;
    result.answer()
}

fn error_object<D: Dialect>(fault: &Fault<D>) -> Box<RawValue> {
    let violations = fault.violations();
    to_raw_json(&ErrorObject {
        code: fault.row().code,
        message: fault.message(),
        fault: fault.five_answers(),
        violations: violations.shown().iter().map(entry).collect(),
        violations_omitted: Some(violations.omitted()).filter(|more| *more > 0),
    })
}

impl<C: Code> IncludesCodesOf<Candor<core::Code>> for Candor<C> {}

impl<C: Code> Dialect for Candor<C> {
    type Code = C;
    type Facts = ();

    fn rows() -> Vec<&'static CodeRow> {
        let core = core::ROWS.iter();
        // The codes of `Candor<core::Code>` are the core ones themselves.
        let own = C::rows().iter().filter(|row| row.dialect != "candor");
        core.chain(own).collect()
    }

    fn adopt(refusal: Refusal) -> Fault<Self> {
        match refusal {
            Refusal::Arguments(violations) => core::InvalidArguments
                .in_dialect()
                .fault()
                .with_violations(violations),
            Refusal::Limited { after } => core::Limited.in_dialect::<Self>().fault().after(after),
            Refusal::Deadline { effect } => core::Deadline
                .in_dialect()
                .fault(Retry::after_cut(effect), effect),
            Refusal::Cancelled { effect } => core::Cancelled
                .in_dialect()
                .fault(Retry::after_cut(effect), effect),
            Refusal::Panicked { cause, effect } => core::Internal
                .in_dialect::<Self>()
                .fault(effect)
                .with_cause(cause),
            Refusal::Unrecorded { cause, effect } => core::Unrecorded
                .in_dialect::<Self>()
                .fault(effect)
                .with_cause(cause),
        }
    }

    fn encode_failure(fault: &Fault<Self>, call: &CallFacts<'_>, _at: Timestamp) -> Answer {
        encode_candor_failure(fault, call)
    }

    fn encode_success(output: &ToolOutput, call: &CallFacts<'_>) -> Answer {
        ToolResult::encode_success(output, call.receipt)
    }
}
