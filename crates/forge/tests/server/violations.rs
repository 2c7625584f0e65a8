//! Several things wrong at once: their order, and what counts as wrong at the edges.

use crate::house::{House, Said, call, house};
use crate::valid::changed;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The tests here change nothing, so one server does for all of them.
static HOUSE: LazyLock<House> = LazyLock::new(house);

async fn broken(tool: &str, arguments: Value) -> Vec<String> {
    let said = HOUSE.ask(tool, arguments).await;
    let told = said.broken().into_iter();
    told.map(|(keyword, path)| format!("{keyword} {path}"))
        .collect()
}

#[tokio::test]
async fn an_object_is_told_before_its_members_and_those_in_the_order_of_the_schema() {
    let arguments = json!({
        "zeta": 1, "ref": "a b", "branch": "x..y", "alpha": 2, "path": "../.git"
    });
    assert_eq!(
        broken("read_file", arguments).await,
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
    let said = HOUSE
        .ask("read_file", json!({ "zeta": 1, "alpha": 2 }))
        .await;
    let error = said.error();
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
        said.message(),
        "Validation errors: must have required property 'repo'; must have required property 'path'; \
         must NOT have additional properties; must NOT have additional properties"
    );
}

#[tokio::test]
async fn an_array_is_told_before_its_items_and_those_by_their_place() {
    let mut files = vec![json!({ "path": "", "content": 1, "mode": "x" }), json!(3)];
    files.resize(21, json!({ "encoding": "utf16" }));
    let told = broken(
        "commit_files",
        changed("commit_files", "files", json!(files)),
    )
    .await;
    assert_eq!(
        told[..9],
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
async fn a_text_is_too_long_before_it_is_malformed() {
    let long = changed("get_tree", "branch", json!("a b".repeat(50)));
    assert_eq!(
        broken("get_tree", long).await,
        ["maxLength /branch", "pattern /branch"]
    );
}

#[tokio::test]
async fn a_wrong_type_ends_the_checks_but_for_enum_and_a_number_s_range() {
    let of = |member: &str, value| json!({ "repo": "a/b", member: value });
    for (member, value, wanted) in [
        ("page", json!(0.5), &["type /page", "minimum /page"][..]),
        ("page", json!(100.5), &["type /page", "maximum /page"][..]),
        ("page", json!(1.5), &["type /page"][..]),
        ("page", json!("0"), &["type /page"][..]),
        ("state", json!(7), &["type /state", "enum /state"][..]),
        ("repo", json!(7), &["type /repo"][..]),
    ] {
        assert_eq!(
            broken("list_pull_requests", of(member, value)).await,
            wanted
        );
    }
}

#[tokio::test]
async fn lengths_count_code_points() {
    let cats = |count| json!({ "query": "🐈".repeat(count) });
    HOUSE.ask("search", cats(256)).await.value();
    assert_eq!(broken("search", cats(257)).await, ["maxLength /query"]);
    // One letter and its accent are two.
    let accents = json!({ "query": "e\u{301}".repeat(129) });
    assert_eq!(broken("search", accents).await, ["maxLength /query"]);
}

/// Hands over arguments as they stand.
async fn raw(house: &House, tool: &str, text: &str) -> Said {
    let mut call = call(tool, &Value::Null);
    call.arguments = Some(text.to_owned());
    house.hand(call).await
}

#[tokio::test]
async fn a_whole_number_is_an_integer_however_it_is_written() {
    let house = house();
    for seven in ["7", "7.0", "7e0", "0.7e1", "70e-1"] {
        let text = format!(r#"{{"repo":"octo/cat","prNumber":{seven}}}"#);
        raw(&house, "get_pull_request", &text).await.value();
        for tool in ["get_commits", "get_branches", "list_pull_requests"] {
            let text = format!(r#"{{"repo":"octo/cat","page":{seven},"per_page":{seven}}}"#);
            raw(&house, tool, &text).await.value();
        }
        let text = format!(r#"{{"query":"q","page":{seven},"per_page":{seven}}}"#);
        raw(&house, "search", &text).await.value();
    }
    let mut asked = house.asked();
    asked.dedup();
    let each = [
        "pull_request octo/cat 7",
        "details octo/cat 7 262144",
        "commits octo/cat Default 7*7",
        "branches octo/cat 7*7",
        "pull_requests octo/cat Open 7*7",
        "search \"q\" 7*7",
    ];
    assert_eq!(asked, each.repeat(5));
}

#[tokio::test]
async fn a_number_that_not_every_reader_keeps_is_refused() {
    let house = house();
    for (number, wanted) in [
        ("9007199254740992", "maximum"),
        ("9007199254740993", "maximum"),
        ("9007199254740993.0", "maximum"),
        ("18446744073709551616", "maximum"),
        ("1e300", "maximum"),
        ("-0.0", "minimum"),
        ("-1", "minimum"),
    ] {
        let text = format!(r#"{{"repo":"octo/cat","prNumber":{number}}}"#);
        let said = raw(&house, "get_pr_mergeability", &text).await;
        assert_eq!(said.broken()[0].0, wanted, "{number}");
    }
    assert_eq!(house.asked(), Vec::<String>::new());
    let most = r#"{"repo":"octo/cat","prNumber":9007199254740991}"#;
    raw(&house, "get_pr_mergeability", most).await.value();
    assert_eq!(house.asked()[0], "pull_request octo/cat 9007199254740991");
}

#[tokio::test]
async fn no_arguments_are_an_empty_object_and_null_is_not() {
    let house = house();
    let mut absent = call("search", &Value::Null);
    absent.arguments = None;
    let said = house.hand(absent).await;
    assert_eq!(said, house.ask("search", json!({})).await);
    assert_eq!(broken("search", Value::Null).await, ["type root"]);
    assert_eq!(
        house.ask("search", Value::Null).await.message(),
        "Validation errors: must be object"
    );
}
