//! Arguments that are right, for every tool: all members, and only those that must be there.

use crate::world::HEAD;
use serde_json::{Value, json};

/// Every tool with every member that it takes; of `branch` and `ref`, one.
pub(crate) fn whole() -> Vec<(&'static str, Value)> {
    let repo = "octo/cat";
    let files = json!([{ "path": "a/b.txt", "content": "aGk=", "encoding": "base64" }]);
    vec![
        (
            "commit_files",
            json!({ "repo": repo, "branch": "topic", "message": "Say hi", "files": files }),
        ),
        (
            "create_branch",
            json!({ "repo": repo, "name": "new", "ref": "v1.0" }),
        ),
        (
            "create_pull_request",
            json!({ "repo": repo, "title": "Purr", "head": "fork:topic", "base": "main", "body": "Why", "draft": true }),
        ),
        ("fetch", json!({ "repo": repo })),
        (
            "get_branches",
            json!({ "repo": repo, "page": 2, "per_page": 50 }),
        ),
        ("get_checks_for_sha", json!({ "repo": repo, "sha": HEAD })),
        (
            "get_commits",
            json!({ "repo": repo, "branch": "topic", "sha": "0123456", "page": 2, "per_page": 50 }),
        ),
        (
            "get_pr_mergeability",
            json!({ "repo": repo, "prNumber": 7 }),
        ),
        ("get_pull_request", json!({ "repo": repo, "prNumber": 7 })),
        ("get_tree", json!({ "repo": repo, "branch": "topic" })),
        (
            "list_directory",
            json!({ "repo": repo, "path": "src", "branch": "topic" }),
        ),
        (
            "list_pull_requests",
            json!({ "repo": repo, "state": "all", "page": 2, "per_page": 50 }),
        ),
        (
            "merge_pull_request",
            json!({
                "repo": repo, "prNumber": 7, "merge_method": "squash", "commit_title": "Purr",
                "commit_message": "Why", "sha": HEAD, "delete_branch": true
            }),
        ),
        (
            "read_file",
            json!({ "repo": repo, "path": "src/a.rs", "ref": "v1.0" }),
        ),
        (
            "search",
            json!({ "query": "stars:>100", "page": 2, "per_page": 50 }),
        ),
        (
            "update_pull_request",
            json!({ "repo": repo, "prNumber": 7, "title": "Purr", "body": "Why", "state": "closed", "draft": false }),
        ),
    ]
}

/// The whole arguments of one tool.
pub(crate) fn of(tool: &str) -> Value {
    let all = whole().into_iter();
    let mut one = all.filter(|(name, _)| *name == tool);
    one.next().expect("a tool").1
}

/// The arguments of one tool, one member changed or added.
pub(crate) fn changed(tool: &str, member: &str, value: Value) -> Value {
    let mut arguments = of(tool);
    arguments[member] = value;
    arguments
}

/// Arguments without a member.
pub(crate) fn without(mut arguments: Value, member: &str) -> Value {
    arguments.as_object_mut().unwrap().shift_remove(member);
    arguments
}

/// The tools that change something.
pub(crate) const WRITES: [&str; 5] = [
    "commit_files",
    "create_branch",
    "create_pull_request",
    "merge_pull_request",
    "update_pull_request",
];
