//! Comments, reviews, requested reviewers and auto-merge on GitHub's documented answers.
//! <https://docs.github.com/rest/issues/comments>, <https://docs.github.com/rest/pulls/reviews>,
//! <https://docs.github.com/rest/pulls/comments>, <https://docs.github.com/rest/pulls/review-requests>

use crate::fixture::github::{GithubFixture, expect_error_response, expect_failure, repo};
use crate::github::openapi::example;
use crate::github::recorded_answers::{pull, with};
use candor_fault::Effect;
use candor_forge::{
    AutoMerge, CommentKind, DiffSide, DiscussionForge as _, Failure, Forge as _, LineComment,
    MergeMethod, MissingItem, NewReview, Paging, PullFilter, PullQuery, PullRequest,
    RequestedReviewers, ReviewDecision, ReviewEvent,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::{Value, json};

const PULL: &str = "GET /repos/octo/hello/pulls/7";
const ISSUE_COMMENT: &str = "/repos/{owner}/{repo}/issues/{issue_number}/comments";
const LINE_COMMENT: &str = "/repos/{owner}/{repo}/pulls/{pull_number}/comments";

fn ok(body: &Value) -> ScriptedResponse {
    ScriptedResponse::json(200, body)
}

fn ok_with_next(body: &Value) -> ScriptedResponse {
    let next = [("link", r#"<https://api.github.com/x>; rel="next""#)];
    ScriptedResponse::new(200, &next, body.to_string().as_bytes())
}

fn refused(status: u16, message: &str) -> ScriptedResponse {
    ScriptedResponse::json(status, &json!({ "message": message }))
}

fn created(body: &Value) -> ScriptedResponse {
    ScriptedResponse::json(201, body)
}

/// The lines of the two lists of comments.
fn lists(page: u32) -> [String; 2] {
    let lines = "/pulls/7/comments?sort=created&direction=asc&";
    let whole = "/issues/7/comments?";
    [lines, whole].map(|list| format!("GET /repos/octo/hello{list}per_page=100&page={page}"))
}

fn whole(id: u64, at: &str) -> Value {
    let one = example("GET", ISSUE_COMMENT)[0].clone();
    with(one, json!({ "id": id, "created_at": at }))
}

fn on_line(id: u64, at: &str, line: Value) -> Value {
    let one = example("GET", LINE_COMMENT)[0].clone();
    with(
        one,
        json!({ "id": id, "created_at": at, "line": line, "original_line": 2 }),
    )
}

const ALL: Paging = Paging {
    page: 1,
    per_page: 30,
};

#[tokio::test]
async fn comments_of_both_lists_are_in_one_order() {
    let fixture = GithubFixture::reading().await;
    let [lines, rest] = lists(1);
    let on_lines = [
        on_line(4, "2025-01-01T00:00:02Z", json!(5)),
        on_line(5, "2025-01-01T00:00:04Z", Value::Null),
    ];
    fixture.respond(&lines, ok(&json!(on_lines)));
    let wholes = [
        whole(2, "2025-01-01T00:00:01Z"),
        with(whole(3, "2025-01-01T00:00:03Z"), json!({ "user": null })),
    ];
    fixture.respond(&rest, ok(&json!(wholes)));
    let repo = repo();
    let page = fixture
        .forge
        .comments(&fixture.context, &repo, 7, ALL)
        .await;
    let page = page.unwrap();
    let shown: Vec<_> = page
        .comments
        .iter()
        .map(|one| (one.id, one.kind, one.line, one.outdated))
        .collect();
    assert_eq!(
        shown,
        [
            (2, CommentKind::Comment, None, false),
            (4, CommentKind::Review, Some(5), false),
            (3, CommentKind::Comment, None, false),
            (5, CommentKind::Review, Some(2), true),
        ]
    );
    assert_eq!(page.comments[2].author, None);
    assert_eq!(page.comments[1].side, Some(DiffSide::Right));
    assert_eq!((page.more, page.truncated), (false, false));
    fixture.assert_complete();
}

/// The number is an issue's: it has no list of comments on lines.
#[tokio::test]
async fn comments_of_an_issue_are_no_pull_request() {
    let fixture = GithubFixture::reading().await;
    let [lines, _] = lists(1);
    fixture.respond(&lines, refused(404, "Not Found"));
    fixture.respond("GET /repos/octo/hello", refused(404, "Not Found"));
    let repo = repo();
    let page = fixture
        .forge
        .comments(&fixture.context, &repo, 7, ALL)
        .await;
    let response = expect_error_response(page);
    assert_eq!(response.status, 404);
}

#[tokio::test]
async fn more_comments_than_are_read_is_stated() {
    let fixture = GithubFixture::reading().await;
    for page in 1..=10 {
        let [lines, rest] = lists(page);
        let at = format!("2025-01-01T00:{page:02}:00Z");
        let many: Vec<_> = (0..100).map(|_| whole(u64::from(page), &at)).collect();
        fixture.respond(&rest, ok_with_next(&json!(many)));
        if page == 1 {
            fixture.respond(&lines, ok(&json!([])));
        }
    }
    let last = Paging {
        page: 11,
        per_page: 100,
    };
    let repo = repo();
    let page = fixture
        .forge
        .comments(&fixture.context, &repo, 7, last)
        .await;
    let page = page.unwrap();
    assert_eq!((page.comments.len(), page.truncated), (0, true));
    fixture.assert_complete();
}

#[tokio::test]
async fn comment_is_posted_once() {
    let fixture = GithubFixture::writing().await;
    const POST: &str = "POST /repos/octo/hello/issues/7/comments";
    let answer = example("POST", ISSUE_COMMENT);
    fixture.respond(POST, created(&answer));
    let repo = repo();
    let made = fixture
        .forge
        .add_comment(&fixture.context, &repo, 7, "Me too");
    let made = made.await.unwrap();
    assert_eq!(Some(made.id), answer["id"].as_u64());
    assert_eq!(fixture.effect(), Effect::Done);
    assert_eq!(fixture.server.seen()[0].json(), json!({ "body": "Me too" }));
    fixture.assert_complete();
}

#[tokio::test]
async fn comment_on_a_missing_number_has_no_effect() {
    let fixture = GithubFixture::writing().await;
    const POST: &str = "POST /repos/octo/hello/issues/7/comments";
    fixture.respond(POST, refused(404, "Not Found"));
    let whole = example("GET", "/repos/{owner}/{repo}");
    fixture.respond("GET /repos/octo/hello", ok(&whole));
    let repo = repo();
    let made = fixture.forge.add_comment(&fixture.context, &repo, 7, "x");
    let response = expect_error_response(made.await);
    assert_eq!(response.missing, MissingItem::IssueOrPull(7));
    assert_eq!(fixture.effect(), Effect::None);
}

/// A request whose answer is lost may have been carried out.
#[tokio::test]
async fn server_error_of_a_comment_is_not_repeated() {
    let fixture = GithubFixture::writing().await;
    const POST: &str = "POST /repos/octo/hello/issues/7/comments";
    fixture.respond(POST, refused(502, "Bad Gateway"));
    let repo = repo();
    let made = fixture.forge.add_comment(&fixture.context, &repo, 7, "x");
    expect_failure(made.await);
    assert_eq!(fixture.effect(), Effect::Unknown);
    assert_eq!(fixture.server.seen().len(), 1);
}

fn review(event: ReviewEvent) -> NewReview {
    let comment = |start_line| LineComment {
        path: "a".to_owned(),
        line: 3,
        start_line,
        side: DiffSide::Left,
        body: "Why?".to_owned(),
    };
    NewReview {
        event,
        body: Some("Text".to_owned()),
        comments: vec![comment(Some(2)), comment(Some(3)), comment(None)],
        head_sha: "1".repeat(40),
    }
}

#[tokio::test]
async fn review_is_pinned_to_its_head() {
    let fixture = GithubFixture::writing().await;
    const POST: &str = "POST /repos/octo/hello/pulls/7/reviews";
    let answer = example("POST", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews");
    fixture.respond(POST, ok(&answer));
    let (repo, review) = (repo(), review(ReviewEvent::RequestChanges));
    let made = fixture
        .forge
        .submit_review(&fixture.context, &repo, 7, &review);
    let made = made.await.unwrap();
    assert_eq!(Some(made.id), answer["id"].as_u64());
    assert_eq!(Some(made.state.as_str()), answer["state"].as_str());
    let single = json!({ "path": "a", "line": 3, "side": "LEFT", "body": "Why?" });
    let several = with(
        single.clone(),
        json!({ "start_line": 2, "start_side": "LEFT" }),
    );
    assert_eq!(
        fixture.server.seen()[0].json(),
        json!({
            "commit_id": "1".repeat(40), "event": "REQUEST_CHANGES", "body": "Text",
            "comments": [several, single, single]
        })
    );
    assert_eq!(fixture.effect(), Effect::Done);
    fixture.assert_complete();
}

/// A line outside the difference, or an approval of one's own pull request.
#[tokio::test]
async fn refused_review_has_no_effect() {
    let fixture = GithubFixture::writing().await;
    const POST: &str = "POST /repos/octo/hello/pulls/7/reviews";
    fixture.respond(POST, refused(422, "Unprocessable Entity"));
    let (repo, review) = (repo(), review(ReviewEvent::Approve));
    let made = fixture
        .forge
        .submit_review(&fixture.context, &repo, 7, &review);
    assert_eq!(expect_error_response(made.await).status, 422);
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

fn commented(members: Value) -> ScriptedResponse {
    let one = example("GET", "/repos/{owner}/{repo}/pulls/comments/{comment_id}");
    ok(&with(one, members))
}

const COMMENT: &str = "GET /repos/octo/hello/pulls/comments/9";

#[tokio::test]
async fn reply_goes_to_the_first_comment() {
    let fixture = GithubFixture::writing().await;
    let url = "https://api.github.com/repos/octo/hello/pulls/7";
    let members = json!({ "id": 9, "pull_request_url": url, "in_reply_to_id": 4 });
    fixture.respond(COMMENT, commented(members));
    let answer = example("GET", LINE_COMMENT)[0].clone();
    let answer = with(answer, json!({ "id": 10, "in_reply_to_id": 4 }));
    fixture.respond(
        "POST /repos/octo/hello/pulls/7/comments/4/replies",
        created(&answer),
    );
    let repo = repo();
    let made = fixture
        .forge
        .reply(&fixture.context, &repo, 7, 9, "Because");
    let made = made.await.unwrap();
    assert_eq!((made.id, made.in_reply_to), (10, Some(4)));
    fixture.assert_complete();
}

#[tokio::test]
async fn comment_of_another_pull_request_is_missing() {
    let fixture = GithubFixture::writing().await;
    let url = "https://api.github.com/repos/octo/hello/pulls/17";
    fixture.respond(COMMENT, commented(json!({ "pull_request_url": url })));
    let repo = repo();
    let made = fixture
        .forge
        .reply(&fixture.context, &repo, 7, 9, "Because");
    assert_eq!(made.await, Err(MissingItem::LineComment(9).into()));
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn requested_reviewers_are_those_of_the_answer() {
    let fixture = GithubFixture::writing().await;
    const POST: &str = "POST /repos/octo/hello/pulls/7/requested_reviewers";
    let path = "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers";
    fixture.respond(POST, created(&example("POST", path)));
    let wanted = RequestedReviewers {
        requested_reviewers: vec!["octocat".to_owned()],
        requested_teams: Vec::new(),
    };
    let repo = repo();
    let made = fixture
        .forge
        .request_reviewers(&fixture.context, &repo, 7, &wanted);
    let made = made.await.unwrap();
    assert_eq!(made.requested_reviewers, ["octocat", "hubot", "other_user"]);
    assert_eq!(made.requested_teams, ["justice-league"]);
    assert_eq!(
        fixture.server.seen()[0].json(),
        json!({ "reviewers": ["octocat"] })
    );
    fixture.assert_complete();
}

async fn read(fixture: &GithubFixture, auto_merge: Value) -> PullRequest {
    let members = json!({ "number": 7, "node_id": "PR_7", "auto_merge": auto_merge });
    fixture.respond(PULL, ok(&pull(members)));
    let repo = repo();
    let found = fixture.forge.pull_request(&fixture.context, &repo, 7).await;
    found.unwrap()
}

#[tokio::test]
async fn attributes_of_a_pull_request_are_read() {
    let fixture = GithubFixture::writing().await;
    let auto_merge = json!({ "merge_method": "rebase", "enabled_by": { "login": "ada" } });
    let attributes = read(&fixture, auto_merge).await.attributes;
    assert_eq!(attributes.labels, ["bug"]);
    assert_eq!(attributes.requested_reviewers, ["other_user"]);
    assert_eq!(
        attributes.auto_merge,
        Some(AutoMerge {
            merge_method: MergeMethod::Rebase,
            enabled_by: Some("ada".to_owned()),
        })
    );
}

#[tokio::test]
async fn verdict_is_that_of_the_reviews() {
    let fixture = GithubFixture::reading().await;
    let pull = read(&fixture, Value::Null).await;
    let review = |login: &str, state: &str| {
        let list = example("GET", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews");
        with(
            list[0].clone(),
            json!({ "user": { "login": login }, "state": state }),
        )
    };
    let reviews = json!([
        review("a", "CHANGES_REQUESTED"),
        review("b", "APPROVED"),
        review("a", "DISMISSED")
    ]);
    fixture.respond(
        "GET /repos/octo/hello/pulls/7/reviews?per_page=100&page=1",
        ok(&reviews),
    );
    fixture.respond(
        "GET /repos/octo/hello/pulls/7/files?per_page=100&page=1",
        ok(&json!([])),
    );
    let repo = repo();
    let details = fixture.forge.details(&fixture.context, &repo, &pull, 100);
    let details = details.await.unwrap();
    assert_eq!(details.review_decision, Some(ReviewDecision::Approved));
}

const GRAPHQL: &str = "POST /graphql";

#[tokio::test]
async fn auto_merge_is_enabled_and_disabled() {
    let fixture = GithubFixture::writing().await;
    let before = read(&fixture, Value::Null).await;
    let request = json!({ "mergeMethod": "SQUASH", "enabledBy": { "login": "ada" } });
    let changed = |request: Value| {
        ok(&json!({ "data": { "changed": { "pullRequest": { "autoMergeRequest": request } } } }))
    };
    fixture.respond(GRAPHQL, changed(request));
    let repo = repo();
    let squash = Some(MergeMethod::Squash);
    let set = fixture
        .forge
        .set_auto_merge(&fixture.context, &repo, &before, squash);
    let set = set.await.unwrap();
    assert_eq!(set.as_ref().map(|one| one.merge_method), squash);
    let sent = fixture.server.seen()[1].json();
    assert_eq!(
        sent["variables"],
        json!({ "id": "PR_7", "method": "SQUASH" })
    );
    let mut after = before.clone();
    after.attributes.auto_merge = set.clone();
    // It is enabled already, so nothing is sent.
    let again = fixture
        .forge
        .set_auto_merge(&fixture.context, &repo, &after, squash);
    assert_eq!(again.await, Ok(set));
    fixture.respond(GRAPHQL, changed(Value::Null));
    let disabled = fixture
        .forge
        .set_auto_merge(&fixture.context, &repo, &after, None);
    assert_eq!(disabled.await, Ok(None));
    fixture.assert_complete();
}

/// <https://docs.github.com/graphql/reference/mutations#enablepullrequestautomerge>
#[tokio::test]
async fn auto_merge_that_is_not_allowed_is_a_validation_error() {
    let fixture = GithubFixture::writing().await;
    let before = read(&fixture, Value::Null).await;
    let refused = json!({
        "data": { "changed": null },
        "errors": [{ "type": "UNPROCESSABLE", "message": "Pull request Pull request is in clean status" }]
    });
    fixture.respond(GRAPHQL, ok(&refused));
    let repo = repo();
    let method = Some(MergeMethod::Merge);
    let set = fixture
        .forge
        .set_auto_merge(&fixture.context, &repo, &before, method);
    assert_eq!(expect_error_response(set.await).status, 422);
    assert_eq!(fixture.effect(), Effect::None);
}

fn found_line(page: u32, more: &str) -> String {
    format!(
        "GET /repos/octo/hello/pulls?state=all&sort=created&direction=desc{more}&per_page=100&page={page}"
    )
}

#[tokio::test]
async fn branches_are_found_by_github() {
    let fixture = GithubFixture::reading().await;
    let list = example("GET", "/repos/{owner}/{repo}/pulls");
    let line = found_line(1, "&head=octo%3Af%2Fx&base=main");
    fixture.respond(&line, ok(&list));
    let query = PullQuery {
        state: PullFilter::All,
        head: Some("f/x".to_owned()),
        base: Some("main".to_owned()),
        ..PullQuery::default()
    };
    let page = Paging {
        page: 1,
        per_page: 100,
    };
    let repo = repo();
    let found = fixture
        .forge
        .find_pulls(&fixture.context, &repo, &query, page);
    let found = found.await.unwrap();
    assert_eq!(
        (found.pulls.len(), found.more, found.incomplete),
        (1, false, false)
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn author_and_label_are_looked_for_among_the_newest_thousand() {
    let fixture = GithubFixture::reading().await;
    let one = |number: u64, login: &str| {
        let list = example("GET", "/repos/{owner}/{repo}/pulls");
        with(
            list[0].clone(),
            json!({ "number": number, "user": { "login": login } }),
        )
    };
    for page in 1..=10 {
        let pulls = json!([one(u64::from(page), "Ada"), one(100, "bob")]);
        let answer = ok_with_next(&pulls);
        fixture.respond(&found_line(page, ""), answer);
    }
    let query = PullQuery {
        state: PullFilter::All,
        author: Some("ada".to_owned()),
        label: Some("BUG".to_owned()),
        ..PullQuery::default()
    };
    let repo = repo();
    let found = fixture
        .forge
        .find_pulls(&fixture.context, &repo, &query, ALL);
    let found = found.await.unwrap();
    let numbers: Vec<_> = found.pulls.iter().map(|pull| pull.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!((found.more, found.incomplete), (false, true));
    fixture.assert_complete();
}

#[tokio::test]
async fn rate_limit_of_a_review_is_one() {
    let fixture = GithubFixture::writing().await;
    const POST: &str = "POST /repos/octo/hello/pulls/7/reviews";
    fixture.respond(POST, refused(429, "slow down"));
    let (repo, review) = (repo(), review(ReviewEvent::Approve));
    let made = fixture
        .forge
        .submit_review(&fixture.context, &repo, 7, &review);
    let failure = expect_failure(made.await);
    assert!(matches!(failure, Failure::GithubErrorResponse(response) if response.status == 429));
    assert_eq!(fixture.effect(), Effect::None);
}
