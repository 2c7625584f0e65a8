//! What callers and GitHub write never decides a code: facts do.

use crate::house::house;
use crate::valid::{self, changed};
use candor_fault::Cause;
use candor_forge::{Answered, Failure, Missing, Step, Unmet, Unreachable};
use serde_json::{Value, json};

/// Words by which other servers guess a code.
const WORDS: [&str; 8] = [
    "rate limit",
    "not found",
    "validation",
    "permission denied",
    "404",
    "API rate limit exceeded",
    "Validation Failed",
    "-32602",
];

/// Every free text of every tool.
const TEXTS: [(&str, &str); 9] = [
    ("search", "query"),
    ("read_file", "path"),
    ("list_directory", "path"),
    ("create_pull_request", "title"),
    ("create_pull_request", "body"),
    ("update_pull_request", "title"),
    ("merge_pull_request", "commit_title"),
    ("merge_pull_request", "commit_message"),
    ("commit_files", "message"),
];

/// Failures that know nothing of words, and their codes.
fn failures(words: &str) -> Vec<(Failure, i64)> {
    let answered = |status, limited| {
        Failure::Answered(Answered {
            status,
            step: Step::Read,
            missing: Missing::Repository,
            message: Some(words.to_owned()),
            errors: Some(Box::new(json!([{ "message": words }]))),
            limited,
            retry_after: None,
        })
    };
    vec![
        (answered(401, false), -32001),
        (answered(403, false), -32001),
        (answered(403, true), -32004),
        (answered(404, false), -32002),
        (answered(422, false), -32003),
        (answered(429, true), -32004),
        (answered(451, false), -32603),
        (answered(500, false), -32603),
        (Failure::Missing(Missing::Path(words.to_owned())), -32002),
        (Failure::Unmet(Unmet::IsDirectory(words.to_owned())), -32003),
        (Failure::Broken("git failed", Cause::from(words)), -32603),
        (
            Failure::Unreachable(Unreachable::Reset, Cause::from(words)),
            -32603,
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_text_of_the_caller_changes_nothing() {
    let house = house();
    for words in WORDS {
        tokio::time::advance(std::time::Duration::from_secs(60)).await;
        for (tool, member) in TEXTS {
            let arguments = changed(tool, member, json!(words));
            house.ask(tool, arguments).await.value();
        }
    }
}

#[tokio::test]
async fn a_repository_of_any_name_fails_as_any_other() {
    let house = house();
    let names = [
        "octo/cat",
        "rate-limit/rate.limit",
        "not-found/not_found",
        "validation/validation",
        "permission-denied/permission_denied",
        "404/422",
    ];
    for words in WORDS {
        for (failure, code) in failures(words) {
            house.stub.world().failing.insert("repository", failure);
            for repo in names {
                let said = house.ask("fetch", json!({ "repo": repo })).await;
                assert_eq!(said.code(), code, "{repo} {words} {}", said.message());
            }
        }
    }
}

#[tokio::test]
async fn words_of_github_are_passed_on_as_text_that_cannot_be_mistaken() {
    let house = house();
    let words = "rate limit\r\nexceeded\u{202e}\"";
    let (failure, _) = failures(words).swap_remove(1);
    house.stub.world().failing.insert("repository", failure);
    let said = house.ask("fetch", valid::of("fetch")).await;
    assert_eq!(
        said.message(),
        "Permission denied: GitHub: rate limit\\u{d}\\u{a}exceeded\\u{202e}\""
    );
    let errors: Value = json!([{ "message": words }]);
    assert_eq!(said.error()["data"]["errors"], errors);
    assert_eq!(
        house.lines(),
        [
            r#"jsonrpc_error tool=fetch code=-32001 repo=octo/cat pr=- sha=- state=- msg="Permission denied: GitHub: rate limit\\u{d}\\u{a}exceeded\\u{202e}\"""#
        ]
    );
}
