//! Pull requests that are opened and changed, commits and branches that are made.

use crate::fixture::server::fixture;
use crate::fixture::valid_arguments::changed;
use candor_forge::{Failure, UnmetPrecondition};
use serde_json::json;

#[tokio::test]
async fn head_may_name_the_owner_of_a_fork() {
    let fixture = fixture();
    for (head, owner, branch) in [
        ("topic", "None", "topic"),
        ("fork:topic", r#"Some("fork")"#, "topic"),
        ("fork:a/b", r#"Some("fork")"#, "a/b"),
        ("octo:topic", "None", "topic"),
        ("OCTO:topic", "None", "topic"),
    ] {
        fixture.events.clear();
        let arguments = changed("create_pull_request", "head", json!(head));
        fixture
            .call_tool("create_pull_request", arguments)
            .await
            .value();
        assert_eq!(
            fixture.backend_calls(),
            [format!(
                r#"create_pull_request octo/cat NewPullRequest {{ title: "Purr", head_owner: {owner}, head: "{branch}", base: "main", body: Some("Why"), draft: true }}"#
            )]
        );
    }
    for head in ["fork:", ":topic", "a:b:c", "fo rk:topic", "fork:-a"] {
        let arguments = changed("create_pull_request", "head", json!(head));
        assert_eq!(
            fixture
                .call_tool("create_pull_request", arguments)
                .await
                .code(),
            -32602,
            "{head}"
        );
    }
}

#[tokio::test]
async fn open_pull_request_for_the_same_branches_is_named() {
    let fixture = fixture();
    let exists = Failure::Unmet(UnmetPrecondition::PullExists(12));
    fixture
        .stub
        .stub_state()
        .failing
        .insert("create_pull_request", exists);
    let arguments = crate::fixture::valid_arguments::for_tool("create_pull_request");
    let answer = fixture.call_tool("create_pull_request", arguments).await;
    assert_eq!(answer.code(), -32003);
    assert_eq!(answer.error()["data"]["number"], 12);
}

#[tokio::test]
async fn only_given_fields_are_changed() {
    let fixture = fixture();
    for (member, value, backend_calls) in [
        (
            "title",
            json!("New"),
            r#"title: Some("New"), body: None, state: None, draft: None"#,
        ),
        (
            "body",
            json!(""),
            r#"title: None, body: Some(""), state: None, draft: None"#,
        ),
        (
            "state",
            json!("closed"),
            "title: None, body: None, state: Some(Closed), draft: None",
        ),
        (
            "state",
            json!("open"),
            "title: None, body: None, state: Some(Open), draft: None",
        ),
        (
            "draft",
            json!(false),
            "title: None, body: None, state: None, draft: Some(false)",
        ),
        (
            "draft",
            json!(true),
            "title: None, body: None, state: None, draft: Some(true)",
        ),
    ] {
        fixture.events.clear();
        let arguments = json!({ "repo": "octo/cat", "prNumber": 7, member: value });
        fixture
            .call_tool("update_pull_request", arguments)
            .await
            .value();
        assert_eq!(
            fixture.backend_calls(),
            [format!(
                "update_pull_request octo/cat 7 PullRequestChange {{ {backend_calls} }}"
            )]
        );
    }
}

#[tokio::test]
async fn files_are_written_byte_for_byte() {
    let fixture = fixture();
    let files = json!([
        { "path": "empty", "content": "" },
        { "path": "text", "content": "é\r\n", "encoding": "utf8" },
        { "path": "bytes", "content": "/wA=", "encoding": "base64" },
        { "path": "nothing", "content": "", "encoding": "base64" }
    ]);
    let arguments = changed("commit_files", "files", files);
    let answer = fixture.call_tool("commit_files", arguments).await.value();
    assert_eq!(
        fixture.backend_calls(),
        [
            r#"commit_files octo/cat topic "Say hi" "empty"= "text"=\xc3\xa9\r\n "bytes"=\xff\x00 "nothing"="#
        ]
    );
    assert_eq!(
        answer["files"],
        json!(["empty", "text", "bytes", "nothing"])
    );
}

#[tokio::test]
async fn branch_is_created_at_the_given_revision() {
    let fixture = fixture();
    for (arguments, from) in [
        (json!({}), "Default"),
        (json!({ "branch": "main" }), r#"Branch("main")"#),
        (json!({ "ref": "v1" }), r#"Named("v1")"#),
    ] {
        let mut whole = arguments;
        whole["repo"] = json!("octo/cat");
        whole["name"] = json!("new");
        fixture.events.clear();
        fixture.call_tool("create_branch", whole).await.value();
        assert_eq!(
            fixture.backend_calls(),
            [format!("create_branch octo/cat new {from}")]
        );
    }
}
