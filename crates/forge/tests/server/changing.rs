//! Pull requests that are opened and changed, commits and branches that are made.

use crate::house::house;
use crate::valid::changed;
use candor_forge::{Failure, Unmet};
use serde_json::json;

#[tokio::test]
async fn a_head_may_name_the_owner_of_a_fork() {
    let house = house();
    for (head, owner, branch) in [
        ("topic", "None", "topic"),
        ("fork:topic", r#"Some("fork")"#, "topic"),
        ("fork:a/b", r#"Some("fork")"#, "a/b"),
        ("octo:topic", "None", "topic"),
        ("OCTO:topic", "None", "topic"),
    ] {
        house.seen.clear();
        let arguments = changed("create_pull_request", "head", json!(head));
        house.ask("create_pull_request", arguments).await.value();
        assert_eq!(
            house.asked(),
            [format!(
                r#"create_pull_request octo/cat NewPull {{ title: "Purr", head_owner: {owner}, head: "{branch}", base: "main", body: Some("Why"), draft: true }}"#
            )]
        );
    }
    for head in ["fork:", ":topic", "a:b:c", "fo rk:topic", "fork:-a"] {
        let arguments = changed("create_pull_request", "head", json!(head));
        assert_eq!(
            house.ask("create_pull_request", arguments).await.code(),
            -32602,
            "{head}"
        );
    }
}

#[tokio::test]
async fn an_open_pull_request_for_the_same_branches_is_named() {
    let house = house();
    let exists = Failure::Unmet(Unmet::PullExists(12));
    house
        .stub
        .world()
        .failing
        .insert("create_pull_request", exists);
    let arguments = crate::valid::of("create_pull_request");
    let said = house.ask("create_pull_request", arguments).await;
    assert_eq!(said.code(), -32003);
    assert_eq!(said.error()["data"]["number"], 12);
}

#[tokio::test]
async fn only_what_is_given_is_changed() {
    let house = house();
    for (member, value, asked) in [
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
        house.seen.clear();
        let arguments = json!({ "repo": "octo/cat", "prNumber": 7, member: value });
        house.ask("update_pull_request", arguments).await.value();
        assert_eq!(
            house.asked(),
            [format!(
                "update_pull_request octo/cat 7 PullChange {{ {asked} }}"
            )]
        );
    }
}

#[tokio::test]
async fn files_are_written_byte_for_byte() {
    let house = house();
    let files = json!([
        { "path": "empty", "content": "" },
        { "path": "text", "content": "é\r\n", "encoding": "utf8" },
        { "path": "bytes", "content": "/wA=", "encoding": "base64" },
        { "path": "nothing", "content": "", "encoding": "base64" }
    ]);
    let arguments = changed("commit_files", "files", files);
    let answer = house.ask("commit_files", arguments).await.value();
    assert_eq!(
        house.asked(),
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
async fn a_branch_is_made_where_it_is_said() {
    let house = house();
    for (arguments, from) in [
        (json!({}), "Default"),
        (json!({ "branch": "main" }), r#"Branch("main")"#),
        (json!({ "ref": "v1" }), r#"Named("v1")"#),
    ] {
        let mut whole = arguments;
        whole["repo"] = json!("octo/cat");
        whole["name"] = json!("new");
        house.seen.clear();
        house.ask("create_branch", whole).await.value();
        assert_eq!(
            house.asked(),
            [format!("create_branch octo/cat new {from}")]
        );
    }
}
