//! The neutral dialect `candor/1`, for servers with codes of their own.

use crate::codes::candor as core;
use crate::quoted_json::{QuotedJson, piece, push_escaped};
use crate::rendered_parts::{push_fault_part, push_rule_part};
use crate::{
    Answer, CallFacts, Code, CodeRow, CodeValue, Dialect, Fault, IncludesCodesOf, Refusal, Retry,
    Timestamp, ToolOutput, ToolResult, Violation, sentence, to_json,
};
use std::marker::PhantomData;

/// The neutral dialect, with the codes `C` of a server beside the core ones.
#[derive(Debug, Clone, Copy)]
pub struct Candor<C>(PhantomData<C>);

/// The capacity for the error object of an ordinary failure.
const USUAL_ERROR: usize = 1024;

/// Returns `{"error":…}` as `candor/1` encodes a failure in `structuredContent`.
pub fn candor_error_object<D: Dialect>(fault: &Fault<D>) -> String {
    let mut quoted = String::new();
    let mut error = QuotedJson::new(USUAL_ERROR, &mut quoted);
    write_error(fault, &mut error);
    format!("{{\"error\":{}}}", error.plain)
}

/// Encodes a failure in the form of `candor/1`. For dialects that use this form and declare every code
/// themselves, the ones for refusals too.
pub fn encode_candor_failure<D: Dialect>(fault: &Fault<D>, call: &CallFacts<'_>) -> Answer {
    let sentence = sentence(fault);
    let mut result = String::with_capacity(4 * USUAL_ERROR);
    result.push_str(r#"{"content":[{"type":"text","text":""#);
    push_escaped(&sentence, &mut result);
    result.push_str(r#"\n{\"error\":"#);
    // Written once: the answer contains it three times.
    let mut error = QuotedJson::new(USUAL_ERROR, &mut result);
    write_error(fault, &mut error);
    let error = error.plain;
    result.push_str(r#"}"}],"structuredContent":{"error":"#);
    result.push_str(&error);
    result.push_str(r#"},"isError":true,"_meta":{"dev.candor/error":"#);
    result.push_str(&error);
    if let Some(receipt) = call.receipt {
        result.push_str(r#","dev.candor/receipt":"#);
        result.push_str(&to_json(receipt));
    }
    result.push_str("}}");
    Answer::Result(result.into())
}

fn write_error<D: Dialect>(fault: &Fault<D>, out: &mut QuotedJson<'_>) {
    match fault.key() {
        Some(key) => push_fault_part(key, out, |out| write_answers(fault, out)),
        None => write_answers(fault, out),
    }
    let violations = fault.violations();
    for (number, violation) in violations.shown().iter().enumerate() {
        if number > 0 {
            out.piece(&piece![","]);
        }
        write_violation(violation, out);
    }
    out.piece(&piece!["]"]);
    if violations.omitted() > 0 {
        out.piece(&piece!["," q "violations_omitted" q ":"]);
        out.json(&to_json(&violations.omitted()));
    }
    out.piece(&piece!["}"]);
}

/// Writes everything before the violations.
fn write_answers<D: Dialect>(fault: &Fault<D>, out: &mut QuotedJson<'_>) {
    out.piece(&piece!["{" q "code" q ":"]);
    match fault.row().code {
        CodeValue::Text(code) => {
            out.piece(&piece![q]);
            out.text(code);
            out.piece(&piece![q]);
        }
        CodeValue::Number(code) => out.json(&to_json(&code)),
    }
    out.piece(&piece!["," q "message" q ":" q]);
    out.text(fault.message());
    let answers = fault.five_answers();
    out.piece(&piece![q "," q "fault" q ":{" q "class" q ":" q]);
    out.text(answers.class.word());
    out.piece(&piece![q "," q "retry" q ":" q]);
    out.text(answers.retry.word());
    out.piece(&piece![q "," q "retry_after_ms" q ":"]);
    match answers.retry_after_ms {
        Some(wait) => out.json(&to_json(&wait)),
        None => out.piece(&piece!["null"]),
    }
    out.piece(&piece!["," q "effect" q ":" q]);
    out.text(answers.effect.word());
    out.piece(&piece![q "," q "remedy" q ":" q]);
    out.text(answers.remedy);
    out.piece(&piece![q "}," q "violations" q ":["]);
}

fn write_violation(violation: &Violation, out: &mut QuotedJson<'_>) {
    out.piece(&piece!["{" q "path" q ":" q]);
    out.text(&violation.path.pointer());
    out.piece(&piece![q "," q "field" q ":" q]);
    out.text(&violation.field());
    push_rule_part(violation, out, |out| {
        out.piece(&piece![q "," q "keyword" q ":" q]);
        out.text(violation.keyword);
        out.piece(&piece![q "," q "message" q ":" q]);
        out.text(&violation.message);
        out.piece(&piece![q "," q "expected" q ":" q]);
        out.text(&violation.expected);
        out.piece(&piece![q "," q "value" q ":"]);
    });
    out.value(&violation.value);
    if let Some(hint) = &violation.hint {
        out.piece(&piece!["," q "hint" q ":" q]);
        out.text(hint);
        out.piece(&piece![q]);
    }
    out.piece(&piece!["}"]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FiveAnswers, Form, Receipt, ValueExcerpt, Violations, excerpt};
    use proptest::prelude::*;
    use serde::Serialize;
    use serde_json::{Value, json};
    use std::time::Duration;

    /// The error object as `serde` writes it.
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
        value: &'a ValueExcerpt,
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<&'a str>,
    }

    fn plain_error(fault: &Fault<Candor<core::Code>>) -> String {
        let violations = fault.violations();
        let entry = |violation: &Violation| {
            to_json(&ViolationEntry {
                path: violation.path.pointer().into_owned(),
                field: violation.field().into_owned(),
                keyword: violation.keyword,
                message: &violation.message,
                expected: &violation.expected,
                value: &violation.value,
                hint: violation.hint.as_deref(),
            })
        };
        let error = ErrorObject {
            code: fault.row().code,
            message: fault.message(),
            fault: fault.five_answers(),
            violations: Vec::new(),
            violations_omitted: Some(violations.omitted()).filter(|more| *more > 0),
        };
        let entries: Vec<_> = violations.shown().iter().map(entry).collect();
        let list = format!("\"violations\":[{}]", entries.join(","));
        to_json(&error).replacen("\"violations\":[]", &list, 1)
    }

    fn violation() -> impl Strategy<Value = Violation> {
        let texts = (any::<String>(), any::<String>(), any::<Option<String>>());
        (prop::collection::vec(any::<String>(), 0..3), texts).prop_map(
            |(path, (message, expected, hint))| Violation {
                value: excerpt(&json!({ &message: path })),
                params: json!({ "missingProperty": expected }).into(),
                path: crate::ArgumentPath(path.into_iter().map(crate::PathStep::Member).collect()),
                keyword: "required",
                message: message.into(),
                expected: expected.into(),
                hint,
            },
        )
    }

    proptest! {
        #[test]
        fn failure_is_what_serde_would_write(
            entries in prop::collection::vec(violation(), 0..3),
            repeated in prop::sample::select(vec![1, 40]),
            wait in any::<Option<u32>>(),
            hash in any::<Option<String>>(),
        ) {
            let violations: Violations = entries.iter().cycle().take(entries.len() * repeated).cloned().collect();
            let fault: Fault<Candor<core::Code>> = match wait {
                None => core::InvalidArguments.in_dialect().fault().with_violations(violations),
                Some(wait) => core::Limited.in_dialect().fault().after(Duration::from_millis(wait.into())),
            };
            let receipt = hash.map(|hash| Receipt { seq: 7, hash });
            let call = CallFacts { tool: None, form: Form::Result, receipt: receipt.as_ref() };
            let Answer::Result(result) = encode_candor_failure(&fault, &call) else {
                panic!("not a result");
            };
            let error = plain_error(&fault);
            let text = format!("{}\n{{\"error\":{error}}}", sentence(&fault));
            let receipt = receipt.map(|receipt| format!(",\"dev.candor/receipt\":{}", to_json(&receipt)));
            let expected = format!(
                r#"{{"content":[{{"type":"text","text":{}}}],"structuredContent":{{"error":{error}}},"isError":true,"_meta":{{"dev.candor/error":{error}{}}}}}"#,
                to_json(&text),
                receipt.unwrap_or_default()
            );
            prop_assert_eq!(&*result, &expected);
            prop_assert!(serde_json::from_str::<Value>(&result).is_ok());
            prop_assert_eq!(candor_error_object(&fault), format!("{{\"error\":{error}}}"));
        }
    }
}
