//! Issues on GitHub's documented answers. <https://docs.github.com/rest/issues/issues>,
//! <https://docs.github.com/rest/search/search#search-issues-and-pull-requests>

use crate::fixture::github::{GithubFixture, expect_error_response, repo};
use crate::github::openapi::example;
use crate::github::recorded_answers::with;
use candor_fault::Effect;
use candor_forge::{
    IssueChange, IssueForge as _, IssueKind, IssueQuery, MissingItem, NewIssue, Paging, PullState,
    StateReason, UnmetPrecondition,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::{Value, json};

const ISSUE: &str = "GET /repos/octo/hello/issues/8";

const PAGE: Paging = Paging {
    page: 1,
    per_page: 30,
};

fn ok(body: &Value) -> ScriptedResponse {
    ScriptedResponse::json(200, body)
}

fn issue(members: Value) -> Value {
    let path = "/repos/{owner}/{repo}/issues/{issue_number}";
    let issue = with(example("PATCH", path), json!({ "number": 8 }));
    let mut issue = with(issue, members);
    // The example has the member of a pull request.
    if issue["pull_request"]["html_url"] != "kept" {
        issue.as_object_mut().unwrap().shift_remove("pull_request");
    }
    issue
}

fn pull_request() -> Value {
    issue(json!({ "pull_request": { "html_url": "kept" } }))
}

#[tokio::test]
async fn list_has_no_pull_requests() {
    let fixture = GithubFixture::reading().await;
    fixture.respond(
        "GET /repos/octo/hello/issues?state=open&sort=created&direction=desc&labels=a%2Cb&assignee=ada&since=2025-01-01T00%3A00%3A00Z&per_page=30&page=1",
        ok(&json!([pull_request(), issue(json!({}))])),
    );
    let query = IssueQuery {
        labels: vec!["a".to_owned(), "b".to_owned()],
        assignee: Some("ada".to_owned()),
        since: Some("2025-01-01T00:00:00Z".to_owned()),
        ..IssueQuery::default()
    };
    let repo = repo();
    let found = fixture.forge.issues(&fixture.context, &repo, &query, PAGE);
    let found = found.await.unwrap();
    assert_eq!(found.issues.len(), 1);
    assert_eq!(found.issues[0].number, 8);
    assert_eq!(found.issues[0].labels, ["bug"]);
    assert_eq!(found.issues[0].assignees, ["octocat"]);
    fixture.assert_complete();
}

fn comments_line(page: u32) -> String {
    format!("GET /repos/octo/hello/issues/8/comments?per_page=30&page={page}")
}

#[tokio::test]
async fn last_thirty_comments_are_on_the_last_pages() {
    let fixture = GithubFixture::reading().await;
    let path = "/repos/{owner}/{repo}/issues/{issue_number}/comments";
    let comments = |ids: std::ops::RangeInclusive<u64>| {
        let one = example("GET", path)[0].clone();
        let all = ids.map(|id| with(one.clone(), json!({ "id": id })));
        ok(&all.collect())
    };
    fixture.respond(ISSUE, ok(&issue(json!({ "comments": 62 }))));
    fixture.respond(&comments_line(2), comments(31..=60));
    fixture.respond(&comments_line(3), comments(61..=62));
    let repo = repo();
    let found = fixture.forge.issue(&fixture.context, &repo, 8).await;
    let ids: Vec<_> = found.unwrap().comments.iter().map(|one| one.id).collect();
    assert_eq!(ids, (33..=62).collect::<Vec<_>>());
    fixture.respond(ISSUE, ok(&issue(json!({ "comments": 0 }))));
    let found = fixture.forge.issue(&fixture.context, &repo, 8).await;
    assert!(found.unwrap().comments.is_empty());
    fixture.assert_complete();
}

#[tokio::test]
async fn pull_request_is_no_issue() {
    let fixture = GithubFixture::writing().await;
    let is_pull = UnmetPrecondition::IsPullRequest(8);
    fixture.respond(ISSUE, ok(&pull_request()));
    let repo = repo();
    let found = fixture.forge.issue(&fixture.context, &repo, 8).await;
    assert_eq!(found, Err(is_pull.clone().into()));
    // GitHub would change the pull request, so nothing is sent.
    fixture.respond(ISSUE, ok(&pull_request()));
    let change = IssueChange {
        title: Some("x".to_owned()),
        ..IssueChange::default()
    };
    let made = fixture
        .forge
        .update_issue(&fixture.context, &repo, 8, &change);
    assert_eq!(made.await, Err(is_pull.into()));
    assert_eq!(fixture.effect(), Effect::None);
}

#[tokio::test]
async fn missing_issue_is_named() {
    let fixture = GithubFixture::reading().await;
    let missing = ScriptedResponse::json(404, &json!({ "message": "Not Found" }));
    fixture.respond(ISSUE, missing);
    let whole = example("GET", "/repos/{owner}/{repo}");
    fixture.respond("GET /repos/octo/hello", ok(&whole));
    let repo = repo();
    let found = fixture.forge.issue(&fixture.context, &repo, 8).await;
    let response = expect_error_response(found);
    assert_eq!(response.missing, MissingItem::Issue(8));
}

#[tokio::test]
async fn only_given_members_are_sent() {
    let fixture = GithubFixture::writing().await;
    const POST: &str = "POST /repos/octo/hello/issues";
    fixture.respond(POST, ScriptedResponse::json(201, &issue(json!({}))));
    let new = NewIssue {
        title: "Hiss".to_owned(),
        body: None,
        labels: Vec::new(),
        assignees: vec!["ada".to_owned()],
    };
    let repo = repo();
    let made = fixture.forge.create_issue(&fixture.context, &repo, &new);
    assert_eq!(made.await.unwrap().number, 8);
    fixture.respond(ISSUE, ok(&issue(json!({}))));
    let closed = issue(json!({ "state": "closed", "state_reason": "not_planned" }));
    fixture.respond("PATCH /repos/octo/hello/issues/8", ok(&closed));
    let change = IssueChange {
        state: Some(PullState::Closed),
        state_reason: Some(StateReason::NotPlanned),
        labels: Some(Vec::new()),
        ..IssueChange::default()
    };
    let made = fixture
        .forge
        .update_issue(&fixture.context, &repo, 8, &change);
    let made = made.await.unwrap();
    assert_eq!(made.state_reason.as_deref(), Some("not_planned"));
    let seen = fixture.server.seen();
    assert_eq!(
        seen[0].json(),
        json!({ "title": "Hiss", "assignees": ["ada"] })
    );
    assert_eq!(
        seen[2].json(),
        json!({ "state": "closed", "state_reason": "not_planned", "labels": [] })
    );
    assert_eq!(fixture.effect(), Effect::Done);
    fixture.assert_complete();
}

#[tokio::test]
async fn search_stays_in_its_repository() {
    let fixture = GithubFixture::reading().await;
    let inside = "https://api.github.com/repos/Octo/Hello";
    let outside = "https://api.github.com/repos/octo/secret";
    let of = |url: &str| json!({ "repository_url": url });
    let items = json!([
        issue(of(inside)),
        with(pull_request(), of(inside)),
        issue(of(outside)),
        issue(json!({})),
    ]);
    let page = json!({ "total_count": 40, "incomplete_results": false, "items": items });
    fixture.respond(
        "GET /search/issues?q=crash%20repo%3Aocto%2Fhello&per_page=30&page=1",
        ok(&page),
    );
    let repo = repo();
    let found = fixture
        .forge
        .search_issues(&fixture.context, &repo, "crash", PAGE);
    let found = found.await.unwrap();
    let kinds: Vec<_> = found.results.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [IssueKind::Issue, IssueKind::PullRequest]);
    assert_eq!((found.total_count, found.more), (40, true));
    fixture.assert_complete();
}
