//! The log line of a failed call: `jsonrpc_error tool=… code=… repo=… pr=… …`.

use crate::RepoName;
use crate::dialect::Github;
use candor_fault::escape_invisible_into;
use candor_schema::Int;
use candor_street::{Call, CallOutcome, CallRecord, JsonRef};
use serde::Deserialize;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The maximum number of characters of a message in the line.
pub const LINE_MESSAGE_CHARS: usize = 500;

/// The maximum length of a repository's name in the line. A longer one is written as `-`.
const MAX_REPO: usize = 256;

/// The arguments that the line contains, each only if it has the right form.
#[derive(Default)]
pub(crate) struct LineArguments {
    repo: Option<RepoName>,
    number: Option<u64>,
    sha: Option<String>,
}

impl LineArguments {
    pub(crate) fn read(arguments: JsonRef<'_>) -> LineArguments {
        let member = |name| arguments.get_or_null(name);
        LineArguments {
            repo: member("repo").as_str().as_deref().and_then(RepoName::parse),
            number: number(member("prNumber")),
            sha: sha(member("sha")).map(Cow::into_owned),
        }
    }

    pub(crate) fn repo(&self) -> Option<&RepoName> {
        self.repo.as_ref()
    }
}

/// Returns the line of a failed call, and `None` for a success. `arguments` are those that were noted
/// when the arguments of the call were parsed.
pub(crate) fn line<N>(
    entry: &CallRecord<'_, Github, N>,
    arguments: Option<&LineArguments>,
) -> Option<String> {
    let (code, message, state) = match &entry.outcome {
        CallOutcome::Done(_) => return None,
        CallOutcome::Failed(fault) => {
            let state = fault.facts().mergeable_state.as_deref();
            (fault.row().code.number(), Github::message(fault), state)
        }
        CallOutcome::Refused(fault) => {
            (fault.row().code.number(), fault.message().to_owned(), None)
        }
    };
    let unparsed = || {
        let call = entry.call.filter(|_| entry.tool.is_some());
        let read = |call: &Call| LineArguments::read(call.argument_values());
        call.map(read).unwrap_or_default()
    };
    let parsed = arguments.is_none().then(unparsed);
    let shown = arguments.or(parsed.as_ref());
    let repo = shown.and_then(LineArguments::repo).map(RepoName::to_string);
    let repo = repo.filter(|repo| repo.len() <= MAX_REPO);
    let sha = shown.and_then(|shown| shown.sha.as_deref());
    let mut line = String::with_capacity(128 + message.len());
    let (tool, repo) = (entry.tool.unwrap_or("-"), repo.as_deref().unwrap_or("-"));
    line.extend(["jsonrpc_error tool=", tool, " code="]);
    // Writing to a string cannot fail.
    let _ = write!(line, "{code}");
    line.extend([" repo=", repo, " pr="]);
    match shown.and_then(|shown| shown.number) {
        Some(number) => _ = write!(line, "{number}"),
        None => line.push('-'),
    }
    let sha = sha.unwrap_or("-");
    let state = state.filter(|state| is_word(state)).unwrap_or("-");
    line.extend([" sha=", sha, " state=", state, " msg=\""]);
    quote(&message, &mut line);
    line.push('"');
    Some(line)
}

/// Returns a positive number. `7.0` is 7 here as in the schema.
fn number(value: JsonRef<'_>) -> Option<u64> {
    let value = Some(value).filter(|value| value.is_number())?;
    let whole = || Int::<1, { i64::MAX }>::deserialize(value).ok();
    let exact = value.as_number().and_then(|number| number.as_u64());
    let number = exact.or_else(|| whole().map(unsigned));
    number.filter(|number| *number > 0)
}

fn unsigned(number: Int<1, { i64::MAX }>) -> u64 {
    number.get().unsigned_abs()
}

fn sha(value: JsonRef<'_>) -> Option<Cow<'_, str>> {
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

/// Appends a message so that no part of it looks like another member or line. Truncation never splits an
/// escape, so the closing quote stays.
fn quote(message: &str, line: &mut String) {
    let plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    // Nearly every message needs no escape.
    if message.len() <= LINE_MESSAGE_CHARS && message.bytes().all(plain) {
        return line.push_str(message);
    }
    let mut shown = 0;
    // The length to truncate to if the message is too long; the ellipsis still fits.
    let mut cut = line.len();
    for c in message.chars() {
        let before = line.len();
        match c {
            '"' | '\\' => line.extend(['\\', c]),
            ' '..='~' => line.push(c),
            _ => escape_invisible_into(std::iter::once(c), line),
        }
        shown += line[before..].chars().count();
        if shown > LINE_MESSAGE_CHARS {
            line.truncate(cut);
            line.push('…');
            return;
        }
        if shown < LINE_MESSAGE_CHARS {
            cut = line.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Failure, MissingItem, UnmergeablePull, UnmergeableReason};
    use candor_fault::dialects::Wire;
    use candor_fault::{Effect, Fault, Timestamp, ToolOutput};
    use std::time::Duration;

    fn of(outcome: CallOutcome<'_, Github>, tool: Option<&str>, arguments: &str) -> Option<String> {
        let call = candor_call_fixtures::call("any", arguments);
        let entry = CallRecord {
            call: Some(&call),
            number: Some(1),
            notes: Some(&()),
            tool,
            outcome,
            effect: Effect::None,
            at: Timestamp::UNIX_EPOCH,
            took: Duration::ZERO,
            follows: None,
        };
        let line = super::line(&entry, None);
        let noted = LineArguments::read(call.argument_values());
        if tool.is_some() {
            assert_eq!(line, super::line(&entry, Some(&noted)));
        }
        line
    }

    fn failed(failure: Failure, tool: &str, arguments: &str) -> String {
        let fault = failure.fault(Effect::None);
        of(CallOutcome::Failed(&fault), Some(tool), arguments).unwrap()
    }

    #[test]
    fn line_has_every_member() {
        let unmergeable = Failure::Unmergeable(UnmergeablePull {
            number: 7,
            reason: UnmergeableReason::Conflict,
            state: Some(String::from("dirty")),
            failing_checks: Vec::new(),
            response: None,
            conflicts: None,
        });
        let arguments = r#"{"repo":"octo/cat","prNumber":7,"sha":"abcdef0"}"#;
        insta::assert_snapshot!(
            failed(unmergeable, "merge_pull_request", arguments),
            @r#"jsonrpc_error tool=merge_pull_request code=-32005 repo=octo/cat pr=7 sha=abcdef0 state=dirty msg="Pull request #7 is not mergeable: it conflicts with its base branch""#
        );
    }

    #[test]
    fn arguments_cannot_forge_a_line() {
        let arguments = r#"{"repo":"a/b msg=\"x\"","prNumber":-1,"sha":"ABCDEF0\njsonrpc_error"}"#;
        let missing = Failure::Missing(MissingItem::Path(String::from("a\"\n\\\u{202e}b")));
        insta::assert_snapshot!(
            failed(missing, "read_file", arguments),
            @r#"jsonrpc_error tool=read_file code=-32002 repo=- pr=- sha=- state=- msg="Not found: the path a\"\\u{a}\\\\u{202e}b does not exist, or the token cannot see it""#
        );
    }

    #[test]
    fn repository_with_a_long_name_is_not_shown() {
        for (length, is_shown) in [(MAX_REPO, true), (MAX_REPO + 1, false)] {
            let repo = format!("a/{}", "b".repeat(length - 2));
            let missing = Failure::Missing(MissingItem::Repository);
            let line = failed(missing, "fetch", &format!(r#"{{"repo":"{repo}"}}"#));
            assert_eq!(line.contains(&format!(" repo={repo} ")), is_shown, "{line}");
            assert_eq!(line.contains(" repo=- "), !is_shown, "{line}");
        }
    }

    #[test]
    fn refusal_names_no_tool_and_a_success_has_no_line() {
        let fault: Fault<Wire> = Wire::unknown_tool("raed_file", Some("read_file"));
        let line = of(CallOutcome::Refused(&fault), None, r#"{"repo":"a/b"}"#).unwrap();
        insta::assert_snapshot!(
            line,
            @r#"jsonrpc_error tool=- code=-32602 repo=- pr=- sha=- state=- msg="Unknown tool: raed_file""#
        );
        let done = ToolOutput::Text(String::new());
        assert_eq!(of(CallOutcome::Done(&done), Some("search"), "{}"), None);
    }

    #[test]
    fn long_message_is_cut() {
        let mut line = String::new();
        quote(&"\"".repeat(10_000), &mut line);
        assert!(line.chars().count() <= LINE_MESSAGE_CHARS);
        assert!(line.ends_with("\\\"…"), "{line}");
        let mut line = String::new();
        quote(&"é".repeat(LINE_MESSAGE_CHARS), &mut line);
        assert_eq!(line.chars().count(), LINE_MESSAGE_CHARS);
    }
}
