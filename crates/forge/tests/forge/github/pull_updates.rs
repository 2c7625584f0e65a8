//! Pull requests edited, and made drafts or no drafts.

use crate::fixture::github::{GithubFixture, NOW, expect_error_response, expect_failure, repo};
use crate::github::recorded_answers::{pull, refusal};
use candor_fault::Effect;
use candor_forge::{
    Failure, Forge as _, MissingItem, PullRequestChange, PullState, UnreachableReason,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::{Value, json};
use std::time::Duration;

const GET: &str = "GET /repos/octo/hello/pulls/7";
const PATCH: &str = "PATCH /repos/octo/hello/pulls/7";
const GRAPHQL: &str = "POST /graphql";

fn change(title: Option<&str>, state: Option<PullState>, draft: Option<bool>) -> PullRequestChange {
    PullRequestChange {
        title: title.map(str::to_owned),
        body: None,
        state,
        draft,
    }
}

fn toggled(draft: bool) -> ScriptedResponse {
    let pull = json!({ "isDraft": draft, "updatedAt": "2026-01-02T03:04:05Z" });
    ScriptedResponse::json(
        200,
        &json!({ "data": { "changed": { "pullRequest": pull } } }),
    )
}

fn errors(kind: Value) -> ScriptedResponse {
    let error = json!({ "type": kind, "path": ["changed"], "message": "rate limit not found" });
    ScriptedResponse::json(
        200,
        &json!({ "data": { "changed": null }, "errors": [error] }),
    )
}

#[tokio::test]
async fn fields_are_edited_in_one_step() {
    let fixture = GithubFixture::writing().await;
    fixture.respond(
        PATCH,
        ScriptedResponse::json(200, &pull(json!({ "title": "New", "body": null }))),
    );
    let change = PullRequestChange {
        title: Some("New".to_owned()),
        body: Some(String::new()),
        state: Some(PullState::Open),
        draft: None,
    };
    let made = fixture
        .forge
        .update_pull_request(&fixture.context, &repo(), 7, &change)
        .await;
    assert_eq!(made.unwrap().title, "New");
    assert_eq!(fixture.effect(), Effect::Done);
    let sent = json!({ "title": "New", "body": "", "state": "open" });
    assert_eq!(fixture.server.seen()[0].json(), sent);
    fixture.assert_complete();
}

#[tokio::test]
async fn draft_is_toggled_both_ways() {
    for (draft, mutation) in [
        (false, "markPullRequestReadyForReview"),
        (true, "convertPullRequestToDraft"),
    ] {
        let fixture = GithubFixture::writing().await;
        fixture.respond(
            GET,
            ScriptedResponse::json(200, &pull(json!({ "draft": !draft, "node_id": "PR_1" }))),
        );
        fixture.respond(GRAPHQL, toggled(draft));
        let change = change(None, None, Some(draft));
        let made = fixture
            .forge
            .update_pull_request(&fixture.context, &repo(), 7, &change)
            .await
            .unwrap();
        assert_eq!(
            (made.draft, made.updated_at.as_str()),
            (draft, "2026-01-02T03:04:05Z")
        );
        assert_eq!(fixture.effect(), Effect::Done);
        let sent = fixture.server.seen()[1].json();
        assert!(sent["query"].as_str().unwrap().contains(mutation));
        assert_eq!(sent["variables"], json!({ "id": "PR_1" }));
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn unchanged_draft_state_sends_nothing() {
    let fixture = GithubFixture::writing().await;
    let draft = pull(json!({ "draft": true }));
    fixture
        .respond(GET, ScriptedResponse::json(200, &draft))
        .respond(GET, ScriptedResponse::json(200, &draft));
    let change = change(None, None, Some(true));
    let made = fixture
        .forge
        .update_pull_request(&fixture.context, &repo(), 7, &change)
        .await;
    assert!(made.unwrap().draft);
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn graphql_errors_are_mapped_by_type() {
    for (kind, status, limited) in [
        ("NOT_FOUND", 404, false),
        ("FORBIDDEN", 403, false),
        ("INSUFFICIENT_SCOPES", 403, false),
        ("RATE_LIMITED", 403, true),
        ("UNPROCESSABLE", 422, false),
    ] {
        let fixture = GithubFixture::writing().await;
        fixture.respond(
            GET,
            ScriptedResponse::json(200, &pull(json!({ "draft": true }))),
        );
        fixture.respond(GRAPHQL, errors(json!(kind)));
        if status == 404 {
            // As for REST, the whole repository may be hidden.
            fixture.respond(
                "GET /repos/octo/hello",
                ScriptedResponse::json(200, &json!({})),
            );
        }
        let change = change(None, None, Some(false));
        let made = fixture
            .forge
            .update_pull_request(&fixture.context, &repo(), 7, &change)
            .await;
        let refusal = expect_error_response(made);
        assert_eq!(
            (refusal.status, refusal.limited),
            (status, limited),
            "{kind}"
        );
        assert_eq!(refusal.missing, MissingItem::PullRequest(7));
        assert_eq!(fixture.effect(), Effect::None);
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn graphql_error_of_unknown_type_has_unknown_effect() {
    for respond in [
        errors(json!(null)),
        errors(json!("SOMETHING_NEW")),
        ScriptedResponse::json(200, &json!({})),
        ScriptedResponse::new(200, &[], b"<html>"),
    ] {
        let fixture = GithubFixture::writing().await;
        fixture.respond(
            GET,
            ScriptedResponse::json(200, &pull(json!({ "draft": true }))),
        );
        fixture.respond(GRAPHQL, respond);
        let change = change(None, None, Some(false));
        let made = fixture
            .forge
            .update_pull_request(&fixture.context, &repo(), 7, &change)
            .await;
        assert!(matches!(
            expect_failure(made),
            Failure::Unreachable(UnreachableReason::Garbled, _)
        ));
        assert_eq!(fixture.effect(), Effect::Unknown);
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn graphql_refuses_by_status_too() {
    let fixture = GithubFixture::writing().await;
    fixture.respond(
        GET,
        ScriptedResponse::json(200, &pull(json!({ "draft": true }))),
    );
    fixture.respond(
        GRAPHQL,
        ScriptedResponse::new(403, &[("retry-after", "9")], b"{}"),
    );
    let change = change(None, None, Some(false));
    let made = fixture
        .forge
        .update_pull_request(&fixture.context, &repo(), 7, &change)
        .await;
    assert!(expect_error_response(made).limited);
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn failed_second_step_keeps_the_first() {
    let fixture = GithubFixture::writing().await;
    let draft = pull(json!({ "draft": true }));
    fixture
        .respond(GET, ScriptedResponse::json(200, &draft))
        .respond(PATCH, ScriptedResponse::json(200, &draft));
    fixture.respond(GRAPHQL, errors(json!("FORBIDDEN")));
    let change = change(Some("New"), None, Some(false));
    let made = fixture
        .forge
        .update_pull_request(&fixture.context, &repo(), 7, &change)
        .await;
    let Failure::Partly { done, rest } = expect_failure(made) else {
        panic!("not in part")
    };
    assert_eq!(done, "all but whether it is a draft was changed");
    assert!(matches!(*rest, Failure::GithubErrorResponse(refused) if refused.status == 403));
    assert_ne!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn refused_first_step_has_no_effect() {
    let fixture = GithubFixture::writing().await;
    fixture.respond(
        GET,
        ScriptedResponse::json(200, &pull(json!({ "draft": true }))),
    );
    fixture.respond(
        PATCH,
        ScriptedResponse::new(
            422,
            &[],
            &refusal("No.", "pulls/pulls#update-a-pull-request"),
        ),
    );
    let change = change(Some("New"), None, Some(false));
    let made = fixture
        .forge
        .update_pull_request(&fixture.context, &repo(), 7, &change)
        .await;
    assert_eq!(expect_error_response(made).status, 422);
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn pull_request_is_closed_after_the_draft_change() {
    let fixture = GithubFixture::writing().await;
    fixture.respond(
        GET,
        ScriptedResponse::json(200, &pull(json!({ "draft": false }))),
    );
    fixture.respond(GRAPHQL, toggled(true));
    fixture.respond(
        PATCH,
        ScriptedResponse::json(200, &pull(json!({ "draft": true, "state": "closed" }))),
    );
    let change = change(None, Some(PullState::Closed), Some(true));
    let made = fixture
        .forge
        .update_pull_request(&fixture.context, &repo(), 7, &change)
        .await
        .unwrap();
    assert_eq!((made.draft, made.state), (true, PullState::Closed));
    assert_eq!(fixture.effect(), Effect::Done);
    assert_eq!(fixture.server.lines(), [GET, GRAPHQL, PATCH]);
    fixture.assert_complete();
}

#[tokio::test]
async fn graphql_limit_lasts_as_its_headers_require() {
    let fixture = GithubFixture::writing().await;
    fixture.respond(
        GET,
        ScriptedResponse::json(200, &pull(json!({ "draft": true }))),
    );
    let reset = (NOW + 42).to_string();
    let headers = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", reset.as_str()),
    ];
    let body = json!({ "errors": [{ "type": "RATE_LIMITED", "message": "m" }] });
    fixture.respond(
        GRAPHQL,
        ScriptedResponse::new(200, &headers, body.to_string().as_bytes()),
    );
    let change = change(None, None, Some(false));
    let made = fixture
        .forge
        .update_pull_request(&fixture.context, &repo(), 7, &change)
        .await;
    let refusal = expect_error_response(made);
    assert!(refusal.limited);
    assert_eq!(refusal.retry_after, Some(Duration::from_secs(42)));
    fixture.assert_complete();
}
