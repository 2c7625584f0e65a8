//! Redirects: followed within the API and the allow-list, never with the token to somebody else.

use crate::fixture::github::{GithubFixture, expect_failure, repo};
use crate::fixture::scripted_server::ScriptedServer;
use crate::github::recorded_answers::{RENAMED, Recorded, pull};
use candor_call_fixtures::writing_mark;
use candor_fault::Effect;
use candor_forge::{
    DenialReason, Failure, Forge as _, PullRequestChange, RepoName, UnreachableReason,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::json;
use std::sync::Arc;

const REPO: &str = "GET /repos/octo/hello";
const PATCH: &str = "PATCH /repos/octo/hello/pulls/7";

fn moved(status: u16, location: &str) -> ScriptedResponse {
    ScriptedResponse::new(status, &[("location", location)], b"")
}

fn astray(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::Unreachable(UnreachableReason::Redirect, _)
    )
}

fn change() -> PullRequestChange {
    PullRequestChange {
        title: Some("New".to_owned()),
        ..PullRequestChange::default()
    }
}

#[tokio::test]
async fn renamed_repository_is_found_under_its_new_name() {
    let fixture = GithubFixture::with(|settings| {
        settings.allows_repo =
            Arc::new(|repo: &RepoName| repo.name() == "rename-repository-newname");
    })
    .await;
    let url = fixture.server.url();
    fixture.respond(REPO, Recorded::of(RENAMED, 0).respond(&url));
    // Once to see what it is called now, once for itself; the second time nothing has changed.
    fixture.respond(
        "GET /repositories/1000",
        Recorded::of(RENAMED, 1).respond(&url),
    );
    fixture.respond(
        "GET /repositories/1000",
        ScriptedResponse::new(304, &[], b""),
    );
    let found = fixture
        .forge
        .repository(&fixture.context, &repo())
        .await
        .unwrap();
    assert_eq!(
        found.name.to_string(),
        "octokit-fixture-org/rename-repository-newname"
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn renamed_repository_off_the_list_is_denied() {
    let fixture = GithubFixture::with(|settings| {
        settings.allows_repo = Arc::new(|repo: &RepoName| repo.owner() == "octo");
    })
    .await;
    let url = fixture.server.url();
    fixture.respond(REPO, Recorded::of(RENAMED, 0).respond(&url));
    fixture.respond(
        "GET /repositories/1000",
        Recorded::of(RENAMED, 1).respond(&url),
    );
    let name = RepoName::parse("octokit-fixture-org/rename-repository-newname").unwrap();
    let found = fixture.forge.repository(&fixture.context, &repo()).await;
    assert_eq!(
        expect_failure(found),
        Failure::Denied(DenialReason::Repository(name))
    );
    // The same by its name, without a number.
    fixture.respond(REPO, moved(301, "/repos/other/secret"));
    let found = fixture.forge.repository(&fixture.context, &repo()).await;
    let secret = RepoName::parse("other/secret").unwrap();
    assert_eq!(
        expect_failure(found),
        Failure::Denied(DenialReason::Repository(secret))
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn another_host_never_sees_the_token() {
    let elsewhere = ScriptedServer::start().await;
    for status in [301, 302, 307, 308] {
        let fixture = GithubFixture::writing().await;
        let location = format!("{}/repos/octo/hello", elsewhere.url());
        fixture.respond(REPO, moved(status, &location));
        assert!(astray(&expect_failure(
            fixture.forge.repository(&fixture.context, &repo()).await
        )));
        fixture.respond(PATCH, moved(status, &location));
        let made = fixture
            .forge
            .update_pull_request(&fixture.context, &repo(), 7, &change())
            .await;
        assert!(astray(&expect_failure(made)));
        assert_eq!(fixture.effect(), Effect::None);
        fixture.assert_complete();
    }
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn redirect_out_of_the_repositories_is_not_followed() {
    for respond in [
        ScriptedResponse::new(301, &[], b""),
        moved(301, "/user"),
        moved(301, "/repositories/x"),
        moved(302, "/repos/octo/hello/../../../user"),
        moved(302, "mailto:a@b"),
    ] {
        let fixture = GithubFixture::reading().await;
        fixture.respond(REPO, respond);
        assert!(astray(&expect_failure(
            fixture.forge.repository(&fixture.context, &repo()).await
        )));
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn redirect_loop_ends() {
    let fixture = GithubFixture::reading().await;
    for _ in 0..6 {
        fixture.respond(REPO, moved(302, "/repos/octo/hello"));
    }
    assert!(astray(&expect_failure(
        fixture.forge.repository(&fixture.context, &repo()).await
    )));
    fixture.assert_complete();
}

#[tokio::test]
async fn change_follows_only_method_preserving_redirects() {
    let fixture = GithubFixture::writing().await;
    let url = fixture.server.url();
    let location = format!("{url}/repositories/1000/pulls/7");
    fixture.respond(PATCH, moved(307, &location));
    fixture.respond(
        "GET /repositories/1000",
        Recorded::of(RENAMED, 1).respond(&url),
    );
    fixture.respond(
        "PATCH /repositories/1000/pulls/7",
        ScriptedResponse::json(200, &pull(json!({}))),
    );
    let made = fixture
        .forge
        .update_pull_request(&fixture.context, &repo(), 7, &change())
        .await;
    assert_eq!(made.unwrap().number, 1347);
    assert_eq!(fixture.effect(), Effect::Done);
    let seen = fixture.server.seen();
    assert_eq!(seen[0].body, seen[2].body);
    fixture.assert_complete();

    let fixture = GithubFixture::writing().await;
    fixture.respond(PATCH, moved(301, "/repos/octo/hello/pulls/7"));
    let made = fixture
        .forge
        .update_pull_request(&fixture.context, &repo(), 7, &change())
        .await;
    assert!(astray(&expect_failure(made)));
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn redirected_change_stays_within_the_allow_list() {
    let mut fixture = GithubFixture::with(|settings| {
        settings.allows_repo = Arc::new(|repo: &RepoName| repo.owner() == "octo");
    })
    .await;
    fixture.context.mark = writing_mark();
    let url = fixture.server.url();
    fixture.respond(PATCH, moved(307, "/repositories/1000/pulls/7"));
    fixture.respond(
        "GET /repositories/1000",
        Recorded::of(RENAMED, 1).respond(&url),
    );
    let made = fixture
        .forge
        .update_pull_request(&fixture.context, &repo(), 7, &change())
        .await;
    assert!(matches!(
        expect_failure(made),
        Failure::Denied(DenialReason::Repository(_))
    ));
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}
