//! Tests of the log of writes: the attempt before the write, the outcome before its answer.

use crate::fixture::server::{call, fixture, fixture_with};
use crate::fixture::valid_arguments::{self, WRITES, changed};
use candor_forge::{Failure, UnmetPrecondition};
use serde_json::{Value, json};

const AT: &str = "2025-10-12T15:49:21.049Z";

#[tokio::test]
async fn attempt_is_recorded_before_the_write_and_outcome_before_the_answer() {
    let fixture = fixture();
    let mut call = call("create_branch", valid_arguments::for_tool("create_branch"));
    call.peer.credential = Some(String::from("writer"));
    call.client.name = Some("c".repeat(65));
    fixture.answer_call(call).await.value();
    let client = "c".repeat(64);
    assert_eq!(
        fixture.events.all(),
        [
            format!(
                r#"log {{"v":2,"at":"{AT}","kind":"attempt","tool":"create_branch","credential":"writer","client":"{client}","arguments":{{"repo":"octo/cat","name":"new","ref":"v1.0"}}}}"#
            ),
            String::from(r#"ask create_branch octo/cat new Named("v1.0")"#),
            String::from("done create_branch"),
            format!(
                r#"log {{"v":2,"kind":"outcome","of":1,"at":"{AT}","tool":"create_branch","effect":"done","code":null,"message":null,"answer":{{"name":"new","protected":false,"sha":"0123456789abcdef0123456789abcdef01234567"}}}}"#
            ),
        ]
    );
}

#[tokio::test]
async fn write_that_fails_has_its_outcome_too() {
    let fixture = fixture_with(|stub_state| {
        let moved = UnmetPrecondition::BranchMoved(String::from("topic"));
        stub_state
            .failing
            .insert("commit_files", Failure::Unmet(moved));
    });
    let answer = fixture
        .call_tool("commit_files", valid_arguments::for_tool("commit_files"))
        .await;
    assert_eq!(answer.code(), -32003);
    assert_eq!(
        fixture.logged()[1],
        format!(
            r#"{{"v":2,"kind":"outcome","of":1,"at":"{AT}","tool":"commit_files","effect":"none","code":-32003,"message":"Validation error: the branch topic was moved by somebody else meanwhile; nothing was committed","answer":null}}"#
        )
    );
}

#[tokio::test]
async fn unrecorded_attempt_is_not_made() {
    let fixture = fixture();
    for tool in WRITES {
        fixture.events.clear();
        fixture.log.fails_in(1);
        let answer = fixture
            .call_tool(tool, valid_arguments::for_tool(tool))
            .await;
        assert_eq!(answer.code(), -32603);
        assert_eq!(answer.message(), "Internal error: the disk is full");
        assert_eq!(answer.effect(), "none");
        let line = format!(
            "line jsonrpc_error tool={tool} code=-32603 {} state=- msg=\"Internal error: the disk is full\"",
            shown(tool)
        );
        assert_eq!(fixture.events.all(), [String::from("log fails"), line]);
    }
}

/// Returns the arguments in the line of a failure.
fn shown(tool: &str) -> String {
    let arguments = valid_arguments::for_tool(tool);
    let number = arguments.get("prNumber").map_or(json!("-"), Value::clone);
    let sha = arguments.get("sha").and_then(Value::as_str).unwrap_or("-");
    let number = number.to_string().replace('"', "");
    format!("repo=octo/cat pr={number} sha={sha}")
}

#[tokio::test]
async fn unrecorded_outcome_reports_the_change() {
    let fixture = fixture();
    for tool in WRITES {
        fixture.events.clear();
        fixture.log.fails_in(2);
        let answer = fixture
            .call_tool(tool, valid_arguments::for_tool(tool))
            .await;
        assert_eq!(answer.code(), -32603, "{tool}");
        assert_eq!(
            answer.message(),
            "Internal error: the disk is full; the outcome is not on record"
        );
        assert_eq!(answer.effect(), "done", "{tool}");
        assert_eq!(fixture.lines().len(), 1);
    }
}

#[tokio::test]
async fn unrecorded_outcome_without_effect_changed_nothing() {
    let fixture = fixture_with(|stub_state| {
        let nothing = Failure::Unmet(UnmetPrecondition::NothingToCommit);
        stub_state.failing.insert("commit_files", nothing);
    });
    fixture.log.fails_in(2);
    let answer = fixture
        .call_tool("commit_files", valid_arguments::for_tool("commit_files"))
        .await;
    assert_eq!(
        (answer.code(), answer.effect()),
        (-32603, String::from("none"))
    );
}

#[tokio::test]
async fn merge_records_its_whole_answer() {
    let fixture = fixture();
    fixture
        .call_tool(
            "merge_pull_request",
            valid_arguments::for_tool("merge_pull_request"),
        )
        .await
        .value();
    let steps = fixture.events.all();
    let kinds: Vec<_> = steps
        .iter()
        .map(|step| step.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .map(|step| step.split("\"kind\"").next().unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds[1..kinds.len() - 1],
        [
            "ask pull_request",
            "ask merge",
            "done merge",
            "ask repository",
            "ask delete_branch",
            "done delete_branch",
        ]
    );
    let outcome: Value = serde_json::from_str(&fixture.logged()[1]).unwrap();
    assert_eq!(outcome["answer"]["branch_deleted"], true);
    assert_eq!(outcome["effect"], "done");
}

#[tokio::test]
async fn log_has_no_contents_of_files() {
    let fixture = fixture();
    let files = json!([
        { "path": "plain", "content": "canary-plain" },
        { "path": "coded", "content": "Y2FuYXJ5LWNvZGVk", "encoding": "base64" },
        { "path": "empty", "content": "" }
    ]);
    let arguments = changed("commit_files", "files", files);
    fixture.call_tool("commit_files", arguments).await.value();
    let log = fixture.logged().join("\n");
    assert!(!log.contains("canary") && !log.contains("Y2Fu"), "{log}");
    let attempt: Value = serde_json::from_str(&fixture.logged()[0]).unwrap();
    assert_eq!(
        attempt["arguments"],
        json!({
            "repo": "octo/cat", "branch": "topic", "message": "Say hi",
            "files": [
                { "path": "plain", "bytes": 12 },
                { "path": "coded", "bytes": 16 },
                { "path": "empty", "bytes": 0 }
            ]
        })
    );
    let long = changed("update_pull_request", "body", json!("b".repeat(10_000)));
    fixture.call_tool("update_pull_request", long).await.value();
    let attempt: Value = serde_json::from_str(&fixture.logged()[2]).unwrap();
    assert_eq!(
        attempt["arguments"]["body"],
        json!({ "omitted": "string", "bytes": 10_000 })
    );
}

#[tokio::test]
async fn reading_and_refused_calls_leave_no_record() {
    let fixture = fixture();
    for (tool, arguments) in valid_arguments::every_tool() {
        if WRITES.contains(&tool) {
            fixture.call_tool(tool, json!({})).await.code();
            let mut refused = call(tool, &arguments);
            refused.peer.may_write = false;
            fixture.answer_call(refused).await.code();
        } else {
            fixture.call_tool(tool, arguments).await.value();
        }
    }
    fixture.call_tool("unheard", json!({})).await.code();
    assert_eq!(fixture.logged(), Vec::<String>::new());
}
