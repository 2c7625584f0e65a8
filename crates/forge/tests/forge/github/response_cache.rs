//! Answers that GitHub calls unchanged.

use crate::fixture::github::{GithubFixture, expect_error_response, repo};
use crate::github::recorded_answers::{REPOSITORY, Recorded};
use candor_forge::{Forge as _, Paging};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::json;

const REPO: &str = "GET /repos/octo/hello";

#[tokio::test]
async fn unchanged_response_comes_from_the_cache() {
    let fixture = GithubFixture::reading().await;
    let tagged = Recorded::of(REPOSITORY, 0).body().to_string();
    fixture.respond(
        REPO,
        ScriptedResponse::new(200, &[("etag", "W/\"1\"")], tagged.as_bytes()),
    );
    fixture.respond(
        REPO,
        ScriptedResponse::new(304, &[("etag", "W/\"1\"")], b""),
    );
    fixture.respond(REPO, ScriptedResponse::json(404, &json!({})));
    let first = fixture
        .forge
        .repository(&fixture.context, &repo())
        .await
        .unwrap();
    let second = fixture
        .forge
        .repository(&fixture.context, &repo())
        .await
        .unwrap();
    assert_eq!(first, second);
    let third = fixture.forge.repository(&fixture.context, &repo()).await;
    assert_eq!(expect_error_response(third).status, 404);
    let seen = fixture.server.seen();
    let sent: Vec<_> = seen
        .iter()
        .map(|request| request.header("if-none-match"))
        .collect();
    assert_eq!(sent, [None, Some("W/\"1\""), Some("W/\"1\"")]);
    fixture.assert_complete();
}

#[tokio::test]
async fn next_page_flag_is_cached() {
    let fixture = GithubFixture::reading().await;
    let line =
        "GET /repos/octo/hello/pulls?state=open&sort=created&direction=desc&per_page=1&page=1";
    let headers = [
        ("etag", "\"2\""),
        ("link", "<https://a/b?page=2>; rel=\"next\""),
    ];
    fixture.respond(line, ScriptedResponse::new(200, &headers, b"[]"));
    fixture.respond(line, ScriptedResponse::new(304, &[], b""));
    let paging = Paging {
        page: 1,
        per_page: 1,
    };
    for _ in 0..2 {
        let found = fixture
            .forge
            .pull_requests(&fixture.context, &repo(), Default::default(), paging)
            .await;
        assert!(found.unwrap().more);
    }
    fixture.assert_complete();
}

#[tokio::test]
async fn unexpected_304_is_not_a_response() {
    let fixture = GithubFixture::reading().await;
    fixture.respond(REPO, ScriptedResponse::new(304, &[], b""));
    assert_eq!(
        expect_error_response(fixture.forge.repository(&fixture.context, &repo()).await).status,
        304
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn cached_response_obeys_the_current_limit() {
    let fixture = GithubFixture::reading().await;
    let line = "GET /repos/octo/hello/readme";
    fixture.respond(
        line,
        ScriptedResponse::new(200, &[("etag", "\"3\"")], b"0123456789"),
    );
    fixture.respond(line, ScriptedResponse::new(304, &[], b""));
    let readme = async |most| fixture.forge.readme(&fixture.context, &repo(), most).await;
    assert_eq!(readme(10).await, Ok(Some((b"0123456789".to_vec(), false))));
    assert_eq!(readme(4).await, Ok(Some((b"0123".to_vec(), true))));
    fixture.assert_complete();
}
