//! Answers that GitHub calls unchanged.

use crate::documented::{REPOSITORY, Recorded};
use crate::scripted::Play;
use crate::stage::{Stage, answered, repo};
use candor_forge::{Forge as _, Paging};
use serde_json::json;

const REPO: &str = "GET /repos/octo/hello";

#[tokio::test]
async fn an_unchanged_answer_is_the_one_from_before() {
    let stage = Stage::reading().await;
    let tagged = Recorded::of(REPOSITORY, 0).body().to_string();
    stage.play(
        REPO,
        Play::new(200, &[("etag", "W/\"1\"")], tagged.as_bytes()),
    );
    stage.play(REPO, Play::new(304, &[("etag", "W/\"1\"")], b""));
    stage.play(REPO, Play::json(404, &json!({})));
    let first = stage.forge.repository(&stage.turn, &repo()).await.unwrap();
    let second = stage.forge.repository(&stage.turn, &repo()).await.unwrap();
    assert_eq!(first, second);
    let third = stage.forge.repository(&stage.turn, &repo()).await;
    assert_eq!(answered(third).status, 404);
    let seen = stage.server.seen();
    let sent: Vec<_> = seen
        .iter()
        .map(|request| request.header("if-none-match"))
        .collect();
    assert_eq!(sent, [None, Some("W/\"1\""), Some("W/\"1\"")]);
    stage.ends();
}

#[tokio::test]
async fn whether_there_is_more_is_remembered_too() {
    let stage = Stage::reading().await;
    let line =
        "GET /repos/octo/hello/pulls?state=open&sort=created&direction=desc&per_page=1&page=1";
    let headers = [
        ("etag", "\"2\""),
        ("link", "<https://a/b?page=2>; rel=\"next\""),
    ];
    stage.play(line, Play::new(200, &headers, b"[]"));
    stage.play(line, Play::new(304, &[], b""));
    let paging = Paging {
        page: 1,
        per_page: 1,
    };
    for _ in 0..2 {
        let found = stage
            .forge
            .pull_requests(&stage.turn, &repo(), Default::default(), paging)
            .await;
        assert!(found.unwrap().more);
    }
    stage.ends();
}

#[tokio::test]
async fn a_304_that_nobody_asked_for_is_no_answer() {
    let stage = Stage::reading().await;
    stage.play(REPO, Play::new(304, &[], b""));
    assert_eq!(
        answered(stage.forge.repository(&stage.turn, &repo()).await).status,
        304
    );
    stage.ends();
}

#[tokio::test]
async fn an_unchanged_answer_is_cut_as_it_is_wanted_now() {
    let stage = Stage::reading().await;
    let line = "GET /repos/octo/hello/readme";
    stage.play(line, Play::new(200, &[("etag", "\"3\"")], b"0123456789"));
    stage.play(line, Play::new(304, &[], b""));
    let readme = async |most| stage.forge.readme(&stage.turn, &repo(), most).await;
    assert_eq!(readme(10).await, Ok(Some((b"0123456789".to_vec(), false))));
    assert_eq!(readme(4).await, Ok(Some((b"0123".to_vec(), true))));
    stage.ends();
}
