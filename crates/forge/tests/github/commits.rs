//! Commits made, branches made and deleted.

use crate::description::example;
use crate::documented::{REFS, Recorded, refusal, with};
use crate::scripted::Play;
use crate::stage::{Stage, answered, failed, repo};
use candor_fault::Effect;
use candor_forge::{Committed, Failure, Forge as _, Missing, NewFile, Revision, Step, Unmet};
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

fn at(sha: &str) -> Play {
    let found = example("GET", "/repos/{owner}/{repo}/git/ref/{ref}");
    Play::json(
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
fn base(stage: &Stage, entries: Value) {
    stage.play(REF, at(PARENT));
    let commit = example("GET", "/repos/{owner}/{repo}/git/commits/{commit_sha}");
    let commit = with(commit, json!({ "sha": PARENT, "tree": { "sha": BASE } }));
    stage.play(
        &format!("GET /repos/octo/hello/git/commits/{PARENT}"),
        Play::json(200, &commit),
    );
    let tree = json!({ "sha": BASE, "tree": entries });
    stage.play(
        &format!("GET /repos/octo/hello/git/trees/{BASE}"),
        Play::json(200, &tree),
    );
}

/// The objects, made.
fn objects(stage: &Stage, blobs: &[&str]) {
    for blob in blobs {
        stage.play(BLOB, Play::json(201, &json!({ "sha": blob })));
    }
    stage.play(
        TREE,
        Play::json(201, &json!({ "sha": NEW_TREE, "tree": [] })),
    );
    let commit = example("POST", "/repos/{owner}/{repo}/git/commits");
    let commit = with(
        commit,
        json!({ "sha": NEW, "html_url": "https://github.com/c" }),
    );
    stage.play(COMMIT, Play::json(201, &commit));
}

async fn commit(stage: &Stage, files: &[NewFile]) -> Result<Committed, Failure> {
    let forge = &stage.forge;
    forge
        .commit_files(&stage.turn, &repo(), "f/x", "Say", files)
        .await
}

fn entry(path: &str, kind: &str, mode: &str, sha: &str) -> Value {
    json!({ "path": path, "type": kind, "mode": mode, "sha": sha })
}

#[tokio::test]
async fn one_commit_takes_all_files_and_keeps_their_modes() {
    let stage = Stage::writing().await;
    base(
        &stage,
        json!([
            entry("run.sh", "blob", "100755", "a"),
            entry("src", "tree", "040000", "5555"),
        ]),
    );
    let tree = json!({ "sha": "5555", "tree": [entry("lib.rs", "blob", "100644", "b")] });
    stage.play(
        "GET /repos/octo/hello/git/trees/5555",
        Play::json(200, &tree),
    );
    objects(&stage, &["b1", "b2", "b3", "b4"]);
    stage.play(MOVE, at(NEW));
    let files = [
        file("run.sh", b"#!/bin/sh\n"),
        file("src/lib.rs", &[0xff, 0]),
        file("src/new/deep.rs", b""),
        file("top", b"x"),
    ];
    let made = commit(&stage, &files).await.unwrap();
    let expected = Committed {
        sha: NEW.to_owned(),
        parent: PARENT.to_owned(),
        url: "https://github.com/c".to_owned(),
    };
    assert_eq!(made, expected);
    assert_eq!(stage.effect(), Effect::Done);
    let sent = |line: &str| {
        let seen = stage.server.seen();
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
    stage.ends();
}

#[tokio::test]
async fn a_branch_that_somebody_moved_is_told_from_one_that_refuses() {
    for (status, now, moved) in [
        (422, NEW, true),
        (409, NEW, true),
        (422, PARENT, false),
        (403, PARENT, false),
    ] {
        let stage = Stage::writing().await;
        base(&stage, json!([]));
        objects(&stage, &["b1"]);
        stage.play(
            MOVE,
            Play::new(
                status,
                &[],
                &refusal("Update is not a fast forward", "git/refs"),
            ),
        );
        if status != 403 {
            stage.play(REF, at(now));
        }
        let failure = failed(commit(&stage, &[file("a", b"x")]).await);
        match (moved, failure) {
            (true, failure) => assert_eq!(failure, Unmet::BranchMoved("f/x".to_owned()).into()),
            (false, Failure::Answered(refused)) => assert_eq!(refused.status, status),
            (false, other) => panic!("{other:?}"),
        }
        assert_eq!(stage.effect(), Effect::None);
        stage.ends();
    }
}

#[tokio::test]
async fn a_branch_that_is_not_there_is_missing() {
    let stage = Stage::writing().await;
    stage.play(REF, Play::json(404, &json!({ "message": "Not Found" })));
    stage.play("GET /repos/octo/hello", Play::json(200, &json!({})));
    let refused = answered(commit(&stage, &[file("a", b"x")]).await);
    assert_eq!(
        (refused.status, refused.missing),
        (404, Missing::Branch("f/x".to_owned()))
    );
    assert_eq!(stage.effect(), Effect::None);
    stage.ends();
}

#[tokio::test]
async fn until_the_branch_moves_nothing_has_happened() {
    for status in [403, 422, 500] {
        let stage = Stage::writing().await;
        base(&stage, json!([]));
        stage.play(BLOB, Play::new(status, &[], b"{}"));
        let refused = answered(commit(&stage, &[file("a", b"x")]).await);
        assert_eq!((refused.status, refused.step), (status, Step::Write));
        assert_eq!(stage.effect(), Effect::None);
        stage.ends();
    }
    let stage = Stage::writing().await;
    base(&stage, json!([]));
    objects(&stage, &["b1"]);
    stage.play(MOVE, Play::Part(Vec::new()));
    assert!(commit(&stage, &[file("a", b"x")]).await.is_err());
    assert_eq!(stage.effect(), Effect::Unknown);
    stage.ends();
}

#[tokio::test]
async fn files_that_cannot_stand_there_are_refused_before_anything_is_made() {
    let root = json!([
        entry("dir", "tree", "040000", "5555"),
        entry("file", "blob", "100644", "a"),
        entry("sub", "commit", "160000", "b"),
    ]);
    for (path, unmet) in [
        ("dir", Unmet::PathConflict("dir".to_owned())),
        ("file/below", Unmet::PathConflict("file".to_owned())),
        ("sub", Unmet::IsSubmodule("sub".to_owned())),
        ("sub/below", Unmet::IsSubmodule("sub".to_owned())),
    ] {
        let stage = Stage::writing().await;
        base(&stage, root.clone());
        assert_eq!(
            failed(commit(&stage, &[file(path, b"x")]).await),
            unmet.into()
        );
        assert_eq!(stage.effect(), Effect::None);
        stage.ends();
    }
    let stage = Stage::writing().await;
    let files = [file("a/b", b"x"), file("a", b"x")];
    let conflict = Unmet::PathConflict("a".to_owned());
    assert_eq!(failed(commit(&stage, &files).await), conflict.into());
    stage.ends();
}

#[tokio::test]
async fn what_the_branch_has_already_is_no_commit() {
    let stage = Stage::writing().await;
    base(&stage, json!([]));
    stage.play(BLOB, Play::json(201, &json!({ "sha": "b1" })));
    stage.play(TREE, Play::json(201, &json!({ "sha": BASE, "tree": [] })));
    assert_eq!(
        failed(commit(&stage, &[file("a", b"x")]).await),
        Unmet::NothingToCommit.into()
    );
    assert_eq!(stage.effect(), Effect::None);
    stage.ends();
}

#[tokio::test]
async fn a_branch_is_made_at_a_revision() {
    let stage = Stage::writing().await;
    let url = stage.server.url();
    let commit = example("GET", "/repos/{owner}/{repo}/commits/{ref}");
    stage.play(
        "GET /repos/octo/hello/commits/v1?per_page=1&page=1",
        Play::json(200, &commit),
    );
    stage.play(
        "POST /repos/octo/hello/git/refs",
        Recorded::of(REFS, 0).play(&url),
    );
    let branch = example("GET", "/repos/{owner}/{repo}/branches/{branch}");
    let branch = with(branch, json!({ "protected": true }));
    stage.play(
        "GET /repos/octo/hello/branches/test",
        Play::json(200, &branch),
    );
    let from = Revision::Named("v1".to_owned());
    let made = stage
        .forge
        .create_branch(&stage.turn, &repo(), "test", &from)
        .await
        .unwrap();
    assert_eq!((made.name.as_str(), made.protected), ("test", true));
    assert_eq!(made.sha, "0000000000000000000000000000000000000002");
    assert_eq!(stage.effect(), Effect::Done);
    let sent = json!({ "ref": "refs/heads/test", "sha": commit["sha"] });
    assert_eq!(stage.server.seen()[1].json(), sent);
    stage.ends();
}

#[tokio::test]
async fn a_branch_that_exists_is_told_from_one_that_is_refused() {
    let commit = example("GET", "/repos/{owner}/{repo}/commits/{ref}");
    for exists in [true, false] {
        let stage = Stage::writing().await;
        stage.play(
            "GET /repos/octo/hello/commits/heads/main?per_page=1&page=1",
            Play::json(200, &commit),
        );
        stage.play(
            "POST /repos/octo/hello/git/refs",
            Play::new(422, &[], &refusal("Reference already exists", "git/refs")),
        );
        if exists {
            stage.play(REF, at(PARENT));
        } else {
            stage.play(REF, Play::json(404, &json!({})));
            stage.play("GET /repos/octo/hello", Play::json(200, &json!({})));
        }
        let from = Revision::Branch("main".to_owned());
        let made = stage
            .forge
            .create_branch(&stage.turn, &repo(), "f/x", &from)
            .await;
        match exists {
            true => assert_eq!(failed(made), Unmet::BranchExists("f/x".to_owned()).into()),
            false => assert_eq!(answered(made).status, 422),
        }
        assert_eq!(stage.effect(), Effect::None);
        stage.ends();
    }
}

#[tokio::test]
async fn a_branch_is_deleted() {
    let stage = Stage::writing().await;
    let url = stage.server.url();
    stage.play(
        "DELETE /repos/octo/hello/git/refs/heads/test",
        Recorded::of(REFS, 2).play(&url),
    );
    assert_eq!(
        stage
            .forge
            .delete_branch(&stage.turn, &repo(), "test")
            .await,
        Ok(())
    );
    assert_eq!(stage.effect(), Effect::Done);
    stage.ends();
}
