//! Parts of faults: messages, causes and violations. Nothing here chooses a code.

use crate::edit::NearbyLine;
use crate::failure::BadCheckpoint;
use crate::path::shown;
use candor_audit::CheckpointVerdict;
use candor_fault::{ArgumentPath, Cause, ClientText, PathStep, Violation, excerpt};
use rustix::io::Errno;
use serde_json::{Value, json};
use std::error::Error;
use std::fmt::Display;
use std::io;

/// The maximum number of characters of a message that contains text of the caller.
pub(crate) const SENTENCE_CHARS: usize = 600;

/// Makes a message of a sentence: its first letter becomes upper case, unless it begins with a
/// name.
pub(crate) fn client_text(text: impl Display) -> ClientText {
    let text = text.to_string();
    let is_word = ["the ", "a ", "this ", "cannot ", "commands ", "stopped "];
    let whole = match text.split_at_checked(1) {
        Some((first, rest)) if is_word.iter().any(|word| text.starts_with(word)) => {
            first.to_uppercase() + rest
        }
        _ => text,
    };
    ClientText::from("").quoting_at_most(&whole, SENTENCE_CHARS)
}

/// Returns the cause of an error of ours that has no error of the operating system below it.
pub(crate) fn named(name: &str, message: &str) -> Cause {
    Cause::Error {
        message: message.to_owned(),
        code: None,
        name: name.to_owned(),
    }
}

/// Returns an error of the operating system as a cause.
pub(crate) fn os(errno: Errno) -> Cause {
    Cause::from(io::Error::from(errno))
}

/// Describes an error of ours, or the error of the operating system that caused it.
pub(crate) fn cause(name: &str, error: &(dyn Error + 'static)) -> Cause {
    match error.source() {
        Some(below) => Cause::error("IoError", below),
        None => Cause::error(name, error),
    }
}

/// Returns a violation of one argument that no schema can state.
pub(crate) fn argument_violation(
    member: &str,
    keyword: &'static str,
    message: &str,
    expected: &str,
) -> Violation {
    let is_missing = keyword == "required";
    let path = if is_missing {
        Vec::new()
    } else {
        vec![PathStep::Member(member.to_owned())]
    };
    Violation {
        path: ArgumentPath(path),
        keyword,
        message: message.into(),
        params: match is_missing {
            true => json!({ "missingProperty": member }).into(),
            false => json!({}).into(),
        },
        value: excerpt(&Value::Null),
        expected: expected.into(),
        hint: Some(expected.to_owned()),
    }
}

/// Returns the message about a checkpoint that contradicts the log or cannot be trusted.
pub(crate) fn bad_checkpoint_message(verdict: CheckpointVerdict) -> &'static str {
    match verdict {
        CheckpointVerdict::Unsigned => "A checkpoint of the audit log is not signed",
        CheckpointVerdict::Signature => {
            "A checkpoint of the audit log is not signed with the expected key"
        }
        CheckpointVerdict::Invalid => "A checkpoint of the audit log is damaged",
        CheckpointVerdict::Agrees
        | CheckpointVerdict::Gone
        | CheckpointVerdict::NotReached
        | CheckpointVerdict::Retired
        | CheckpointVerdict::Rewritten
        | CheckpointVerdict::Truncated => "A checkpoint contradicts the audit log",
    }
}

/// Returns the cause of a failure by such a checkpoint.
pub(crate) fn bad_checkpoint_cause(bad: &BadCheckpoint) -> Cause {
    let flaw = match bad.verdict {
        CheckpointVerdict::Unsigned => "checkpoint_unsigned",
        CheckpointVerdict::Signature => "checkpoint_signature",
        CheckpointVerdict::Invalid => "checkpoint_invalid",
        _ => "checkpoint_contradicts",
    };
    let path = shown(&bad.path);
    Cause::from(
        json!({ "message": bad_checkpoint_message(bad.verdict), "code": null, "name": "Checkpoint", "flaw": flaw, "checkpoint": path }),
    )
}

/// Returns lines that are similar to those that were not found, for the cause.
pub(crate) fn near(lines: &[NearbyLine]) -> Value {
    let lines = lines
        .iter()
        .map(|near| json!({ "line": near.line, "text": near.text }));
    lines.collect()
}
