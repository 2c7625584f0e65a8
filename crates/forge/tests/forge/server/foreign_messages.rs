//! Text of callers and of GitHub never decides a code.

use crate::fixture::server::fixture;
use crate::fixture::valid_arguments::{self, changed};
use candor_fault::Cause;
use candor_forge::{
    Failure, GithubErrorResponse, MissingItem, RequestKind, UnmetPrecondition, UnreachableReason,
};
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
        Failure::GithubErrorResponse(GithubErrorResponse {
            status,
            step: RequestKind::Read,
            missing: MissingItem::Repository,
            message: Some(words.to_owned()),
            errors: Some(Box::new(json!([{ "message": words }]))),
            limited,
            retry_after: None,
            sso_url: None,
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
        (
            Failure::Missing(MissingItem::Path(words.to_owned())),
            -32002,
        ),
        (
            Failure::Unmet(UnmetPrecondition::IsDirectory(words.to_owned())),
            -32003,
        ),
        (Failure::Broken("git failed", Cause::from(words)), -32603),
        (
            Failure::Unreachable(UnreachableReason::Reset, Cause::from(words)),
            -32603,
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn caller_text_does_not_decide_the_code() {
    let fixture = fixture();
    for words in WORDS {
        tokio::time::advance(std::time::Duration::from_secs(60)).await;
        for (tool, member) in TEXTS {
            let arguments = changed(tool, member, json!(words));
            fixture.call_tool(tool, arguments).await.value();
        }
    }
}

#[tokio::test]
async fn repository_of_any_name_fails_as_any_other() {
    let fixture = fixture();
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
            fixture
                .stub
                .stub_state()
                .failing
                .insert("repository", failure);
            for repo in names {
                let answer = fixture.call_tool("fetch", json!({ "repo": repo })).await;
                assert_eq!(answer.code(), code, "{repo} {words} {}", answer.message());
            }
        }
    }
}

#[tokio::test]
async fn github_message_is_passed_on_escaped() {
    let fixture = fixture();
    let words = "rate limit\r\nexceeded\u{202e}\"";
    let (failure, _) = failures(words).swap_remove(1);
    fixture
        .stub
        .stub_state()
        .failing
        .insert("repository", failure);
    let answer = fixture
        .call_tool("fetch", valid_arguments::for_tool("fetch"))
        .await;
    assert_eq!(
        answer.message(),
        "Permission denied: GitHub: rate limit\\u{d}\\u{a}exceeded\\u{202e}\""
    );
    let errors: Value = json!([{ "message": words }]);
    assert_eq!(answer.error()["data"]["errors"], errors);
    assert_eq!(
        fixture.lines(),
        [
            r#"jsonrpc_error tool=fetch code=-32001 repo=octo/cat pr=- sha=- state=- msg="Permission denied: GitHub: rate limit\\u{d}\\u{a}exceeded\\u{202e}\"""#
        ]
    );
}
