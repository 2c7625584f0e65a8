//! The line of a failure: exactly one each, and nothing in it that a caller made up.

use crate::fixture::server::{FixtureOptions, ServerFixture, fixture, run};
use crate::fixture::valid_arguments::{self, WRITES};
use candor_fault::dialects::Wire;
use candor_forge::{Failure, MissingItem};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

#[tokio::test]
async fn failure_has_one_line_and_a_success_none() {
    let fixture = fixture();
    for (tool, arguments) in valid_arguments::every_tool() {
        fixture.call_tool(tool, arguments).await.value();
    }
    assert_eq!(fixture.lines(), Vec::<String>::new());
    for (tool, _) in valid_arguments::every_tool() {
        fixture.call_tool(tool, json!({ "zzz": 1 })).await.code();
    }
    assert_eq!(fixture.lines().len(), valid_arguments::every_tool().len());
}

#[tokio::test]
async fn each_kind_of_failure_has_its_line() {
    let fixture = FixtureOptions::default()
        .with(|options| {
            let missing = Failure::Missing(MissingItem::PullRequest(7));
            options.stub_state.failing.insert("pull_request", missing);
            options.config.allow_writes = false;
        })
        .fixture();
    let seven = json!({ "repo": "octo/cat", "prNumber": 7.0 });
    fixture.call_tool("get_pr_mergeability", seven).await.code();
    let merge = valid_arguments::for_tool("merge_pull_request");
    fixture.call_tool("merge_pull_request", merge).await.code();
    fixture.call_tool("search", json!({})).await.code();
    fixture
        .call_tool("unheard", json!({ "repo": "octo/cat" }))
        .await
        .code();
    let refused = fixture
        .dispatcher
        .begin_refusal(Wire::invalid_request("the message is no object"));
    assert!(refused.is_ok());
    assert_eq!(
        fixture.lines(),
        [
            r#"jsonrpc_error tool=get_pr_mergeability code=-32002 repo=octo/cat pr=7 sha=- state=- msg="Not found: the pull request #7 does not exist, or the token cannot see it""#,
            r#"jsonrpc_error tool=merge_pull_request code=-32001 repo=octo/cat pr=7 sha=0123456789abcdef0123456789abcdef01234567 state=- msg="Permission denied: this server does not change anything""#,
            r#"jsonrpc_error tool=search code=-32602 repo=- pr=- sha=- state=- msg="Validation errors: must have required property 'query'""#,
            r#"jsonrpc_error tool=- code=-32602 repo=- pr=- sha=- state=- msg="Unknown tool: unheard""#,
            r#"jsonrpc_error tool=- code=-32600 repo=- pr=- sha=- state=- msg="Invalid Request: the message is no object""#,
        ]
    );
    assert_eq!(fixture.backend_calls(), ["pull_request octo/cat 7"]);
}

#[tokio::test]
async fn refused_merge_shows_the_state() {
    let fixture = crate::fixture::server::fixture_with(|stub_state| {
        stub_state.pulls[0].mergeable = Some(false);
        stub_state.pulls[0].mergeable_state = Some(String::from("dirty"));
    });
    let merge = valid_arguments::for_tool("merge_pull_request");
    assert_eq!(
        fixture.call_tool("merge_pull_request", merge).await.code(),
        -32005
    );
    assert!(
        fixture.lines()[0].contains(" state=dirty msg=\""),
        "{:?}",
        fixture.lines()
    );
}

/// The members of a line, read by its own rules and nothing else.
fn read(line: &str) -> Option<Vec<String>> {
    let (members, message) = line.split_once(" msg=\"")?;
    let message = message.strip_suffix('"')?;
    let mut escaped = false;
    for c in message.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return None,
            c if c.is_control() => return None,
            _ => {}
        }
    }
    if escaped {
        return None;
    }
    let mut read = Vec::new();
    let mut words = members.split(' ');
    if words.next() != Some("jsonrpc_error") {
        return None;
    }
    for name in ["tool=", "code=", "repo=", "pr=", "sha=", "state="] {
        read.push(words.next()?.strip_prefix(name)?.to_owned());
    }
    words.next().is_none().then_some(read)
}

static HOUSE: LazyLock<ServerFixture> = LazyLock::new(|| {
    FixtureOptions::default()
        .with(|options| options.config.allow_writes = false)
        .fixture()
});

fn hostile() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-z/ =\"\\\\\n\u{2028}\u{202e}.-]{0,30}".prop_map(Value::from),
        Just(json!("octo/cat msg=\"x\"")),
        Just(json!("octo/cat\njsonrpc_error tool=search")),
        Just(json!("abcdef0 state=clean")),
        Just(json!("octo/cat")),
        Just(json!("abcdef0")),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(json!([])),
        Just(json!({ "repo": "octo/cat" })),
    ]
}

proptest! {
    #[test]
    fn arguments_cannot_forge_a_line(
        tool in prop_oneof![
            proptest::sample::select(WRITES).prop_map(String::from),
            ".{0,20}",
            Just(String::from("x\" code=0 msg=\"y")),
            Just(String::from("search\njsonrpc_error tool=fetch")),
        ],
        repo in hostile(),
        number in hostile(),
        sha in hostile(),
    ) {
        let before = HOUSE.lines().len();
        let arguments = json!({ "repo": repo, "prNumber": number, "sha": sha });
        let known = WRITES.contains(&tool.as_str());
        let answer = run(HOUSE.call_tool(&tool, arguments));
        let lines = HOUSE.lines();
        prop_assert_eq!(lines.len(), before + 1);
        let line = &lines[before];
        prop_assert!(!line.contains(['\u{2028}', '\u{202e}']), "{}", line);
        let Some(read) = read(line) else {
            return Err(TestCaseError::fail(line.clone()));
        };
        let shown = |is: bool, value: &Value| match is && known {
            true => value.as_str().map_or_else(|| value.to_string(), String::from),
            false => String::from("-"),
        };
        let is_repo = matches!(repo.as_str(), Some(text) if candor_forge::RepoName::parse(text).is_some());
        let is_sha = matches!(sha.as_str(), Some(text)
            if (7..=40).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)));
        prop_assert_eq!(&read[0], if known { &tool } else { "-" });
        prop_assert_eq!(&read[1], &answer.code().to_string());
        prop_assert_eq!(&read[2], &shown(is_repo, &repo));
        prop_assert_eq!(&read[4], &shown(is_sha, &sha));
        prop_assert!(read[3] == "-" || read[3].bytes().all(|byte| byte.is_ascii_digit()));
        prop_assert_eq!(&read[5], "-");
    }
}
