//! Redirects: followed within the API and the allow-list, never with the token to somebody else.

use crate::documented::{RENAMED, Recorded, pull};
use crate::scripted::{Play, Scripted};
use crate::stage::{Stage, failed, repo};
use candor_fault::Effect;
use candor_forge::{Denied, Failure, Forge as _, PullChange, RepoName, Unreachable};
use serde_json::json;
use std::sync::Arc;

const REPO: &str = "GET /repos/octo/hello";
const PATCH: &str = "PATCH /repos/octo/hello/pulls/7";

fn moved(status: u16, location: &str) -> Play {
    Play::new(status, &[("location", location)], b"")
}

fn astray(failure: &Failure) -> bool {
    matches!(failure, Failure::Unreachable(Unreachable::Redirect, _))
}

fn change() -> PullChange {
    PullChange {
        title: Some("New".to_owned()),
        ..PullChange::default()
    }
}

#[tokio::test]
async fn a_renamed_repository_is_found_under_its_new_name() {
    let stage = Stage::with(|settings| {
        settings.may = Arc::new(|repo: &RepoName| repo.name() == "rename-repository-newname");
    })
    .await;
    let url = stage.server.url();
    stage.play(REPO, Recorded::of(RENAMED, 0).play(&url));
    // Once to see what it is called now, once for itself; the second time nothing has changed.
    stage.play(
        "GET /repositories/1000",
        Recorded::of(RENAMED, 1).play(&url),
    );
    stage.play("GET /repositories/1000", Play::new(304, &[], b""));
    let found = stage.forge.repository(&stage.turn, &repo()).await.unwrap();
    assert_eq!(
        found.name.to_string(),
        "octokit-fixture-org/rename-repository-newname"
    );
    stage.ends();
}

#[tokio::test]
async fn a_renamed_repository_off_the_list_is_denied() {
    let stage = Stage::with(|settings| {
        settings.may = Arc::new(|repo: &RepoName| repo.owner() == "octo");
    })
    .await;
    let url = stage.server.url();
    stage.play(REPO, Recorded::of(RENAMED, 0).play(&url));
    stage.play(
        "GET /repositories/1000",
        Recorded::of(RENAMED, 1).play(&url),
    );
    let name = RepoName::read("octokit-fixture-org/rename-repository-newname").unwrap();
    let found = stage.forge.repository(&stage.turn, &repo()).await;
    assert_eq!(failed(found), Failure::Denied(Denied::Repository(name)));
    // The same by its name, without a number.
    stage.play(REPO, moved(301, "/repos/other/secret"));
    let found = stage.forge.repository(&stage.turn, &repo()).await;
    let secret = RepoName::read("other/secret").unwrap();
    assert_eq!(failed(found), Failure::Denied(Denied::Repository(secret)));
    stage.ends();
}

#[tokio::test]
async fn another_host_never_sees_the_token() {
    let elsewhere = Scripted::start().await;
    for status in [301, 302, 307, 308] {
        let stage = Stage::writing().await;
        let location = format!("{}/repos/octo/hello", elsewhere.url());
        stage.play(REPO, moved(status, &location));
        assert!(astray(&failed(
            stage.forge.repository(&stage.turn, &repo()).await
        )));
        stage.play(PATCH, moved(status, &location));
        let made = stage
            .forge
            .update_pull_request(&stage.turn, &repo(), 7, &change())
            .await;
        assert!(astray(&failed(made)));
        assert_eq!(stage.effect(), Effect::None);
        stage.ends();
    }
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn a_redirect_to_nowhere_or_out_of_the_repositories_is_not_followed() {
    for play in [
        Play::new(301, &[], b""),
        moved(301, "/user"),
        moved(301, "/repositories/x"),
        moved(302, "/repos/octo/hello/../../../user"),
        moved(302, "mailto:a@b"),
    ] {
        let stage = Stage::reading().await;
        stage.play(REPO, play);
        assert!(astray(&failed(
            stage.forge.repository(&stage.turn, &repo()).await
        )));
        stage.ends();
    }
}

#[tokio::test]
async fn circles_end() {
    let stage = Stage::reading().await;
    for _ in 0..6 {
        stage.play(REPO, moved(302, "/repos/octo/hello"));
    }
    assert!(astray(&failed(
        stage.forge.repository(&stage.turn, &repo()).await
    )));
    stage.ends();
}

#[tokio::test]
async fn a_change_follows_only_where_it_stays_the_same_change() {
    let stage = Stage::writing().await;
    let url = stage.server.url();
    let location = format!("{url}/repositories/1000/pulls/7");
    stage.play(PATCH, moved(307, &location));
    stage.play(
        "GET /repositories/1000",
        Recorded::of(RENAMED, 1).play(&url),
    );
    stage.play(
        "PATCH /repositories/1000/pulls/7",
        Play::json(200, &pull(json!({}))),
    );
    let made = stage
        .forge
        .update_pull_request(&stage.turn, &repo(), 7, &change())
        .await;
    assert_eq!(made.unwrap().number, 1347);
    assert_eq!(stage.effect(), Effect::Done);
    let seen = stage.server.seen();
    assert_eq!(seen[0].body, seen[2].body);
    stage.ends();

    let stage = Stage::writing().await;
    stage.play(PATCH, moved(301, "/repos/octo/hello/pulls/7"));
    let made = stage
        .forge
        .update_pull_request(&stage.turn, &repo(), 7, &change())
        .await;
    assert!(astray(&failed(made)));
    assert_eq!(stage.effect(), Effect::None);
    stage.ends();
}

#[tokio::test]
async fn a_change_is_not_carried_past_the_allow_list() {
    let mut stage = Stage::with(|settings| {
        settings.may = Arc::new(|repo: &RepoName| repo.owner() == "octo");
    })
    .await;
    stage.turn.mark = crate::marks::writing();
    let url = stage.server.url();
    stage.play(PATCH, moved(307, "/repositories/1000/pulls/7"));
    stage.play(
        "GET /repositories/1000",
        Recorded::of(RENAMED, 1).play(&url),
    );
    let made = stage
        .forge
        .update_pull_request(&stage.turn, &repo(), 7, &change())
        .await;
    assert!(matches!(
        failed(made),
        Failure::Denied(Denied::Repository(_))
    ));
    assert_eq!(stage.effect(), Effect::None);
    stage.ends();
}
