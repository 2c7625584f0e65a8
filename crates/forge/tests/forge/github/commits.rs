//! Commits made, branches made and deleted.

use crate::fixture::github::{GithubFixture, expect_error_response, expect_failure, repo};
use crate::github::openapi::example;
use crate::github::recorded_answers::{REFS, Recorded, refusal, with};
use candor_fault::Effect;
use candor_forge::{
    CreatedCommit, Failure, Forge as _, MissingItem, NewFile, RequestKind, Revision,
    UnmetPrecondition,
};
use candor_testkit::scripted_http::ScriptedResponse;
use serde_json::{Value, json};

const REF: &str = "GET /repos/octo/hello/git/ref/heads/f/x";
const MOVE: &str = "PATCH /repos/octo/hello/git/refs/heads/f/x";
const BLOB: &str = "POST /repos/octo/hello/git/blobs";
const TREE: &str = "POST /repos/octo/hello/git/trees";
const COMMIT: &str = "POST /repos/octo/hello/git/commits";

const PARENT: &str = "1111111111111111111111111111111111111111";
const BASE: &str = "2222222222222222222222222222222222222222";
const NEW_TREE: &str = "3333333333333333333333333333333333333333";
const NEW: &str = "4444444444444444444444444444444444444444";

fn at(sha: &str) -> ScriptedResponse {
    let found = example("GET", "/repos/{owner}/{repo}/git/ref/{ref}");
    ScriptedResponse::json(
        200,
        &with(found, json!({ "object": { "type": "commit", "sha": sha } })),
    )
}

fn file(path: &str, bytes: &[u8]) -> NewFile {
    NewFile {
        path: path.to_owned(),
        bytes: bytes.to_vec(),
    }
}

/// The branch, its commit and its root, read.
fn base(fixture: &GithubFixture, entries: Value) {
    fixture.respond(REF, at(PARENT));
    let commit = example("GET", "/repos/{owner}/{repo}/git/commits/{commit_sha}");
    let commit = with(commit, json!({ "sha": PARENT, "tree": { "sha": BASE } }));
    fixture.respond(
        &format!("GET /repos/octo/hello/git/commits/{PARENT}"),
        ScriptedResponse::json(200, &commit),
    );
    let tree = json!({ "sha": BASE, "tree": entries });
    fixture.respond(
        &format!("GET /repos/octo/hello/git/trees/{BASE}"),
        ScriptedResponse::json(200, &tree),
    );
}

/// The objects, made.
fn objects(fixture: &GithubFixture, blobs: &[&str]) {
    for blob in blobs {
        fixture.respond(BLOB, ScriptedResponse::json(201, &json!({ "sha": blob })));
    }
    fixture.respond(
        TREE,
        ScriptedResponse::json(201, &json!({ "sha": NEW_TREE, "tree": [] })),
    );
    let commit = example("POST", "/repos/{owner}/{repo}/git/commits");
    let commit = with(
        commit,
        json!({ "sha": NEW, "html_url": "https://github.com/c" }),
    );
    fixture.respond(COMMIT, ScriptedResponse::json(201, &commit));
}

async fn commit(fixture: &GithubFixture, files: &[NewFile]) -> Result<CreatedCommit, Failure> {
    let forge = &fixture.forge;
    forge
        .commit_files(&fixture.context, &repo(), "f/x", "Say", files)
        .await
}

fn entry(path: &str, kind: &str, mode: &str, sha: &str) -> Value {
    json!({ "path": path, "type": kind, "mode": mode, "sha": sha })
}

#[tokio::test]
async fn one_commit_takes_all_files_and_keeps_their_modes() {
    let fixture = GithubFixture::writing().await;
    base(
        &fixture,
        json!([
            entry("run.sh", "blob", "100755", "a"),
            entry("src", "tree", "040000", "5555"),
        ]),
    );
    let tree = json!({ "sha": "5555", "tree": [entry("lib.rs", "blob", "100644", "b")] });
    fixture.respond(
        "GET /repos/octo/hello/git/trees/5555",
        ScriptedResponse::json(200, &tree),
    );
    objects(&fixture, &["b1", "b2", "b3", "b4"]);
    fixture.respond(MOVE, at(NEW));
    let files = [
        file("run.sh", b"#!/bin/sh\n"),
        file("src/lib.rs", &[0xff, 0]),
        file("src/new/deep.rs", b""),
        file("top", b"x"),
    ];
    let made = commit(&fixture, &files).await.unwrap();
    let expected = CreatedCommit {
        sha: NEW.to_owned(),
        parent: PARENT.to_owned(),
        url: "https://github.com/c".to_owned(),
    };
    assert_eq!(made, expected);
    assert_eq!(fixture.effect(), Effect::Done);
    let sent = |line: &str| {
        let seen = fixture.server.seen();
        let bodies = seen.iter().filter(|request| request.line() == line);
        bodies.map(|request| request.json()).collect::<Vec<_>>()
    };
    assert_eq!(
        sent(BLOB)[1],
        json!({ "content": "/wA=", "encoding": "base64" })
    );
    assert_eq!(
        sent(BLOB)[2],
        json!({ "content": "", "encoding": "base64" })
    );
    let blob = |path: &str, mode: &str, sha: &str| json!({ "path": path, "mode": mode, "type": "blob", "sha": sha });
    let tree = json!({ "base_tree": BASE, "tree": [
        blob("run.sh", "100755", "b1"),
        blob("src/lib.rs", "100644", "b2"),
        blob("src/new/deep.rs", "100644", "b3"),
        blob("top", "100644", "b4"),
    ] });
    assert_eq!(sent(TREE), [tree]);
    let commit = json!({ "message": "Say", "tree": NEW_TREE, "parents": [PARENT] });
    assert_eq!(sent(COMMIT), [commit]);
    assert_eq!(sent(MOVE), [json!({ "sha": NEW, "force": false })]);
    fixture.assert_complete();
}

#[tokio::test]
async fn moved_branch_differs_from_refused_update() {
    for (status, now, moved) in [
        (422, NEW, true),
        (409, NEW, true),
        (422, PARENT, false),
        (403, PARENT, false),
    ] {
        let fixture = GithubFixture::writing().await;
        base(&fixture, json!([]));
        objects(&fixture, &["b1"]);
        fixture.respond(
            MOVE,
            ScriptedResponse::new(
                status,
                &[],
                &refusal("Update is not a fast forward", "git/refs"),
            ),
        );
        if status != 403 {
            fixture.respond(REF, at(now));
        }
        let failure = expect_failure(commit(&fixture, &[file("a", b"x")]).await);
        match (moved, failure) {
            (true, failure) => assert_eq!(
                failure,
                UnmetPrecondition::BranchMoved("f/x".to_owned()).into()
            ),
            (false, Failure::GithubErrorResponse(refused)) => assert_eq!(refused.status, status),
            (false, other) => panic!("{other:?}"),
        }
        assert_eq!(fixture.effect(), Effect::None);
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn branch_that_is_not_there_is_missing() {
    let fixture = GithubFixture::writing().await;
    fixture.respond(
        REF,
        ScriptedResponse::json(404, &json!({ "message": "Not Found" })),
    );
    fixture.respond(
        "GET /repos/octo/hello",
        ScriptedResponse::json(200, &json!({})),
    );
    let refused = expect_error_response(commit(&fixture, &[file("a", b"x")]).await);
    assert_eq!(
        (refused.status, refused.missing),
        (404, MissingItem::Branch("f/x".to_owned()))
    );
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn failure_before_the_branch_moves_has_no_effect() {
    for status in [403, 422, 500] {
        let fixture = GithubFixture::writing().await;
        base(&fixture, json!([]));
        fixture.respond(BLOB, ScriptedResponse::new(status, &[], b"{}"));
        let refused = expect_error_response(commit(&fixture, &[file("a", b"x")]).await);
        assert_eq!((refused.status, refused.step), (status, RequestKind::Write));
        assert_eq!(fixture.effect(), Effect::None);
        fixture.assert_complete();
    }
    let fixture = GithubFixture::writing().await;
    base(&fixture, json!([]));
    objects(&fixture, &["b1"]);
    fixture.respond(MOVE, ScriptedResponse::Part(Vec::new()));
    assert!(commit(&fixture, &[file("a", b"x")]).await.is_err());
    assert_eq!(fixture.effect(), Effect::Unknown);
    fixture.assert_complete();
}

#[tokio::test]
async fn conflicting_paths_are_refused_before_any_write() {
    let root = json!([
        entry("dir", "tree", "040000", "5555"),
        entry("file", "blob", "100644", "a"),
        entry("sub", "commit", "160000", "b"),
    ]);
    for (path, unmet) in [
        ("dir", UnmetPrecondition::PathConflict("dir".to_owned())),
        (
            "file/below",
            UnmetPrecondition::PathConflict("file".to_owned()),
        ),
        ("sub", UnmetPrecondition::IsSubmodule("sub".to_owned())),
        (
            "sub/below",
            UnmetPrecondition::IsSubmodule("sub".to_owned()),
        ),
    ] {
        let fixture = GithubFixture::writing().await;
        base(&fixture, root.clone());
        assert_eq!(
            expect_failure(commit(&fixture, &[file(path, b"x")]).await),
            unmet.into()
        );
        assert_eq!(fixture.effect(), Effect::None);
        fixture.assert_complete();
    }
    let fixture = GithubFixture::writing().await;
    let files = [file("a/b", b"x"), file("a", b"x")];
    let conflict = UnmetPrecondition::PathConflict("a".to_owned());
    assert_eq!(
        expect_failure(commit(&fixture, &files).await),
        conflict.into()
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn commit_without_changes_is_refused() {
    let fixture = GithubFixture::writing().await;
    base(&fixture, json!([]));
    fixture.respond(BLOB, ScriptedResponse::json(201, &json!({ "sha": "b1" })));
    fixture.respond(
        TREE,
        ScriptedResponse::json(201, &json!({ "sha": BASE, "tree": [] })),
    );
    assert_eq!(
        expect_failure(commit(&fixture, &[file("a", b"x")]).await),
        UnmetPrecondition::NothingToCommit.into()
    );
    assert_eq!(fixture.effect(), Effect::None);
    fixture.assert_complete();
}

#[tokio::test]
async fn branch_is_created_at_a_revision() {
    let fixture = GithubFixture::writing().await;
    let url = fixture.server.url();
    let commit = example("GET", "/repos/{owner}/{repo}/commits/{ref}");
    fixture.respond(
        "GET /repos/octo/hello/commits/v1?per_page=1&page=1",
        ScriptedResponse::json(200, &commit),
    );
    fixture.respond(
        "POST /repos/octo/hello/git/refs",
        Recorded::of(REFS, 0).respond(&url),
    );
    let branch = example("GET", "/repos/{owner}/{repo}/branches/{branch}");
    let branch = with(branch, json!({ "protected": true }));
    fixture.respond(
        "GET /repos/octo/hello/branches/test",
        ScriptedResponse::json(200, &branch),
    );
    let from = Revision::Named("v1".to_owned());
    let made = fixture
        .forge
        .create_branch(&fixture.context, &repo(), "test", &from)
        .await
        .unwrap();
    assert_eq!((made.name.as_str(), made.protected), ("test", true));
    assert_eq!(made.sha, "0000000000000000000000000000000000000002");
    assert_eq!(fixture.effect(), Effect::Done);
    let sent = json!({ "ref": "refs/heads/test", "sha": commit["sha"] });
    assert_eq!(fixture.server.seen()[1].json(), sent);
    fixture.assert_complete();
}

#[tokio::test]
async fn existing_branch_differs_from_refused_creation() {
    let commit = example("GET", "/repos/{owner}/{repo}/commits/{ref}");
    for exists in [true, false] {
        let fixture = GithubFixture::writing().await;
        fixture.respond(
            "GET /repos/octo/hello/commits/heads/main?per_page=1&page=1",
            ScriptedResponse::json(200, &commit),
        );
        fixture.respond(
            "POST /repos/octo/hello/git/refs",
            ScriptedResponse::new(422, &[], &refusal("Reference already exists", "git/refs")),
        );
        if exists {
            fixture.respond(REF, at(PARENT));
        } else {
            fixture.respond(REF, ScriptedResponse::json(404, &json!({})));
            fixture.respond(
                "GET /repos/octo/hello",
                ScriptedResponse::json(200, &json!({})),
            );
        }
        let from = Revision::Branch("main".to_owned());
        let made = fixture
            .forge
            .create_branch(&fixture.context, &repo(), "f/x", &from)
            .await;
        match exists {
            true => assert_eq!(
                expect_failure(made),
                UnmetPrecondition::BranchExists("f/x".to_owned()).into()
            ),
            false => assert_eq!(expect_error_response(made).status, 422),
        }
        assert_eq!(fixture.effect(), Effect::None);
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn branch_is_deleted() {
    let fixture = GithubFixture::writing().await;
    let url = fixture.server.url();
    fixture.respond(
        "DELETE /repos/octo/hello/git/refs/heads/test",
        Recorded::of(REFS, 2).respond(&url),
    );
    assert_eq!(
        fixture
            .forge
            .delete_branch(&fixture.context, &repo(), "test")
            .await,
        Ok(())
    );
    assert_eq!(fixture.effect(), Effect::Done);
    fixture.assert_complete();
}
