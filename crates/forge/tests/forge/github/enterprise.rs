//! An Enterprise server, and nobody's name.

use crate::fixture::github::{GithubFixture, expect_failure, repo, settings};
use crate::github::recorded_answers::{REPOSITORY, Recorded, pull};
use candor_forge::github::{GithubAuthentication, GithubForge, GithubSetupError};
use candor_forge::{Failure, Forge as _, PullRequestChange, UnreachableReason};
use candor_http_client::HttpSetupError;
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::json;

#[tokio::test]
async fn enterprise_server_has_its_apis_below_a_path() {
    let fixture = GithubFixture::writing().await;
    let url = fixture.server.url();
    let forge = GithubForge::new(settings(format!("{url}/api/v3"))).unwrap();
    let get = "GET /api/v3/repos/octo/hello/pulls/7";
    fixture.respond(
        get,
        ScriptedResponse::json(200, &pull(json!({ "draft": true }))),
    );
    let changed = json!({ "pullRequest": { "isDraft": false, "updatedAt": "t" } });
    fixture.respond(
        "POST /api/graphql",
        ScriptedResponse::json(200, &json!({ "data": { "changed": changed } })),
    );
    let change = PullRequestChange {
        draft: Some(false),
        ..PullRequestChange::default()
    };
    let made = forge
        .update_pull_request(&fixture.context, &repo(), 7, &change)
        .await;
    assert!(!made.unwrap().draft);
    // A redirect to a path beside the API leads out of it.
    let line = "GET /api/v3/repos/octo/hello";
    let out = format!("{url}/repos/octo/hello");
    fixture.respond(
        line,
        ScriptedResponse::new(301, &[("location", out.as_str())], b""),
    );
    let found = forge.repository(&fixture.context, &repo()).await;
    let failure = expect_failure(found);
    assert!(matches!(
        failure,
        Failure::Unreachable(UnreachableReason::Redirect, _)
    ));
    fixture.server.assert_complete();
}

#[tokio::test]
async fn request_without_token_is_anonymous() {
    let fixture =
        GithubFixture::with(|settings| settings.authentication = GithubAuthentication::Anonymous)
            .await;
    let repository = ScriptedResponse::json(200, Recorded::of(REPOSITORY, 0).body());
    fixture.respond("GET /repos/octo/hello", repository);
    assert!(
        fixture
            .forge
            .repository(&fixture.context, &repo())
            .await
            .is_ok()
    );
    assert_eq!(fixture.server.seen()[0].header("authorization"), None);
    fixture.server.assert_complete();
}

#[test]
fn unusable_settings_are_refused() {
    let refused = |url: &str| GithubForge::new(settings(url.to_owned())).unwrap_err();
    assert_eq!(
        refused("github.com"),
        GithubSetupError::Http(HttpSetupError::InvalidUrl)
    );
    assert_eq!(
        refused("http://github.com"),
        GithubSetupError::Http(HttpSetupError::Unencrypted)
    );
    let mut nobody = settings("http://127.0.0.1:1".to_owned());
    nobody.user_agent = String::new();
    assert_eq!(
        GithubForge::new(nobody).unwrap_err(),
        GithubSetupError::UserAgent
    );
}
