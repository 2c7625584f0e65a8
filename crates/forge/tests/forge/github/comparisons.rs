//! `compare_commits` and `get_commit` on GitHub's documented answers.
//! <https://docs.github.com/rest/commits/commits#compare-two-commits>

use crate::fixture::github::{GithubFixture, expect_error_response, expect_failure, repo};
use crate::github::openapi::example;
use crate::github::recorded_answers::{refusal, with};
use candor_forge::{
    ComparedRevisions, ComparisonStatus, Failure, HistoryForge as _, MissingItem, Paging, Revision,
    UnmetPrecondition,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::{Value, json};

const COMPARE: &str = "/repos/{owner}/{repo}/compare/{basehead}";
const FIRST: &str = "GET /repos/octo/hello/compare/main...f%2Fx?per_page=1&page=1";

fn revisions(owner: Option<&str>) -> ComparedRevisions {
    ComparedRevisions {
        base: String::from("main"),
        head_owner: owner.map(String::from),
        head: String::from("f/x"),
    }
}

fn paging(page: u32, per_page: u32) -> Paging {
    Paging { page, per_page }
}

fn sha(digit: char) -> String {
    digit.to_string().repeat(40)
}

fn commit(digit: char) -> Value {
    let commit = example("GET", COMPARE)["base_commit"].clone();
    with(commit, json!({ "sha": sha(digit) }))
}

fn comparison(members: Value) -> ScriptedResponse {
    let whole = with(
        example("GET", COMPARE),
        json!({ "base_commit": commit('b'), "merge_base_commit": commit('a') }),
    );
    ScriptedResponse::json(200, &with(whole, members))
}

fn file(name: &str, patch: Option<&str>) -> Value {
    json!({ "filename": name, "status": "renamed", "additions": 1, "deletions": 2, "patch": patch, "previous_filename": "old" })
}

#[tokio::test]
async fn documented_comparison_is_read() {
    let fixture = GithubFixture::reading().await;
    let page = json!({
        "status": "diverged", "ahead_by": 2, "behind_by": 3, "total_commits": 2,
        "commits": [commit('1')], "files": [file("b", None), file("a", Some("@@"))],
    });
    fixture.respond(FIRST, comparison(page));
    // The head is the last of all commits.
    let last =
        json!({ "status": "diverged", "ahead_by": 2, "behind_by": 3, "commits": [commit('2')] });
    let line = "GET /repos/octo/hello/compare/main...f%2Fx?per_page=1&page=2";
    fixture.respond(line, comparison(last));
    let (forge, repo, revisions) = (&fixture.forge, repo(), revisions(None));
    let found = forge
        .compare(&fixture.context, &repo, &revisions, paging(1, 1))
        .await;
    let found = found.unwrap();
    assert_eq!(found.status, ComparisonStatus::Diverged);
    assert_eq!((found.ahead_by, found.behind_by, found.more), (2, 3, true));
    assert_eq!(found.base_sha, sha('b'));
    assert_eq!(found.merge_base_sha, sha('a'));
    assert_eq!(found.head_sha, sha('2'));
    assert_eq!(found.commits.len(), 1);
    let paths: Vec<_> = found
        .changes
        .files
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(paths, ["a", "b"]);
    assert_eq!(found.changes.files[0].previous_path.as_deref(), Some("old"));
    // GitHub withholds the patch of a large change.
    assert!(found.changes.truncated);
    fixture.assert_complete();
}

#[tokio::test]
async fn head_without_new_commits_is_the_merge_base() {
    let fixture = GithubFixture::reading().await;
    let line = "GET /repos/octo/hello/compare/main...fork%3Af%2Fx?per_page=30&page=1";
    let page =
        json!({ "status": "behind", "ahead_by": 0, "behind_by": 3, "commits": [], "files": [] });
    fixture.respond(line, comparison(page));
    let (forge, repo, revisions) = (&fixture.forge, repo(), revisions(Some("fork")));
    let found = forge
        .compare(&fixture.context, &repo, &revisions, paging(1, 30))
        .await;
    let found = found.unwrap();
    assert_eq!((found.head_sha, found.more), (sha('a'), false));
    assert_eq!(found.status, ComparisonStatus::Behind);
    fixture.assert_complete();
}

fn not_found() -> ScriptedResponse {
    ScriptedResponse::new(
        404,
        &[],
        &refusal("Not Found", "commits/commits#compare-two-commits"),
    )
}

fn found_commit() -> ScriptedResponse {
    ScriptedResponse::json(200, &example("GET", "/repos/{owner}/{repo}/commits/{ref}"))
}

fn found_repository() -> ScriptedResponse {
    ScriptedResponse::json(200, &example("GET", "/repos/{owner}/{repo}"))
}

#[tokio::test]
async fn missing_side_is_named_and_unrelated_ones_are_recognised() {
    let fixture = GithubFixture::reading().await;
    let base = "GET /repos/octo/hello/commits/main?per_page=1&page=1";
    let head = "GET /repos/octo/hello/commits/f/x?per_page=1&page=1";
    let (forge, repo, revisions) = (&fixture.forge, repo(), revisions(None));
    fixture.respond(FIRST, not_found());
    fixture.respond("GET /repos/octo/hello", found_repository());
    fixture.respond(base, found_commit());
    fixture.respond(
        head,
        ScriptedResponse::new(422, &[], &refusal("No commit found", "x")),
    );
    let found = forge
        .compare(&fixture.context, &repo, &revisions, paging(1, 1))
        .await;
    let response = expect_error_response(found);
    assert_eq!(response.missing, MissingItem::Revision(String::from("f/x")));
    fixture.respond(FIRST, not_found());
    fixture.respond("GET /repos/octo/hello", found_repository());
    fixture.respond(base, found_commit());
    fixture.respond(head, found_commit());
    let found = forge
        .compare(&fixture.context, &repo, &revisions, paging(1, 1))
        .await;
    let unrelated = Failure::Unmet(UnmetPrecondition::Unrelated);
    assert_eq!(expect_failure(found), unrelated);
    fixture.assert_complete();
}

#[tokio::test]
async fn documented_commit_is_read_with_its_files() {
    let fixture = GithubFixture::reading().await;
    let whole = with(
        example("GET", "/repos/{owner}/{repo}/commits/{ref}"),
        json!({ "stats": { "additions": 104, "deletions": 4, "total": 108 }, "files": [file("a", Some("@@"))] }),
    );
    let next = [("link", "<https://api.github.com/x?page=2>; rel=\"next\"")];
    let line = "GET /repos/octo/hello/commits/f/x";
    fixture.respond(
        line,
        ScriptedResponse::new(200, &next, whole.to_string().as_bytes()),
    );
    let (forge, repo, at) = (&fixture.forge, repo(), Revision::Named(String::from("f/x")));
    let found = forge
        .commit_details(&fixture.context, &repo, &at)
        .await
        .unwrap();
    assert_eq!((found.additions, found.deletions), (104, 4));
    assert_eq!(found.changes.files.len(), 1);
    // There are more than 300 files.
    assert!(found.changes.truncated);
    assert_eq!(found.commit.parents.len(), 1);
    fixture.respond(
        line,
        ScriptedResponse::new(422, &[], &refusal("No commit found", "x")),
    );
    let missing = forge.commit_details(&fixture.context, &repo, &at).await;
    let expected = Failure::Missing(MissingItem::Revision(String::from("f/x")));
    assert_eq!(expect_failure(missing), expected);
    fixture.assert_complete();
}
