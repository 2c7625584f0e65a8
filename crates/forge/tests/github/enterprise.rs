//! An Enterprise server, and nobody's name.

use crate::documented::{REPOSITORY, Recorded, pull};
use crate::scripted::Play;
use crate::stage::{Stage, failed, repo, settings};
use candor_forge::github::{GithubForge, SetupError};
use candor_forge::{Failure, Forge as _, PullChange, Unreachable};
use candor_http_client::HttpSetupError;
use serde_json::json;

#[tokio::test]
async fn an_enterprise_server_has_its_apis_below_a_path() {
    let stage = Stage::writing().await;
    let url = stage.server.url();
    let forge = GithubForge::new(settings(format!("{url}/api/v3"))).unwrap();
    let get = "GET /api/v3/repos/octo/hello/pulls/7";
    stage.play(get, Play::json(200, &pull(json!({ "draft": true }))));
    let changed = json!({ "pullRequest": { "isDraft": false, "updatedAt": "t" } });
    stage.play(
        "POST /api/graphql",
        Play::json(200, &json!({ "data": { "changed": changed } })),
    );
    let change = PullChange {
        draft: Some(false),
        ..PullChange::default()
    };
    let made = forge
        .update_pull_request(&stage.turn, &repo(), 7, &change)
        .await;
    assert!(!made.unwrap().draft);
    // A redirect to a path beside the API leads out of it.
    let line = "GET /api/v3/repos/octo/hello";
    let out = format!("{url}/repos/octo/hello");
    stage.play(line, Play::new(301, &[("location", out.as_str())], b""));
    let found = forge.repository(&stage.turn, &repo()).await;
    let failure = failed(found);
    assert!(matches!(
        failure,
        Failure::Unreachable(Unreachable::Redirect, _)
    ));
    stage.server.assert_played();
}

#[tokio::test]
async fn without_a_token_nothing_is_shown() {
    let stage = Stage::with(|settings| settings.token = None).await;
    let repository = Play::json(200, Recorded::of(REPOSITORY, 0).body());
    stage.play("GET /repos/octo/hello", repository);
    assert!(stage.forge.repository(&stage.turn, &repo()).await.is_ok());
    assert_eq!(stage.server.seen()[0].header("authorization"), None);
    stage.server.assert_played();
}

#[test]
fn what_cannot_be_asked_is_refused_at_once() {
    let refused = |url: &str| GithubForge::new(settings(url.to_owned())).unwrap_err();
    assert_eq!(
        refused("github.com"),
        SetupError::Http(HttpSetupError::InvalidUrl)
    );
    assert_eq!(
        refused("http://github.com"),
        SetupError::Http(HttpSetupError::Unencrypted)
    );
    let mut nobody = settings("http://127.0.0.1:1".to_owned());
    nobody.user_agent = String::new();
    assert_eq!(GithubForge::new(nobody).unwrap_err(), SetupError::UserAgent);
}
