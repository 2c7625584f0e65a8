//! Filtered histories, new repositories, deleted branches, tags and releases on GitHub.
//!
//! The scripted answers follow the pages "REST API endpoints for repositories", "… for Git tags" and "… for
//! releases" of GitHub's documentation.

use crate::fixture::github::{GithubFixture, expect_failure, repo};
use crate::github::recorded_answers::{REPOSITORY, Recorded};
use candor_fault::Effect;
use candor_forge::{
    CommitFilter, Failure, MissingItem, NewRelease, NewRepository, NewTag, Paging,
    ReleaseForge as _, RepositoryForge as _, Revision, UnmetPrecondition,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::{Value, json};

const SHA: &str = "0123456789abcdef0123456789abcdef01234567";
const ONE: Paging = Paging {
    page: 1,
    per_page: 1,
};

fn ok(body: &Value) -> ScriptedResponse {
    ScriptedResponse::json(200, body)
}

fn missing() -> ScriptedResponse {
    ScriptedResponse::json(404, &json!({ "message": "Not Found" }))
}

fn repository() -> ScriptedResponse {
    ok(Recorded::of(REPOSITORY, 0).body())
}

fn commit(sha: &str) -> ScriptedResponse {
    ok(&json!({
        "sha": sha, "html_url": "https://github.com/x", "parents": [],
        "commit": { "message": "m", "author": null, "committer": null, "tree": { "sha": SHA } },
        "author": null, "committer": null,
    }))
}

#[tokio::test]
async fn filters_are_passed_on() {
    let fixture = GithubFixture::reading().await;
    let line = "GET /repos/octo/hello/commits?sha=refs%2Fheads%2Fmain&path=a%20b&author=cat&since=2025-01-01T00%3A00%3A00Z&per_page=1&page=1";
    fixture.respond(line, ok(&json!([])));
    let filter = CommitFilter {
        path: Some("a b".to_owned()),
        author: Some("cat".to_owned()),
        since: Some("2025-01-01T00:00:00Z".to_owned()),
        until: None,
    };
    let from = Revision::Branch("main".to_owned());
    let found = fixture
        .forge
        .filtered_commits(&fixture.context, &repo(), &from, &filter, ONE)
        .await;
    assert!(found.unwrap().commits.is_empty());
    fixture.assert_complete();
}

#[tokio::test]
async fn branch_is_looked_at_before_it_is_deleted() {
    let branch = |protected| {
        ok(&json!({ "name": "topic", "protected": protected, "commit": { "sha": SHA } }))
    };
    for (protected, expected, refusal) in [
        (false, Some(&SHA[..7]), None),
        (
            true,
            None,
            Some(UnmetPrecondition::BranchProtected("topic".to_owned()).into()),
        ),
        (
            false,
            Some("fffffff"),
            Some(Failure::BranchHeadMoved {
                expected: "fffffff".to_owned(),
                actual: Some(SHA.to_owned()),
            }),
        ),
    ] {
        let fixture = GithubFixture::writing().await;
        fixture
            .respond("GET /repos/octo/hello", repository())
            .respond("GET /repos/octo/hello/branches/topic", branch(protected));
        if refusal.is_none() {
            let line = "DELETE /repos/octo/hello/git/refs/heads/topic";
            fixture.respond(line, ScriptedResponse::new(204, &[], b""));
        }
        let deleted = fixture
            .forge
            .delete_branch_at(&fixture.context, &repo(), "topic", expected)
            .await;
        match refusal {
            None => assert_eq!(deleted, Ok(SHA.to_owned())),
            Some(refusal) => assert_eq!(expect_failure(deleted), refusal),
        }
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn repository_is_made_in_the_own_account_or_the_organisation() {
    let new = NewRepository {
        description: None,
        private: true,
        init: false,
    };
    for (login, line) in [
        ("OCTO", "POST /user/repos"),
        ("me", "POST /orgs/octo/repos"),
    ] {
        let fixture = GithubFixture::writing().await;
        let made = ScriptedResponse::json(201, Recorded::of(REPOSITORY, 0).body());
        fixture
            .respond("GET /user", ok(&json!({ "login": login })))
            .respond(line, made);
        let made = fixture
            .forge
            .create_repository(&fixture.context, &repo(), &new)
            .await;
        assert!(made.is_ok(), "{made:?}");
        assert_eq!(fixture.effect(), Effect::Done);
        let sent = fixture.server.seen().pop().unwrap().json();
        assert_eq!(
            sent,
            json!({ "name": "hello", "private": true, "auto_init": false })
        );
        fixture.assert_complete();
    }
    let fixture = GithubFixture::writing().await;
    fixture
        .respond("GET /user", ScriptedResponse::json(403, &json!({})))
        .respond(
            "POST /orgs/octo/repos",
            ScriptedResponse::json(422, &json!({})),
        )
        .respond("GET /repos/octo/hello", repository());
    let made = fixture
        .forge
        .create_repository(&fixture.context, &repo(), &new)
        .await;
    assert!(matches!(
        expect_failure(made),
        Failure::Unmet(UnmetPrecondition::RepositoryExists(_))
    ));
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

const RESOLVE: &str = "GET /repos/octo/hello/commits/main?per_page=1&page=1";
const TAG: &str = "GET /repos/octo/hello/commits/tags/v1?per_page=1&page=1";

fn new_tag(message: Option<&str>) -> NewTag {
    NewTag {
        name: "v1".to_owned(),
        at: Revision::Named("main".to_owned()),
        message: message.map(String::from),
    }
}

#[tokio::test]
async fn annotated_tag_is_an_object_and_a_ref() {
    let fixture = GithubFixture::writing().await;
    let object = json!({ "sha": "f".repeat(40) });
    fixture
        .respond(RESOLVE, commit(SHA))
        .respond(TAG, ScriptedResponse::json(422, &json!({})))
        .respond(
            "POST /repos/octo/hello/git/tags",
            ScriptedResponse::json(201, &object),
        )
        .respond(
            "POST /repos/octo/hello/git/refs",
            ScriptedResponse::json(201, &json!({})),
        );
    let made = fixture
        .forge
        .create_tag(&fixture.context, &repo(), &new_tag(Some("One")))
        .await
        .unwrap();
    assert_eq!((made.sha.as_str(), made.created), (SHA, true));
    let sent = fixture.server.seen().pop().unwrap().json();
    assert_eq!(
        sent,
        json!({ "ref": "refs/tags/v1", "sha": "f".repeat(40) })
    );
    assert_eq!(fixture.effect(), Effect::Done);
    fixture.assert_complete();
}

#[tokio::test]
async fn existing_tag_is_not_moved() {
    let fixture = GithubFixture::writing().await;
    fixture
        .respond(RESOLVE, commit(SHA))
        .respond(TAG, commit(SHA));
    let made = fixture
        .forge
        .create_tag(&fixture.context, &repo(), &new_tag(None))
        .await;
    assert!(!made.unwrap().created);
    fixture
        .respond(RESOLVE, commit(SHA))
        .respond(TAG, commit(&"e".repeat(40)));
    let made = fixture
        .forge
        .create_tag(&fixture.context, &repo(), &new_tag(None))
        .await;
    let exists = UnmetPrecondition::TagExists("v1".to_owned());
    assert_eq!(expect_failure(made), Failure::Unmet(exists));
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn release_needs_its_tag() {
    let fixture = GithubFixture::writing().await;
    let new = NewRelease {
        tag: "v1".to_owned(),
        title: None,
        body: Some("New".to_owned()),
        draft: false,
        prerelease: false,
    };
    fixture
        .respond(TAG, missing())
        .respond("GET /repos/octo/hello", repository());
    let made = fixture
        .forge
        .create_release(&fixture.context, &repo(), &new)
        .await;
    let no_tag = MissingItem::Tag("v1".to_owned());
    assert_eq!(expect_failure(made), Failure::Missing(no_tag));
    let release = json!({
        "id": 1, "tag_name": "v1", "name": null, "body": "New", "draft": false,
        "prerelease": false, "author": { "login": "cat" }, "html_url": "https://github.com/x",
        "created_at": "2025-10-12T15:49:21Z", "published_at": null,
    });
    let line = "POST /repos/octo/hello/releases";
    fixture
        .respond(TAG, commit(SHA))
        .respond(line, ScriptedResponse::json(201, &release));
    let made = fixture
        .forge
        .create_release(&fixture.context, &repo(), &new)
        .await;
    assert_eq!(made.unwrap().author.as_deref(), Some("cat"));
    fixture
        .respond(
            "GET /repos/octo/hello/releases?per_page=1&page=1",
            ok(&json!([release])),
        )
        .respond(
            "GET /repos/octo/hello/tags?per_page=1&page=1",
            ok(&json!([{ "name": "v1", "commit": { "sha": SHA } }])),
        );
    let listed = fixture.forge.releases(&fixture.context, &repo(), ONE).await;
    assert_eq!(listed.unwrap().releases[0].tag, "v1");
    let tags = fixture.forge.tags(&fixture.context, &repo(), ONE).await;
    assert_eq!(tags.unwrap().tags[0].sha, SHA);
    fixture.assert_complete();
}
