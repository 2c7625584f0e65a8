//! Tokens of callers: each call is sent with its own, and nothing is remembered for another.

use crate::fixture::github::{GithubFixture, expect_failure, repo};
use crate::github::recorded_answers::{REPOSITORY, Recorded};
use candor_forge::github::GithubAuthentication;
use candor_forge::{BackendContext, DenialReason, Failure, Forge as _, Revision};
use candor_street::CallerToken;
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::json;

const READ: &str = "GET /repos/octo/hello";

async fn fixture() -> GithubFixture {
    GithubFixture::with(|settings| settings.authentication = GithubAuthentication::Caller).await
}

fn context(fixture: &GithubFixture, token: &str) -> BackendContext {
    let mut context = fixture.context.clone();
    context.caller = CallerToken::new(token);
    context
}

fn tagged(etag: &str) -> ScriptedResponse {
    let body = Recorded::of(REPOSITORY, 0).body().to_string();
    ScriptedResponse::new(200, &[("etag", etag)], body.as_bytes())
}

#[tokio::test]
async fn response_is_cached_for_the_token_that_could_read_it() {
    let fixture = fixture().await;
    let (one, other) = (
        context(&fixture, "token-of-one"),
        context(&fixture, "token-of-another"),
    );
    fixture
        .respond(READ, tagged("\"1\""))
        .respond(READ, ScriptedResponse::new(304, &[], b""))
        .respond(READ, ScriptedResponse::json(404, &json!({})))
        .respond(READ, ScriptedResponse::new(304, &[], b""));
    let read = |context: BackendContext| {
        let forge = &fixture.forge;
        async move { forge.repository(&context, &repo()).await }
    };
    assert!(read(one.clone()).await.is_ok());
    assert!(read(one.clone()).await.is_ok());
    assert!(read(other).await.is_err());
    assert!(read(one).await.is_ok());
    fixture.server.assert_complete();
    let seen = fixture.server.seen();
    let sent: Vec<_> = seen
        .iter()
        .map(|request| {
            let token = request.header("authorization").unwrap();
            (token, request.header("if-none-match"))
        })
        .collect();
    assert_eq!(
        sent,
        [
            ("Bearer token-of-one", None),
            ("Bearer token-of-one", Some("\"1\"")),
            ("Bearer token-of-another", None),
            ("Bearer token-of-one", Some("\"1\"")),
        ]
    );
}

/// Two callers ask for the same resource at the same time; each gets the answer to its own token.
#[tokio::test]
async fn concurrent_callers_get_their_own_answers() {
    let server = candor_testkit::scripted_http::ScriptedServer::start(|request| {
        let token = request.header("authorization").unwrap().to_owned();
        let name = token.strip_prefix("Bearer token-of-").unwrap().to_owned();
        ScriptedResponse::new(200, &[("etag", "\"same\"")], name.as_bytes())
    })
    .await;
    let fixture = GithubFixture::with(|settings| {
        settings.authentication = GithubAuthentication::Caller;
        settings.api_url = server.url();
    })
    .await;
    for _ in 0..20 {
        let contexts = ["one", "two", "three", "four"]
            .map(|name| (name, context(&fixture, &format!("token-of-{name}"))));
        let reads = contexts.iter().map(|(name, context)| {
            let forge = &fixture.forge;
            async move {
                let read = forge.readme(context, &repo(), 1000).await;
                assert_eq!(read, Ok(Some((name.as_bytes().to_vec(), false))));
            }
        });
        futures_util::future::join_all(reads).await;
    }
}

/// A budget of retries that one caller has used up is still there for another.
#[tokio::test(start_paused = true)]
async fn retries_are_counted_by_token() {
    let server = candor_testkit::scripted_http::ScriptedServer::start(|_| {
        ScriptedResponse::json(502, &json!({}))
    })
    .await;
    let fixture = GithubFixture::with(|settings| {
        settings.authentication = GithubAuthentication::Caller;
        settings.api_url = server.url();
    })
    .await;
    let count = async |token: &str| {
        let before = server.seen().len();
        let context = context(&fixture, token);
        expect_failure(fixture.forge.repository(&context, &repo()).await);
        server.seen().len() - before
    };
    let mut of_one = Vec::new();
    for _ in 0..20 {
        of_one.push(count("token-of-one").await);
    }
    assert_eq!((of_one[0], of_one[19]), (3, 1), "{of_one:?}");
    assert_eq!(count("token-of-another").await, 3);
}

#[tokio::test]
async fn call_without_a_token_reaches_nothing() {
    let fixture = fixture().await;
    let read = fixture.forge.repository(&fixture.context, &repo()).await;
    assert_eq!(
        expect_failure(read),
        Failure::Denied(DenialReason::CallerToken)
    );
    fixture.server.assert_complete();
}

/// The token of another caller is known to this process, so it is removed from data too.
#[tokio::test]
async fn token_of_another_caller_is_redacted() {
    let fixture = fixture().await;
    let line = "GET /repos/octo/hello/readme";
    let text = "canary-of-one canary-of-another";
    fixture
        .respond(line, ScriptedResponse::new(200, &[], b""))
        .respond(line, ScriptedResponse::new(200, &[], text.as_bytes()));
    let one = context(&fixture, "canary-of-one");
    let read = fixture.forge.readme(&one, &repo(), 100).await;
    assert!(read.is_ok());
    let other = context(&fixture, "canary-of-another");
    let read = fixture.forge.readme(&other, &repo(), 100).await;
    assert_eq!(read, Ok(Some((b"[redacted] [redacted]".to_vec(), false))));
    fixture.respond(
        "GET /repos/octo/hello/commits?per_page=1&page=1",
        ScriptedResponse::json(403, &json!({ "message": text })),
    );
    let paging = candor_forge::Paging {
        page: 1,
        per_page: 1,
    };
    let refused = fixture
        .forge
        .commits(&other, &repo(), &Revision::Default, paging)
        .await;
    expect_failure(refused);
    fixture.server.assert_complete();
}
