//! Writes one sentence that is enough for a model to act on: the failure, its reasons, whether
//! anything was changed, whether to retry, and the remedy.

use crate::{Dialect, Effect, Fault, Retry, Violation, escape_invisible};
use std::fmt::Write as _;

/// The most violations that the sentence names; the object after it lists all of them.
const NAMED: usize = 5;

/// Returns the sentence of a failure.
pub fn sentence<D: Dialect>(fault: &Fault<D>) -> String {
    let violations = fault.violations();
    let mut text = if violations.is_empty() {
        fault.message().trim_end_matches('.').to_owned()
    } else {
        named(violations.shown())
    };
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
    text.push_str(&retry(fault));
    text.push_str(": ");
    text.push_str(fault.remedy());
    text
}

fn retry<D: Dialect>(fault: &Fault<D>) -> String {
    match (fault.retry(), fault.five_answers().retry_after_ms) {
        (Retry::Never, _) => "do not retry".to_owned(),
        (Retry::AfterChange, _) => "do not retry unchanged".to_owned(),
        (Retry::SameCall, _) => "the same call may be retried".to_owned(),
        (Retry::AfterDelay, Some(wait)) => format!("retry the same call after {wait} ms"),
        (Retry::AfterDelay, None) => "retry the same call later".to_owned(),
    }
}

fn named(violations: &[Violation]) -> String {
    let phrases: Vec<_> = violations.iter().take(NAMED).map(phrase).collect();
    phrases.join("; ")
}

fn phrase(violation: &Violation) -> String {
    let field = match violation.field() {
        root if root.is_empty() => "the arguments".to_owned(),
        field => format!("`{}`", escape_invisible(&field)),
    };
    let mut text = match violation.keyword {
        "required" => format!("{field} is required"),
        "additionalProperties" => format!("{field} is not an argument of this tool"),
        _ => format!(
            "{field} must be {}, and was {}",
            violation.expected,
            escape_invisible(violation.value.get())
        ),
    };
    if let Some(hint) = &violation.hint {
        // Writing to a string cannot fail.
        let _ = write!(text, " ({})", escape_invisible(hint));
    }
    text
}
