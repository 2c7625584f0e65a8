//! However much is wrong, the answer stays small.

use crate::fixture::server::{ServerFixture, fixture, in_form, run};
use crate::fixture::valid_arguments;
use candor_street::FailureForm;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The maximum by which an answer may be larger than its request.
const ROOM: usize = 64 * 1024;

#[tokio::test]
async fn extra_members_are_counted_and_fifty_reported() {
    let extra = |n| (format!("extra{n}"), json!(n));
    let arguments: Map<_, _> = (0..2_000).map(extra).collect();
    let answer = fixture()
        .call_tool("search", Value::Object(arguments.clone()))
        .await;
    let error = answer.error();
    let data = &error["data"];
    let report = data["validation_errors"].as_array().unwrap();
    assert_eq!(report.len(), 50);
    assert_eq!(data["omitted"], 1_951);
    assert_eq!(report[0]["keyword"], "required");
    assert_eq!(report[49]["params"]["additionalProperty"], "extra48");
    let bytes = Value::Object(arguments).to_string().len();
    assert_eq!(
        report[0]["value"],
        json!({ "omitted": "object", "bytes": bytes })
    );
    let message = answer.message();
    assert!(message.ends_with("; must NOT have additional properties; and 1951 more"));
    assert!(answer.text().len() < 16 * 1024, "{}", answer.text().len());
}

#[tokio::test]
async fn huge_names_are_not_repeated() {
    let name = "n".repeat(1 << 20);
    for options in [in_form(FailureForm::Jsonrpc), in_form(FailureForm::Result)] {
        let answer = options
            .fixture()
            .call_tool("search", json!({ name.clone(): 1 }))
            .await;
        assert!(answer.text().len() < 8 * 1024, "{}", answer.text().len());
    }
}

/// Small requests whose answers are as large as can be: every entry has the whole object, and a hint.
#[tokio::test]
async fn answers_to_small_requests_are_bounded() {
    let letters = || ('a'..='z').chain('A'..='Z').map(String::from);
    let near: Map<_, _> = letters().map(|c| (format!("page{c}"), json!(1))).collect();
    let quoted: Map<_, _> = letters().map(|c| (format!("\"{c}"), json!(1))).collect();
    let hidden: Map<_, _> = letters().map(|c| (format!("\u{7}{c}"), json!(1))).collect();
    let long: Map<_, _> = letters()
        .map(|c| (format!("{}{c}", "\"".repeat(255)), json!(1)))
        .collect();
    for fixture in HOUSES.iter() {
        for members in [&near, &quoted, &hidden, &long] {
            let arguments = Value::Object(members.clone());
            for tool in ["search", "merge_pull_request"] {
                within_bounds(fixture, tool, arguments.clone())
                    .await
                    .unwrap();
            }
            let files = json!({ "files": vec![arguments; 20] });
            within_bounds(fixture, "commit_files", files).await.unwrap();
        }
    }
}

/// Any JSON, now and then with a member that some tool has.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
        (1usize..2_000).prop_map(|length| json!("\u{7}\"\\é".repeat(length))),
    ];
    let name = prop_oneof![
        select(vec![
            "repo", "path", "files", "content", "branch", "ref", "query", "page"
        ])
        .prop_map(String::from),
        ".{0,12}",
        (200usize..400).prop_map(|length| "\u{202e}".repeat(length)),
    ];
    leaf.prop_recursive(3, 200, 60, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..60).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..60)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

async fn within_bounds(
    fixture: &ServerFixture,
    tool: &str,
    arguments: Value,
) -> Result<(), TestCaseError> {
    let request = arguments.to_string().len();
    let answer = fixture.call_tool(tool, arguments).await.text().len();
    prop_assert!(answer <= request + ROOM, "{answer} for {request}");
    Ok(())
}

/// One server a form: making one takes longer than asking it.
static HOUSES: LazyLock<[ServerFixture; 2]> = LazyLock::new(|| {
    [FailureForm::Jsonrpc, FailureForm::Result].map(|form| in_form(form).fixture())
});

proptest! {

    #[test]
    fn answer_is_at_most_its_request_and_64_kib(
        (tool, right) in select(valid_arguments::every_tool()),
        member in select(vec!["repo", "files", "path", "sha", "title", "x"]),
        wrong in anything(),
        form in 0usize..2,
    ) {
        run(async {
            let fixture = &HOUSES[form];
            let mut partly = right;
            partly[member] = wrong.clone();
            within_bounds(fixture, tool, partly).await?;
            within_bounds(fixture, tool, wrong).await
        })?;
    }
}
