//! The list of tools: the same bytes whatever the flags, small, sorted, and honest about effects.

use crate::fixture::server::{FixtureOptions, fixture, repos};
use crate::fixture::valid_arguments::WRITES;
use candor_forge::ToolSelection;
use candor_street::FailureForm;
use serde_json::{Value, json};
use std::num::NonZeroU32;

/// The maximum size of the list: clients put it into every prompt.
const MAX_LIST: usize = 26 * 1024;

fn list(change: impl FnOnce(&mut FixtureOptions)) -> String {
    let core = |options: &mut FixtureOptions| options.config.tools = ToolSelection::core();
    let fixture = FixtureOptions::default().with(core);
    fixture.with(change).fixture().dispatcher.list().to_owned()
}

#[test]
fn flags_do_not_change_the_list() {
    let plain = list(|_| ());
    let other = list(|options| {
        options.config.allow_writes = false;
        options.config.repos = repos(&["octo/*"]);
        options.config.failures = FailureForm::Result;
        options.config.max_entries = 1;
        options.config.writes_a_minute = NonZeroU32::MIN;
        options.without_log = true;
    });
    assert_eq!(plain, other);
    assert!(plain.len() <= MAX_LIST, "{}", plain.len());
}

/// Clients that map schemas onto smaller dialects drop a list of types.
#[test]
fn no_schema_has_a_list_of_types() {
    let list = list(|options| options.config.tools = ToolSelection::all());
    assert!(!list.contains(r#""type":["#), "{list}");
}

fn named(list: &str) -> Vec<Value> {
    let tools: Vec<Value> = serde_json::from_str(list).unwrap();
    tools.into_iter().map(|tool| tool["name"].clone()).collect()
}

fn selected(toolsets: &str, tools: &str) -> String {
    let texts = |text: &str| match text {
        "" => vec![],
        _ => vec![text.to_owned()],
    };
    let selection = ToolSelection::parse(&texts(toolsets), &texts(tools)).unwrap();
    list(|options| options.config.tools = selection)
}

#[test]
fn list_is_sorted_and_has_the_selected_tools() {
    let fourteen = [
        "commit_files",
        "create_pull_request",
        "fetch",
        "get_branches",
        "get_checks_for_sha",
        "get_commits",
        "get_pr_mergeability",
        "get_tree",
        "list_directory",
        "list_pull_requests",
        "merge_pull_request",
        "read_file",
        "search",
        "update_pull_request",
    ];
    let core = selected("core", "");
    assert_eq!(named(&core), fourteen);
    assert_eq!(selected("", "standard"), core);
    let mut sixteen = [&fourteen[..], &["create_branch", "get_pull_request"]].concat();
    sixteen.sort_unstable();
    assert_eq!(named(&selected("", "extended")), sixteen);
    assert_eq!(
        selected("core", "get_pull_request,create_branch"),
        selected("", "extended")
    );
    let all = selected("all", "");
    let mut sorted = named(&all);
    sorted.sort_by_key(Value::to_string);
    assert_eq!(named(&all), sorted);
    // Further tools are put in; nothing else is changed.
    let tools = |list: &str| -> Vec<Value> { serde_json::from_str(list).unwrap() };
    let mut kept = tools(&all);
    kept.retain(|tool| fourteen.contains(&tool["name"].as_str().unwrap()));
    assert_eq!(kept, tools(&core));
}

/// Agents know the fourteen: what they read about them keeps its bytes.
#[test]
fn fourteen_tools_keep_their_bytes() {
    let tools: Vec<Value> = serde_json::from_str(&selected("core", "")).unwrap();
    let shown = tools.iter().map(|tool| {
        let text = |name: &str| tool[name].to_string();
        let parts = ["name", "description", "inputSchema", "annotations"].map(text);
        parts.join("\n")
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn annotations_match_each_tool() {
    for tool in fixture().listed() {
        let name = tool["name"].as_str().unwrap();
        let writes = WRITES.contains(&name);
        let additive = [
            "add_issue_comment",
            "add_reply_to_pull_request_comment",
            "create_branch",
            "create_issue",
            "create_pull_request",
            "create_pull_request_review",
            "request_pull_request_reviewers",
            "create_release",
            "create_repository",
            "create_tag",
            "rerun_failed_jobs",
            "revert_pull_request",
            "set_auto_merge",
            "update_pull_request_branch",
        ];
        let additive = additive.contains(&name);
        let idempotent = [
            "request_pull_request_reviewers",
            "set_auto_merge",
            "update_issue",
            "update_pull_request",
            "update_pull_request_branch",
        ];
        let hints = json!({
            "readOnlyHint": !writes,
            "destructiveHint": writes && !additive,
            "idempotentHint": !writes || idempotent.contains(&name),
            "openWorldHint": true
        });
        assert_eq!(tool["annotations"], hints, "{name}");
    }
}

/// Everything that clients show, tool by tool.
#[test]
fn tool_list_is_unchanged() {
    let tools: Vec<_> = fixture().listed().iter().map(Value::to_string).collect();
    insta::assert_snapshot!(tools.join("\n"));
}
