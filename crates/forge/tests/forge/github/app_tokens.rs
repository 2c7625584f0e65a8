//! The tokens of a GitHub app: bought once, kept until shortly before their end, bought again after a
//! refusal, and shown to nobody.
//!
//! The scripted answers follow the page "REST API endpoints for GitHub Apps" of GitHub's documentation.

use crate::fixture::github::{
    GithubFixture, NOW, expect_error_response, expect_failure, repo, settings,
};
use crate::github::openapi::assert_described;
use crate::github::recorded_answers::{REPOSITORY, Recorded};
use candor_call_fixtures::writing_mark;
use candor_fault::{Effect, Timestamp};
use candor_forge::github::{AppKey, GithubApp, GithubAuthentication, GithubForge};
use candor_forge::{DenialReason, Failure, Forge as _, NewPullRequest, Paging};
use candor_testkit::APP_KEY_PKCS1;
use candor_testkit::scripted_http::{RecordedRequest, ScriptedResponse};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const LOOKUP: &str = "GET /repos/octo/hello/installation";
const PURCHASE: &str = "POST /app/installations/7/access_tokens";
const READ: &str = "GET /repos/octo/hello";

fn app(installation: Option<u64>) -> GithubAuthentication {
    GithubAuthentication::App(Box::new(GithubApp {
        id: "42".to_owned(),
        key: AppKey::from_pem(APP_KEY_PKCS1).unwrap(),
        installation,
    }))
}

async fn fixture(installation: Option<u64>) -> GithubFixture {
    let mut fixture =
        GithubFixture::with(|settings| settings.authentication = app(installation)).await;
    fixture.context.repo = Some(repo());
    fixture
}

fn installation() -> ScriptedResponse {
    ScriptedResponse::json(200, &json!({ "id": 7, "account": { "login": "octo" } }))
}

/// Returns the answer to a purchase. The token ends this many seconds after the time of the tests.
fn token(name: &str, seconds: i64) -> ScriptedResponse {
    let expires = Timestamp::from_second(NOW + seconds).unwrap();
    let token = format!("ghs_canary{name}");
    let body = json!({ "token": token, "expires_at": expires.to_string(), "permissions": {} });
    ScriptedResponse::json(201, &body)
}

fn repository() -> ScriptedResponse {
    ScriptedResponse::json(200, Recorded::of(REPOSITORY, 0).body())
}

fn refusal(message: &str) -> ScriptedResponse {
    ScriptedResponse::json(401, &json!({ "message": message }))
}

fn bearer(request: &RecordedRequest) -> &str {
    let header = request.header("authorization").unwrap();
    header.strip_prefix("Bearer ").unwrap()
}

/// Returns the tokens of all requests with this line.
fn tokens_of(fixture: &GithubFixture, line: &str) -> Vec<String> {
    let seen = fixture.server.seen();
    let seen = seen.iter().filter(|request| request.line() == line);
    seen.map(|request| bearer(request).to_owned()).collect()
}

/// Returns the claims of a JSON web token.
fn claims(token: &str) -> Value {
    use base64::Engine as _;
    let part = token.split('.').nth(1).unwrap();
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    serde_json::from_slice(&engine.decode(part).unwrap()).unwrap()
}

fn assert_complete(fixture: &GithubFixture) {
    fixture.server.assert_complete();
    fixture.server.seen().iter().for_each(assert_described);
}

#[tokio::test]
async fn token_is_bought_once_for_concurrent_calls() {
    let fixture = fixture(None).await;
    fixture
        .respond(LOOKUP, installation())
        .respond(PURCHASE, token("One", 3600));
    for _ in 0..5 {
        fixture.respond(READ, repository());
    }
    let repo = repo();
    let read = || fixture.forge.repository(&fixture.context, &repo);
    let all = tokio::join!(read(), read(), read(), read());
    assert!(all.0.is_ok() && all.1.is_ok() && all.2.is_ok() && all.3.is_ok());
    assert!(read().await.is_ok());
    assert_eq!(tokens_of(&fixture, READ), ["ghs_canaryOne"; 5]);
    let jwt = tokens_of(&fixture, PURCHASE).remove(0);
    assert_eq!(
        claims(&jwt),
        json!({ "iat": NOW - 60, "exp": NOW + 480, "iss": "42" })
    );
    assert_complete(&fixture);
}

#[tokio::test]
async fn failed_purchase_is_shared_by_those_who_wait() {
    let fixture = fixture(Some(7)).await;
    fixture.respond(PURCHASE, ScriptedResponse::json(403, &json!({})));
    let repo = repo();
    let read = || fixture.forge.repository(&fixture.context, &repo);
    let both = tokio::join!(read(), read());
    assert_eq!(expect_error_response(both.0).status, 403);
    assert_eq!(expect_error_response(both.1).status, 403);
    fixture
        .respond(PURCHASE, token("Later", 3600))
        .respond(READ, repository());
    assert!(read().await.is_ok());
    assert_complete(&fixture);
}

#[tokio::test]
async fn token_is_replaced_five_minutes_before_its_end() {
    let now = Arc::new(AtomicI64::new(NOW));
    let clock = Arc::clone(&now);
    let mut fixture = GithubFixture::with(|settings| {
        settings.authentication = app(Some(7));
        settings.clock =
            Arc::new(move || Timestamp::from_second(clock.load(Ordering::Relaxed)).unwrap());
    })
    .await;
    fixture.context.repo = Some(repo());
    fixture
        .respond(PURCHASE, token("One", 3600))
        .respond(PURCHASE, token("Two", 7200));
    for seconds in [0, 3299, 3300] {
        now.store(NOW + seconds, Ordering::Relaxed);
        fixture.respond(READ, repository());
        let read = fixture.forge.repository(&fixture.context, &repo()).await;
        assert!(read.is_ok());
    }
    assert_eq!(
        tokens_of(&fixture, READ),
        ["ghs_canaryOne", "ghs_canaryOne", "ghs_canaryTwo"]
    );
    assert_complete(&fixture);
}

#[tokio::test]
async fn refused_token_is_bought_once_more() {
    let fixture = fixture(Some(7)).await;
    fixture
        .respond(PURCHASE, token("One", 3600))
        .respond(READ, refusal("Bad credentials"))
        .respond(PURCHASE, token("Two", 3600))
        .respond(READ, repository());
    let read = || async { fixture.forge.repository(&fixture.context, &repo()).await };
    assert!(read().await.is_ok());
    assert_eq!(
        tokens_of(&fixture, READ),
        ["ghs_canaryOne", "ghs_canaryTwo"]
    );
    fixture
        .respond(READ, refusal("Bad credentials ghs_canaryTwo"))
        .respond(PURCHASE, token("Three", 3600))
        .respond(READ, refusal("Bad credentials ghs_canaryThree"));
    let refused = expect_error_response(read().await);
    assert_eq!(
        refused.message.as_deref(),
        Some("Bad credentials [redacted]")
    );
    assert_complete(&fixture);
}

#[tokio::test]
async fn refused_change_is_sent_again_with_a_new_token() {
    let mut fixture = fixture(Some(7)).await;
    fixture.context.mark = writing_mark();
    let create = "POST /repos/octo/hello/pulls";
    fixture
        .respond(PURCHASE, token("One", 3600))
        .respond(create, refusal("Bad credentials"))
        .respond(PURCHASE, token("Two", 3600))
        .respond(create, refusal("Bad credentials"));
    let new = NewPullRequest {
        title: "t".to_owned(),
        head: "h".to_owned(),
        head_owner: None,
        base: "main".to_owned(),
        body: None,
        draft: false,
    };
    let created = fixture
        .forge
        .create_pull_request(&fixture.context, &repo(), &new)
        .await;
    assert_eq!(expect_error_response(created).status, 401);
    assert_eq!(fixture.effect(), Effect::None);
    assert_eq!(
        tokens_of(&fixture, create),
        ["ghs_canaryOne", "ghs_canaryTwo"]
    );
    assert_complete(&fixture);
}

/// The server's clock is five minutes ahead of GitHub's, so the first token is not valid yet.
#[tokio::test]
async fn clock_that_is_off_is_corrected_by_the_date_of_the_refusal() {
    let fixture = fixture(Some(7)).await;
    let early = ScriptedResponse::new(
        401,
        &[("date", "Tue, 14 Nov 2023 22:08:20 GMT")],
        br#"{"message":"'Issued at' claim ('iat') must be an Integer in the past"}"#,
    );
    fixture
        .respond(PURCHASE, early)
        .respond(PURCHASE, token("One", 3300))
        .respond(READ, repository());
    let read = fixture.forge.repository(&fixture.context, &repo()).await;
    assert!(read.is_ok());
    let issued: Vec<Value> = tokens_of(&fixture, PURCHASE)
        .iter()
        .map(|jwt| claims(jwt)["iat"].clone())
        .collect();
    assert_eq!(issued, [json!(NOW - 60), json!(NOW - 360)]);
    assert_complete(&fixture);
}

#[tokio::test]
async fn refused_key_is_not_tried_again_without_a_reason() {
    let fixture = fixture(Some(7)).await;
    let date = [("date", "Tue, 14 Nov 2023 22:13:21 GMT")];
    let body = br#"{"message":"A JSON web token could not be decoded"}"#;
    fixture.respond(PURCHASE, ScriptedResponse::new(401, &date, body));
    let read = fixture.forge.repository(&fixture.context, &repo()).await;
    assert_eq!(expect_error_response(read).status, 401);
    assert_complete(&fixture);
}

#[tokio::test]
async fn removed_installation_is_denied() {
    let missing = || ScriptedResponse::json(404, &json!({ "message": "Not Found" }));
    let named = fixture(Some(7)).await;
    named
        .respond(PURCHASE, token("One", 3600))
        .respond(READ, refusal("Bad credentials"))
        .respond(PURCHASE, missing());
    let read = named.forge.repository(&named.context, &repo()).await;
    assert_eq!(
        expect_failure(read),
        Failure::Denied(DenialReason::InstallationGone(7))
    );
    assert_complete(&named);
    let found = fixture(None).await;
    found
        .respond(LOOKUP, missing())
        .respond("GET /orgs/octo/installation", missing())
        .respond("GET /users/octo/installation", missing());
    let read = found.forge.repository(&found.context, &repo()).await;
    let denied = Failure::Denied(DenialReason::NotInstalled("octo".to_owned()));
    assert_eq!(expect_failure(read), denied);
    found
        .respond(LOOKUP, missing())
        .respond("GET /orgs/octo/installation", installation())
        .respond(PURCHASE, missing());
    let read = found.forge.repository(&found.context, &repo()).await;
    assert_eq!(expect_failure(read), denied);
    assert_complete(&found);
}

#[tokio::test]
async fn search_needs_an_installation() {
    let mut without = fixture(None).await;
    without.context.repo = None;
    let paging = Paging {
        page: 1,
        per_page: 30,
    };
    let found = without.forge.search(&without.context, "x", paging).await;
    assert_eq!(
        expect_failure(found),
        Failure::Denied(DenialReason::InstallationNeeded)
    );
    assert_complete(&without);
    let mut with = fixture(Some(7)).await;
    with.context.repo = None;
    with.respond(PURCHASE, token("One", 3600)).respond(
        "GET /search/repositories?q=x&per_page=30&page=1",
        ScriptedResponse::json(
            200,
            &json!({ "total_count": 0, "incomplete_results": false, "items": [] }),
        ),
    );
    let found = with.forge.search(&with.context, "x", paging).await;
    assert!(found.is_ok(), "{found:?}");
    assert_complete(&with);
}

/// The answers to a purchase that cannot be used, and texts that repeat what was sent.
#[tokio::test]
async fn nothing_of_an_app_is_shown() {
    let fixture = fixture(Some(7)).await;
    let shown = format!("{:?} {:?}", fixture.forge, app(Some(7)));
    assert!(!shown.contains("PRIVATE"), "{shown}");
    let expires = "2023-11-14T23:13:20Z";
    for body in [
        json!({ "token": "ghs_canary\u{7}", "expires_at": expires }),
        json!({ "token": "ghs_canaryOne", "expires_at": "ghs_canaryOne" }),
        json!({ "token": ["ghs_canaryOne"], "expires_at": expires }),
        json!("ghs_canaryOne"),
    ] {
        fixture.respond(PURCHASE, ScriptedResponse::json(201, &body));
        let failure = expect_failure(fixture.forge.repository(&fixture.context, &repo()).await);
        assert!(matches!(failure, Failure::Unreachable(..)), "{failure:?}");
    }
    fixture.respond(
        PURCHASE,
        ScriptedResponse::new(302, &[("location", "https://evil.example")], b""),
    );
    expect_failure(fixture.forge.repository(&fixture.context, &repo()).await);
    // A proxy repeats the JSON web token in its refusal.
    let script = candor_testkit::scripted_http::ScriptedServer::start(|request| {
        let sent = request.header("authorization").unwrap();
        let sent = sent.strip_prefix("Bearer ").unwrap();
        ScriptedResponse::json(403, &json!({ "message": format!("refused: {sent}.") }))
    })
    .await;
    let mut echoing = settings(script.url());
    echoing.authentication = app(Some(7));
    let forge = GithubForge::new(echoing).unwrap();
    let refused = expect_error_response(forge.repository(&fixture.context, &repo()).await);
    assert_eq!(refused.message.as_deref(), Some("refused: [redacted]."));
}
