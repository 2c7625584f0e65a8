//! The one line that is logged for every failure: `jsonrpc_error tool=… code=… repo=… pr=… …`.

use crate::RepoName;
use candor_fault::dialects::Github;
use candor_fault::escape_visible;
use candor_street::{Entry, Outcome};
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write as _;

/// How many characters of a message the line has.
pub const LINE_MESSAGE_CHARS: usize = 500;

/// The longest repository that the line names; a longer one is `-`.
const REPO_MAX: usize = 256;

/// What the line shows of a call's arguments, each only where it has its form.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shown {
    repo: Value,
    #[serde(rename = "prNumber")]
    number: Value,
    sha: Value,
}

/// The line of a failed call; nothing for one that succeeded.
pub(crate) fn line(entry: &Entry<'_, Github>) -> Option<String> {
    let (code, message, state) = match &entry.outcome {
        Outcome::Done(_) => return None,
        Outcome::Failed(fault) => {
            let state = fault.facts().mergeable_state.as_deref();
            (fault.row().code.number(), Github::message(fault), state)
        }
        Outcome::Refused(fault) => (fault.row().code.number(), fault.message().to_owned(), None),
    };
    let text = entry.call.and_then(|call| call.arguments.as_deref());
    let shown: Shown = text
        .filter(|_| entry.tool.is_some())
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let mut line = format!(
        "jsonrpc_error tool={} code={code}",
        entry.tool.unwrap_or("-")
    );
    // Writing to a string cannot fail.
    let _ = write!(
        line,
        " repo={} pr={} sha={} state={} msg=\"",
        repo(&shown.repo).unwrap_or("-"),
        number(&shown.number).map_or_else(|| String::from("-"), |number| number.to_string()),
        sha(&shown.sha).unwrap_or("-"),
        state.filter(|state| is_word(state)).unwrap_or("-"),
    );
    quote(&message, &mut line);
    line.push('"');
    Some(line)
}

fn repo(value: &Value) -> Option<&str> {
    let text = value.as_str().filter(|text| text.len() <= REPO_MAX)?;
    RepoName::read(text).map(|_| text)
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().filter(|number| *number > 0)
}

fn sha(value: &Value) -> Option<&str> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let text = value.as_str()?;
    ((7..=40).contains(&text.len()) && text.bytes().all(is_hex)).then_some(text)
}

fn is_word(text: &str) -> bool {
    text.len() <= 32
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Appends a message so that no part of it can pass for another member or line.
fn quote(message: &str, line: &mut String) {
    let mut escaped = String::new();
    for c in message.chars() {
        if matches!(c, '"' | '\\') {
            escaped.push('\\');
            escaped.push(c);
        } else {
            escape_visible(std::iter::once(c), &mut escaped);
        }
        // The rest of a long message is never looked at.
        if escaped.len() > 16 * LINE_MESSAGE_CHARS {
            break;
        }
    }
    match escaped.char_indices().nth(LINE_MESSAGE_CHARS) {
        None => line.push_str(&escaped),
        Some(_) => {
            let kept: String = escaped.chars().take(LINE_MESSAGE_CHARS - 1).collect();
            // A cut must not leave half an escape that swallows the closing quote.
            let backslashes = kept.chars().rev().take_while(|c| *c == '\\').count();
            line.push_str(&kept[..kept.len() - backslashes % 2]);
            line.push('…');
        }
    }
}
