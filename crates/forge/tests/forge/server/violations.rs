//! Several things wrong at once: their order, and what counts as wrong at the edges.

use crate::fixture::server::{ServerFixture, ToolAnswer, call, fixture};
use crate::fixture::valid_arguments::changed;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The tests here change nothing, so one server does for all of them.
static HOUSE: LazyLock<ServerFixture> = LazyLock::new(fixture);

async fn violations(tool: &str, arguments: Value) -> Vec<String> {
    let answer = HOUSE.call_tool(tool, arguments).await;
    let report = answer.violations().into_iter();
    report
        .map(|(keyword, path)| format!("{keyword} {path}"))
        .collect()
}

#[tokio::test]
async fn object_is_reported_before_its_members_in_schema_order() {
    let arguments = json!({
        "zeta": 1, "ref": "a b", "branch": "x..y", "alpha": 2, "path": "../.git"
    });
    assert_eq!(
        violations("read_file", arguments).await,
        [
            "not root",
            "required root",
            "additionalProperties root",
            "additionalProperties root",
            "pattern /path",
            "pattern /path",
            "pattern /branch",
            "pattern /ref",
        ]
    );
    let answer = HOUSE
        .call_tool("read_file", json!({ "zeta": 1, "alpha": 2 }))
        .await;
    let error = answer.error();
    let entries = error["data"]["validation_errors"].as_array().unwrap();
    let params: Vec<_> = entries
        .iter()
        .map(|one| one["params"].to_string())
        .collect();
    assert_eq!(
        params,
        [
            r#"{"missingProperty":"repo"}"#,
            r#"{"missingProperty":"path"}"#,
            r#"{"additionalProperty":"zeta"}"#,
            r#"{"additionalProperty":"alpha"}"#,
        ]
    );
    assert_eq!(
        answer.message(),
        "Validation errors: must have required property 'repo'; must have required property 'path'; \
         must NOT have additional properties; must NOT have additional properties"
    );
}

#[tokio::test]
async fn array_is_reported_before_its_items_in_order() {
    let mut files = vec![json!({ "path": "", "content": 1, "mode": "x" }), json!(3)];
    files.resize(21, json!({ "encoding": "utf16" }));
    let report = violations(
        "commit_files",
        changed("commit_files", "files", json!(files)),
    )
    .await;
    assert_eq!(
        report[..9],
        [
            "maxItems /files",
            "additionalProperties /files/0",
            "minLength /files/0/path",
            "type /files/0/content",
            "type /files/1",
            "required /files/2",
            "required /files/2",
            "enum /files/2/encoding",
            "required /files/3",
        ]
    );
}

#[tokio::test]
async fn length_is_reported_before_the_pattern() {
    let long = changed("get_tree", "branch", json!("a b".repeat(50)));
    assert_eq!(
        violations("get_tree", long).await,
        ["maxLength /branch", "pattern /branch"]
    );
}

#[tokio::test]
async fn wrong_type_ends_the_checks_except_enum_and_range() {
    let of = |member: &str, value| json!({ "repo": "a/b", member: value });
    for (member, value, expected) in [
        ("page", json!(0.5), &["type /page", "minimum /page"][..]),
        ("page", json!(100.5), &["type /page", "maximum /page"][..]),
        ("page", json!(1.5), &["type /page"][..]),
        ("page", json!("0"), &["type /page"][..]),
        ("state", json!(7), &["type /state", "enum /state"][..]),
        ("repo", json!(7), &["type /repo"][..]),
    ] {
        assert_eq!(
            violations("list_pull_requests", of(member, value)).await,
            expected
        );
    }
}

#[tokio::test]
async fn lengths_count_code_points() {
    let cats = |count| json!({ "query": "🐈".repeat(count) });
    HOUSE.call_tool("search", cats(256)).await.value();
    assert_eq!(violations("search", cats(257)).await, ["maxLength /query"]);
    // One letter and its accent are two.
    let accents = json!({ "query": "e\u{301}".repeat(129) });
    assert_eq!(violations("search", accents).await, ["maxLength /query"]);
}

/// Hands over arguments as they stand.
async fn raw(fixture: &ServerFixture, tool: &str, text: &str) -> ToolAnswer {
    let mut call = call(tool, &Value::Null);
    call.arguments = Some(text.to_owned().into());
    fixture.answer_call(call).await
}

#[tokio::test]
async fn whole_number_is_an_integer_however_it_is_written() {
    let fixture = fixture();
    for seven in ["7", "7.0", "7e0", "0.7e1", "70e-1"] {
        let text = format!(r#"{{"repo":"octo/cat","prNumber":{seven}}}"#);
        raw(&fixture, "get_pull_request", &text).await.value();
        for tool in ["get_commits", "get_branches", "list_pull_requests"] {
            let text = format!(r#"{{"repo":"octo/cat","page":{seven},"per_page":{seven}}}"#);
            raw(&fixture, tool, &text).await.value();
        }
        let text = format!(r#"{{"query":"q","page":{seven},"per_page":{seven}}}"#);
        raw(&fixture, "search", &text).await.value();
    }
    let mut backend_calls = fixture.backend_calls();
    backend_calls.dedup();
    let each = [
        "pull_request octo/cat 7",
        "details octo/cat 7 262144",
        "commits octo/cat Default 7*7",
        "branches octo/cat 7*7",
        "pull_requests octo/cat Open 7*7",
        "search \"q\" 7*7",
    ];
    assert_eq!(backend_calls, each.repeat(5));
}

#[tokio::test]
async fn inexact_number_is_refused() {
    let fixture = fixture();
    for (number, expected) in [
        ("9007199254740992", "maximum"),
        ("9007199254740993", "maximum"),
        ("9007199254740993.0", "maximum"),
        ("18446744073709551616", "maximum"),
        ("1e300", "maximum"),
        ("-0.0", "minimum"),
        ("-1", "minimum"),
    ] {
        let text = format!(r#"{{"repo":"octo/cat","prNumber":{number}}}"#);
        let answer = raw(&fixture, "get_pr_mergeability", &text).await;
        assert_eq!(answer.violations()[0].0, expected, "{number}");
    }
    assert_eq!(fixture.backend_calls(), Vec::<String>::new());
    let most = r#"{"repo":"octo/cat","prNumber":9007199254740991}"#;
    raw(&fixture, "get_pr_mergeability", most).await.value();
    assert_eq!(
        fixture.backend_calls()[0],
        "pull_request octo/cat 9007199254740991"
    );
}

#[tokio::test]
async fn no_arguments_are_an_empty_object_and_null_is_not() {
    let fixture = fixture();
    let mut absent = call("search", &Value::Null);
    absent.arguments = None;
    let answer = fixture.answer_call(absent).await;
    assert_eq!(answer, fixture.call_tool("search", json!({})).await);
    assert_eq!(violations("search", Value::Null).await, ["type root"]);
    assert_eq!(
        fixture.call_tool("search", Value::Null).await.message(),
        "Validation errors: must be object"
    );
}
