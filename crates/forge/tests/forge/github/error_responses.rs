//! Refusals: what each status and header means, which of them are asked again, and that words mean
//! nothing.

use crate::fixture::github::{GithubFixture, NOW, expect_error_response, repo};
use crate::github::recorded_answers::{INVALID, REPOSITORY, Recorded, refusal};
use candor_fault::Effect;
use candor_forge::{
    Forge as _, GithubErrorResponse, MissingItem, NewPullRequest, Paging, RequestKind,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::json;
use std::time::Duration;

const REPO: &str = "GET /repos/octo/hello";
const PLAIN: &str = "repos/repos#get-a-repository";
const LIMITS: &str = "using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits";

/// Reads a repository with these responses one after the other.
async fn read(responses: Vec<ScriptedResponse>) -> (GithubErrorResponse, usize) {
    let fixture = GithubFixture::reading().await;
    for respond in responses {
        fixture.respond(REPO, respond);
    }
    let found = fixture.forge.repository(&fixture.context, &repo()).await;
    fixture.assert_complete();
    (expect_error_response(found), fixture.server.lines().len())
}

#[tokio::test]
async fn each_status_keeps_its_facts() {
    for status in [400, 401, 403, 404, 405, 409, 410, 422, 429, 451] {
        let body = refusal("Said by GitHub", PLAIN);
        let (refusal, asked) = read(vec![ScriptedResponse::new(status, &[], &body)]).await;
        let expected = GithubErrorResponse {
            status,
            step: RequestKind::Read,
            missing: MissingItem::Repository,
            message: Some("Said by GitHub".to_owned()),
            errors: None,
            limited: status == 429,
            retry_after: None,
            sso_url: None,
        };
        assert_eq!((refusal, asked), (expected, 1));
    }
}

#[tokio::test]
async fn server_error_is_tried_three_times() {
    for status in [500, 502, 503, 504] {
        let page = ScriptedResponse::new(
            status,
            &[("content-type", "text/html")],
            b"<html>Unicorn! rate limit</html>",
        );
        let (refusal, asked) = read(vec![page; 3]).await;
        assert_eq!((refusal.status, asked), (status, 3));
        assert_eq!((refusal.message, refusal.limited), (None, false));
    }
}

#[tokio::test]
async fn passing_server_error_is_hidden() {
    let fixture = GithubFixture::reading().await;
    fixture.respond(REPO, ScriptedResponse::new(502, &[], b"<html>"));
    fixture.respond(
        REPO,
        ScriptedResponse::new(503, &[("retry-after", "0")], b""),
    );
    fixture.respond(
        REPO,
        ScriptedResponse::json(200, Recorded::of(REPOSITORY, 0).body()),
    );
    assert!(
        fixture
            .forge
            .repository(&fixture.context, &repo())
            .await
            .is_ok()
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn primary_limit_lasts_until_its_reset() {
    let reset = (NOW + 1234).to_string();
    let headers = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", reset.as_str()),
    ];
    let body = refusal(
        "API rate limit exceeded for 127.0.0.1.",
        "overview/rate-limits-for-the-rest-api",
    );
    for status in [403, 429] {
        let (refusal, asked) = read(vec![ScriptedResponse::new(status, &headers, &body)]).await;
        assert!(refusal.limited);
        assert_eq!(refusal.retry_after, Some(Duration::from_secs(1234)));
        assert_eq!(asked, 1, "longer than anybody waits");
    }
}

#[tokio::test]
async fn secondary_limit_is_recognised_with_and_without_headers() {
    let body = refusal("You have exceeded a secondary rate limit.", LIMITS);
    let (with, asked) = read(vec![ScriptedResponse::new(
        403,
        &[("retry-after", "60")],
        &body,
    )])
    .await;
    assert!(with.limited);
    assert_eq!(
        (with.retry_after, asked),
        (Some(Duration::from_secs(60)), 1)
    );
    let (without, asked) = read(vec![ScriptedResponse::new(403, &[], &body)]).await;
    assert!(without.limited);
    assert_eq!(
        (without.retry_after, asked),
        (None, 1),
        "nobody said how long"
    );
}

#[tokio::test]
async fn short_retry_after_is_waited_for() {
    let fixture = GithubFixture::reading().await;
    let body = refusal("You have exceeded a secondary rate limit.", LIMITS);
    fixture.respond(
        REPO,
        ScriptedResponse::new(429, &[("retry-after", "1")], &body),
    );
    fixture.respond(
        REPO,
        ScriptedResponse::json(200, Recorded::of(REPOSITORY, 0).body()),
    );
    let begun = std::time::Instant::now();
    assert!(
        fixture
            .forge
            .repository(&fixture.context, &repo())
            .await
            .is_ok()
    );
    assert!(begun.elapsed() >= Duration::from_secs(1));
    fixture.assert_complete();
}

#[tokio::test]
async fn message_does_not_decide_the_failure() {
    for words in [
        "rate limit",
        "not found",
        "validation failed",
        "abuse detection",
        "Bad credentials",
    ] {
        let (refusal, asked) = read(vec![ScriptedResponse::new(
            403,
            &[],
            &refusal(words, PLAIN),
        )])
        .await;
        assert_eq!((refusal.limited, refusal.status, asked), (false, 403, 1));
        // Nor do a user's own words in what is asked for.
        let fixture = GithubFixture::reading().await;
        let query = words.replace(' ', "%20");
        let line = format!("GET /search/repositories?q={query}&per_page=1&page=1");
        fixture.respond(
            &line,
            ScriptedResponse::new(
                403,
                &[],
                &crate::github::recorded_answers::refusal("No.", PLAIN),
            ),
        );
        let paging = Paging {
            page: 1,
            per_page: 1,
        };
        let found = fixture.forge.search(&fixture.context, words, paging).await;
        assert!(!expect_error_response(found).limited);
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn refused_change_has_no_effect() {
    let new = NewPullRequest {
        title: "rate limit".to_owned(),
        head_owner: None,
        head: "not-found".to_owned(),
        base: "main".to_owned(),
        body: None,
        draft: false,
    };
    let line = "POST /repos/octo/hello/pulls";
    for (status, headers, effect) in [
        (400, vec![], Effect::None),
        (401, vec![], Effect::None),
        (403, vec![], Effect::None),
        (403, vec![("retry-after", "1")], Effect::None),
        (404, vec![], Effect::None),
        (409, vec![], Effect::None),
        (410, vec![], Effect::None),
        (429, vec![("retry-after", "1")], Effect::None),
        (451, vec![], Effect::None),
        (500, vec![], Effect::Unknown),
        (502, vec![("retry-after", "0")], Effect::Unknown),
    ] {
        let fixture = GithubFixture::writing().await;
        fixture.respond(
            line,
            ScriptedResponse::new(status, &headers, &refusal("No.", PLAIN)),
        );
        let made = fixture
            .forge
            .create_pull_request(&fixture.context, &repo(), &new)
            .await;
        let refusal = expect_error_response(made);
        assert_eq!((refusal.status, refusal.step), (status, RequestKind::Write));
        assert_eq!(fixture.effect(), effect, "{status}");
        assert_eq!(fixture.server.lines().len(), 1, "never sent twice");
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn errors_are_passed_on() {
    let fixture = GithubFixture::writing().await;
    let recorded = Recorded::of(INVALID, 0);
    fixture.respond(
        "DELETE /repos/octo/hello/git/refs/heads/b",
        recorded.respond(&fixture.server.url()),
    );
    let refusal = expect_error_response(
        fixture
            .forge
            .delete_branch(&fixture.context, &repo(), "b")
            .await,
    );
    assert_eq!(refusal.message.as_deref(), Some("Validation Failed"));
    let errors = json!([{ "resource": "Label", "code": "invalid", "field": "color" }]);
    assert_eq!(refusal.errors, Some(Box::new(errors)));
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}
