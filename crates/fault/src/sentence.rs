//! Writes one sentence that is enough for a model to act on: the failure, its reasons, whether
//! anything was changed, whether to retry, and the remedy.

use crate::client_text::push_visible;
use crate::{Dialect, Effect, Fault, Retry, Violation};
use std::fmt::Write as _;

/// The most violations that the sentence names; the object after it lists all of them.
const NAMED: usize = 5;

/// The capacity for the sentence of an ordinary failure.
const USUAL_SENTENCE: usize = 256;

/// Returns the sentence of a failure.
pub fn sentence<D: Dialect>(fault: &Fault<D>) -> String {
    let mut text = String::with_capacity(USUAL_SENTENCE);
    write_sentence(fault, &mut text);
    text
}

fn write_sentence<D: Dialect>(fault: &Fault<D>, text: &mut String) {
    let violations = fault.violations();
    if violations.is_empty() {
        text.push_str(fault.message().trim_end_matches('.'));
    }
    for (number, violation) in violations.shown().iter().take(NAMED).enumerate() {
        if number > 0 {
            text.push_str("; ");
        }
        write_phrase(violation, text);
    }
    let more = violations.shown().len().saturating_sub(NAMED) as u64 + violations.omitted();
    if more > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, "; and {more} more");
    }
    text.push_str("; ");
    text.push_str(match fault.effect() {
        Effect::None => "nothing was changed",
        Effect::Done => "the change was made",
        Effect::Unknown => "it is not known whether anything was changed",
    });
    text.push_str("; ");
    write_retry(fault, text);
    text.push_str(": ");
    text.push_str(fault.remedy());
}

fn write_retry<D: Dialect>(fault: &Fault<D>, text: &mut String) {
    let words = match (fault.retry(), fault.five_answers().retry_after_ms) {
        (Retry::Never, _) => "do not retry",
        (Retry::AfterChange, _) => "do not retry unchanged",
        (Retry::SameCall, _) => "the same call may be retried",
        (Retry::AfterDelay, Some(wait)) => {
            // Writing to a string cannot fail.
            let _ = write!(text, "retry the same call after {wait} ms");
            ""
        }
        (Retry::AfterDelay, None) => "retry the same call later",
    };
    text.push_str(words);
}

fn write_phrase(violation: &Violation, text: &mut String) {
    match violation.field() {
        root if root.is_empty() => text.push_str("the arguments"),
        field => {
            text.push('`');
            push_visible(&field, text);
            text.push('`');
        }
    }
    match violation.keyword {
        "required" => text.push_str(" is required"),
        "additionalProperties" => text.push_str(" is not an argument of this tool"),
        _ => {
            text.push_str(" must be ");
            text.push_str(&violation.expected);
            text.push_str(", and was ");
            push_visible(violation.value.get(), text);
        }
    }
    if let Some(hint) = &violation.hint {
        text.push_str(" (");
        push_visible(hint, text);
        text.push(')');
    }
}
