//! A tool that is not there: the same code in every form, with the nearest name.

use crate::fixture::server::{FixtureOptions, call, fixture, in_form};
use candor_forge::ToolSelection;
use candor_street::{Era, FailureForm};
use serde_json::{Value, json};

#[tokio::test]
async fn unknown_tool_is_answered_with_the_nearest_name() {
    let fixture = fixture();
    let answer = fixture
        .call_tool("raed_file", json!({ "repo": "octo/cat" }))
        .await;
    let expected = concat!(
        r#"{"code":-32602,"message":"Unknown tool: raed_file","#,
        r#""data":{"tool":"raed_file","validation_errors":[],"#,
        r#""timestamp":"2025-10-12T15:49:21.049Z","#,
        r#""hints":[{"path":"root","hint":"did you mean 'read_file'?"}]}}"#
    );
    assert_eq!(answer.text(), expected);
    let answer = fixture.call_tool("xyzzy", Value::Null).await;
    let expected = concat!(
        r#"{"code":-32602,"message":"Unknown tool: xyzzy","#,
        r#""data":{"tool":"xyzzy","validation_errors":[],"timestamp":"2025-10-12T15:49:21.049Z"}}"#
    );
    assert_eq!(answer.text(), expected);
    assert_eq!(fixture.backend_calls(), Vec::<String>::new());
}

#[tokio::test]
async fn unknown_tool_is_a_protocol_error_in_every_form_and_era() {
    for failures in [FailureForm::Auto, FailureForm::Jsonrpc, FailureForm::Result] {
        let fixture = in_form(failures).fixture();
        for era in [Era::Handshake, Era::Stateless] {
            let mut call = call("xyzzy", json!({}));
            call.era = era;
            let answer = fixture.answer_call(call).await;
            assert!(
                answer.text().starts_with(r#"{"code":-32602,"#),
                "{answer:?}"
            );
        }
    }
}

#[tokio::test]
async fn long_or_hostile_name_is_escaped_and_truncated() {
    let fixture = fixture();
    let answer = fixture.call_tool("a\n\u{202e}\"b", json!({})).await;
    assert_eq!(answer.message(), "Unknown tool: a\\u{a}\\u{202e}\"b");
    let answer = fixture.call_tool(&"x".repeat(65), json!({})).await;
    assert_eq!(
        answer.message(),
        format!("Unknown tool: {}…", "x".repeat(63))
    );
    let answer = fixture.call_tool(&"x".repeat(64), json!({})).await;
    assert_eq!(
        answer.message(),
        format!("Unknown tool: {}", "x".repeat(64))
    );
}

#[tokio::test]
async fn tools_of_a_toolset_that_is_off_are_named_with_it() {
    let plain = FixtureOptions::default()
        .with(|options| options.config.tools = ToolSelection::core())
        .fixture();
    for tool in ["create_branch", "get_pull_request"] {
        let answer = plain
            .call_tool(tool, crate::fixture::valid_arguments::for_tool(tool))
            .await;
        assert_eq!(answer.message(), format!("Unknown tool: {tool}"));
        let hint =
            format!("'{tool}' is off: the owner of this server can start it with --toolsets loop");
        assert_eq!(answer.error()["data"]["hints"][0]["hint"], hint);
    }
    let answer = plain.call_tool("pull_request_read", json!({})).await;
    let hint = "use 'get_pull_request', which is off: the owner of this server can start it with --toolsets loop";
    assert_eq!(answer.error()["data"]["hints"][0]["hint"], hint);
    assert_eq!(plain.backend_calls(), Vec::<String>::new());
}

#[tokio::test]
async fn tools_of_other_servers_get_a_hint() {
    let fixture = fixture();
    for (foreign, ours) in [
        ("push_files", "use 'commit_changes'"),
        ("create_or_update_file", "use 'commit_changes'"),
        ("delete_file", "use 'commit_changes'"),
        ("list_branches", "use 'get_branches'"),
        ("search_repositories", "use 'search'"),
        ("pull_request_read", "use 'get_pull_request'"),
        ("actions_list", "use 'list_workflow_runs'"),
        ("actions_run_trigger", "use 'rerun_failed_jobs'"),
    ] {
        let answer = fixture.call_tool(foreign, json!({})).await;
        assert_eq!(answer.message(), format!("Unknown tool: {foreign}"));
        assert_eq!(answer.error()["data"]["hints"][0]["hint"], ours);
    }
}

#[tokio::test]
async fn arguments_of_other_servers_get_a_hint() {
    let fixture = fixture();
    for (tool, arguments, path, hint) in [
        (
            "fetch",
            json!({ "owner": "octo", "repo": "cat" }),
            "root",
            "give `repo` as 'owner/name': 'octo/cat'",
        ),
        (
            "fetch",
            json!({ "repo": "cat" }),
            "/repo",
            "give `repo` as 'owner/name'",
        ),
        (
            "fetch",
            json!({ "owner": "a\nb", "repo": "c" }),
            "/repo",
            "give `repo` as 'owner/name'",
        ),
        (
            "fetch",
            json!({ "id": "octo/cat" }),
            "root",
            "the argument is `repo`",
        ),
        (
            "get_pull_request",
            json!({ "repo": "octo/cat", "pullNumber": 7 }),
            "root",
            "did you mean 'prNumber' instead of 'pullNumber'?",
        ),
        (
            "get_branches",
            json!({ "repo": "octo/cat", "perPage": 7 }),
            "root",
            "did you mean 'per_page' instead of 'perPage'?",
        ),
        (
            "create_branch",
            json!({ "repo": "octo/cat", "name": "a", "from_branch": "main" }),
            "root",
            "the argument is `branch`",
        ),
        (
            "read_file",
            json!({ "repo": "octo/cat", "path": "a", "sha": "main" }),
            "root",
            "the argument is `ref`",
        ),
        (
            "get_tree",
            json!({ "repo": "octo/cat", "tree_sha": "main" }),
            "root",
            "the argument is `ref`",
        ),
    ] {
        let answer = fixture.call_tool(tool, arguments.clone()).await;
        let hints = answer.error()["data"]["hints"].clone();
        let expected = json!({ "path": path, "hint": hint });
        assert!(
            hints.as_array().unwrap().contains(&expected),
            "{tool} {arguments}: {hints}"
        );
    }
    // A name that the tool does not have in any form gets no hint.
    let answer = fixture
        .call_tool("search", json!({ "query": "a", "pullNumber": 1 }))
        .await;
    assert_eq!(answer.error()["data"].get("hints"), None);
    assert_eq!(fixture.backend_calls(), Vec::<String>::new());
}
