//! The list of tools: the same bytes whatever the flags, small, sorted, and honest about effects.

use crate::fixture::server::{FixtureOptions, fixture, repos};
use crate::fixture::valid_arguments::WRITES;
use candor_street::FailureForm;
use serde_json::{Value, json};
use std::num::NonZeroU32;

/// The maximum size of the list: clients put it into every prompt.
const MAX_LIST: usize = 24 * 1024;

fn list(change: impl FnOnce(&mut FixtureOptions)) -> String {
    let fixture = FixtureOptions::default().with(|options| options.config.extended = false);
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

fn named(list: &str) -> Vec<Value> {
    let tools: Vec<Value> = serde_json::from_str(list).unwrap();
    tools.into_iter().map(|tool| tool["name"].clone()).collect()
}

#[test]
fn list_is_sorted_and_extended_on_request() {
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
    let (plain, extended) = (list(|_| ()), list(|options| options.config.extended = true));
    assert_eq!(named(&plain), fourteen);
    let mut sixteen = [&fourteen[..], &["create_branch", "get_pull_request"]].concat();
    sixteen.sort_unstable();
    assert_eq!(named(&extended), sixteen);
    // The two are put in; nothing else is changed.
    let tools = |list: &str| -> Vec<Value> { serde_json::from_str(list).unwrap() };
    let mut kept = tools(&extended);
    kept.retain(|tool| fourteen.contains(&tool["name"].as_str().unwrap()));
    assert_eq!(kept, tools(&plain));
}

#[test]
fn annotations_match_each_tool() {
    for tool in fixture().listed() {
        let name = tool["name"].as_str().unwrap();
        let writes = WRITES.contains(&name);
        let additive = ["create_branch", "create_pull_request"].contains(&name);
        let hints = json!({
            "readOnlyHint": !writes,
            "destructiveHint": writes && !additive,
            "idempotentHint": !writes || name == "update_pull_request",
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
