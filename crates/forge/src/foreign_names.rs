//! Hints for names that other GitHub servers use. Such a name is never accepted; the hint names ours.

use crate::toolsets::toolset_of;
use candor_fault::{PathStep, RuleParams, Violation, Violations};
use candor_street::JsonRef;
use std::borrow::Cow;

/// The arguments of other servers, each with the names that a tool may have for it, the best first.
const ARGUMENTS: [(&str, &[&str]); 11] = [
    ("pullNumber", &["prNumber", "number"]),
    ("pull_number", &["prNumber", "number"]),
    ("issue_number", &["number", "prNumber"]),
    ("perPage", &["per_page"]),
    ("from_branch", &["branch"]),
    (
        "expectedHeadSha",
        &["expected_head_sha", "expected_head", "sha"],
    ),
    ("commitID", &["sha", "ref"]),
    ("tree_sha", &["ref"]),
    ("sha", &["ref"]),
    ("id", &["repo"]),
    ("owner", &["repo"]),
];

/// The tools of other servers, each with ours for the same task.
const TOOLS: [(&str, &[&str]); 11] = [
    ("push_files", &["commit_changes"]),
    ("create_or_update_file", &["commit_changes"]),
    ("delete_file", &["commit_changes"]),
    ("list_branches", &["get_branches"]),
    ("search_repositories", &["search"]),
    ("pull_request_read", &["get_pull_request"]),
    ("issue_read", &["get_issue"]),
    ("issue_write", &["create_issue", "update_issue"]),
    ("pull_request_review_write", &["create_pull_request_review"]),
    ("actions_list", &["list_workflow_runs"]),
    ("actions_run_trigger", &["rerun_failed_jobs"]),
];

/// The hint for a query that names repositories.
const OTHER_REPOSITORY: &str =
    "`repo` names the repository: leave repo:, org:, user: and owner: out of the query";

/// The maximum number of characters of a value in a hint.
const MAX_SHOWN_CHARS: usize = 100;

/// Returns the hint for a tool that the server does not offer. `has_tool` is true for the tools that it
/// offers.
pub(crate) fn tool_hint(name: &str, has_tool: impl Fn(&str) -> bool) -> Option<String> {
    if let Some(toolset) = toolset_of(name).filter(|_| !has_tool(name)) {
        return Some(format!("'{name}' is off: {}", start_with(toolset)));
    }
    let (_, ours) = TOOLS.iter().find(|(foreign, _)| *foreign == name)?;
    // A tool that no version of this program has is not named.
    let ours: Vec<&str> = ours
        .iter()
        .copied()
        .filter(|one| toolset_of(one).is_some())
        .collect();
    let first = ours.first()?;
    let quoted: Vec<_> = ours.iter().map(|one| format!("'{one}'")).collect();
    let hint = format!("use {}", quoted.join(" or "));
    Some(match toolset_of(first).filter(|_| !has_tool(first)) {
        Some(toolset) => format!("{hint}, which is off: {}", start_with(toolset)),
        None => hint,
    })
}

fn start_with(toolset: &str) -> String {
    format!("the owner of this server can start it with --toolsets {toolset}")
}

/// Adds hints to the violations of a call. `has_argument` is true for the arguments of the tool.
pub(crate) fn with_hints(
    violations: &Violations,
    arguments: JsonRef<'_>,
    has_argument: impl Fn(&str) -> bool,
) -> Option<Violations> {
    let hints: Vec<_> = violations
        .shown()
        .iter()
        .map(|violation| argument_hint(violation, arguments, &has_argument))
        .collect();
    if hints.iter().all(Option::is_none) {
        return None;
    }
    let mut violations = violations.clone();
    for (violation, hint) in violations.shown_mut().iter_mut().zip(hints) {
        if hint.is_some() {
            violation.hint = hint;
        }
    }
    Some(violations)
}

fn argument_hint(
    violation: &Violation,
    arguments: JsonRef<'_>,
    has_argument: &impl Fn(&str) -> bool,
) -> Option<String> {
    let path = violation.path.0.as_slice();
    if let (true, RuleParams::AdditionalProperty(given)) = (path.is_empty(), &violation.params) {
        let (_, ours) = ARGUMENTS.iter().find(|(foreign, _)| foreign == given)?;
        let ours = ours.iter().find(|name| has_argument(name))?;
        let hint = violation.hint.as_deref().unwrap_or_default();
        return match given.as_str() {
            "owner" => Some(repo_hint(arguments)),
            _ if hint.contains(&format!("'{ours}'")) => None,
            _ => Some(format!("the argument is `{ours}`")),
        };
    }
    if path == [PathStep::Member(String::from("query"))] && violation.keyword == "not" {
        return Some(String::from(OTHER_REPOSITORY));
    }
    let is_repo = path == [PathStep::Member(String::from("repo"))];
    let repo = text(arguments, "repo").filter(|_| is_repo && violation.keyword == "pattern")?;
    (!repo.contains('/')).then(|| repo_hint(arguments))
}

/// Returns the hint for `repo` as two arguments, with the joined value if both were given.
fn repo_hint(arguments: JsonRef<'_>) -> String {
    let is_part = |text: &Cow<'_, str>| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        !text.is_empty() && text.len() <= MAX_SHOWN_CHARS && text.bytes().all(known)
    };
    let part = |name| text(arguments, name).filter(is_part);
    match (part("owner"), part("repo")) {
        (Some(owner), Some(name)) => format!("give `repo` as 'owner/name': '{owner}/{name}'"),
        _ => String::from("give `repo` as 'owner/name'"),
    }
}

fn text<'a>(arguments: JsonRef<'a>, name: &str) -> Option<Cow<'a, str>> {
    arguments.get(name)?.as_str()
}
