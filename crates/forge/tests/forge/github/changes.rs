//! `commit_changes` on GitHub's documented answers.
//! <https://docs.github.com/rest/git/trees#create-a-tree>

use crate::fixture::github::{GithubFixture, expect_failure, repo};
use crate::github::openapi::example;
use crate::github::recorded_answers::{refusal, with};
use candor_fault::Effect;
use candor_forge::{
    ChangeForge as _, CommitInstruction, CommittedChanges, Failure, MissingItem, PathChange,
    PathOperation, UnmetPrecondition,
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
const NEW: &str = "4444444444444444444444444444444444444444";

fn at(sha: &str) -> ScriptedResponse {
    let found = example("GET", "/repos/{owner}/{repo}/git/ref/{ref}");
    let found = with(found, json!({ "object": { "type": "commit", "sha": sha } }));
    ScriptedResponse::json(200, &found)
}

fn entry(path: &str, kind: &str, mode: &str, sha: &str) -> Value {
    json!({ "path": path, "type": kind, "mode": mode, "sha": sha, "size": 9 })
}

fn base(fixture: &GithubFixture) {
    fixture.respond(REF, at(PARENT));
    let commit = example("GET", "/repos/{owner}/{repo}/git/commits/{commit_sha}");
    let commit = with(commit, json!({ "sha": PARENT, "tree": { "sha": BASE } }));
    let line = format!("GET /repos/octo/hello/git/commits/{PARENT}");
    fixture.respond(&line, ScriptedResponse::json(200, &commit));
    let tree = json!({ "sha": BASE, "tree": [
        entry("run.sh", "blob", "100755", "aaaa"),
        entry("text", "blob", "100644", "bbbb"),
        entry("src", "tree", "040000", "5555"),
        entry("sub", "commit", "160000", "cccc"),
    ] });
    let line = format!("GET /repos/octo/hello/git/trees/{BASE}");
    fixture.respond(&line, ScriptedResponse::json(200, &tree));
}

fn source(fixture: &GithubFixture) {
    let tree = json!({ "sha": "5555", "tree": [entry("lib.rs", "blob", "100644", "dddd")] });
    let line = "GET /repos/octo/hello/git/trees/5555";
    fixture.respond(line, ScriptedResponse::json(200, &tree));
}

fn change(path: &str, operation: PathOperation) -> PathChange {
    PathChange {
        path: path.to_owned(),
        operation,
    }
}

fn write(path: &str, executable: Option<bool>) -> PathChange {
    let bytes = b"new".to_vec();
    change(path, PathOperation::Write { bytes, executable })
}

async fn commit(
    fixture: &GithubFixture,
    changes: Vec<PathChange>,
    expected_head: Option<&str>,
) -> Result<CommittedChanges, Failure> {
    let order = CommitInstruction {
        branch: String::from("f/x"),
        message: String::from("Say"),
        changes,
        expected_head: expected_head.map(String::from),
    };
    let repo = repo();
    fixture
        .forge
        .commit_changes(&fixture.context, &repo, &order)
        .await
}

#[tokio::test]
async fn one_tree_takes_every_change() {
    let fixture = GithubFixture::writing().await;
    base(&fixture);
    source(&fixture);
    let blob =
        json!({ "sha": "bbbb", "size": 9, "encoding": "base64", "content": "b25lIHR3bw==\n" });
    let line = "GET /repos/octo/hello/git/blobs/bbbb";
    fixture.respond(line, ScriptedResponse::json(200, &blob));
    for sha in ["b1", "b2"] {
        fixture.respond(BLOB, ScriptedResponse::json(201, &json!({ "sha": sha })));
    }
    let tree = json!({ "sha": "3333", "tree": [] });
    fixture.respond(TREE, ScriptedResponse::json(201, &tree));
    let made = example("POST", "/repos/{owner}/{repo}/git/commits");
    let made = with(
        made,
        json!({ "sha": NEW, "html_url": "https://github.com/c" }),
    );
    fixture.respond(COMMIT, ScriptedResponse::json(201, &made));
    fixture.respond(MOVE, at(NEW));
    let changes = vec![
        write("src/new.sh", Some(true)),
        change(
            "text",
            PathOperation::Edit {
                old_text: String::from("two"),
                new_text: String::from("2"),
            },
        ),
        change("sub", PathOperation::Delete),
        change(
            "src/lib.rs",
            PathOperation::Move {
                to: String::from("lib.rs"),
                bytes: None,
            },
        ),
        change("run.sh", PathOperation::Chmod { executable: false }),
    ];
    let made = commit(&fixture, changes, Some(&PARENT[..8])).await.unwrap();
    let expected = CommittedChanges {
        sha: NEW.to_owned(),
        parent: Some(PARENT.to_owned()),
        url: String::from("https://github.com/c"),
    };
    assert_eq!(made, expected);
    assert_eq!(fixture.effect(), Effect::Done);
    let seen = fixture.server.seen();
    let sent = |line: &str| -> Vec<Value> {
        let bodies = seen.iter().filter(|request| request.line() == line);
        bodies.map(|request| request.json()).collect()
    };
    let tree = json!({ "base_tree": BASE, "tree": [
        { "path": "sub", "mode": "160000", "type": "commit", "sha": null },
        { "path": "src/lib.rs", "mode": "100644", "type": "blob", "sha": null },
        { "path": "src/new.sh", "mode": "100755", "type": "blob", "sha": "b1" },
        { "path": "text", "mode": "100644", "type": "blob", "sha": "b2" },
        { "path": "lib.rs", "mode": "100644", "type": "blob", "sha": "dddd" },
        { "path": "run.sh", "mode": "100644", "type": "blob", "sha": "aaaa" },
    ] });
    assert_eq!(sent(TREE), [tree]);
    assert_eq!(
        sent(BLOB)[1],
        json!({ "content": "b25lIDI=", "encoding": "base64" })
    );
    fixture.assert_complete();
}

#[tokio::test]
async fn refusals_come_before_anything_is_written() {
    let text = String::from;
    let move_to = |to: &str| PathOperation::Move {
        to: to.to_owned(),
        bytes: None,
    };
    for (changed, expected) in [
        (
            write("src", None),
            Failure::Unmet(UnmetPrecondition::PathConflict(text("src"))),
        ),
        (
            write("text/a", None),
            Failure::Unmet(UnmetPrecondition::PathConflict(text("text/a"))),
        ),
        (
            change("none", PathOperation::Delete),
            Failure::Missing(MissingItem::Path(text("none"))),
        ),
        (
            change("text", move_to("run.sh")),
            Failure::Unmet(UnmetPrecondition::PathExists(text("run.sh"))),
        ),
        (
            change("sub", PathOperation::Chmod { executable: true }),
            Failure::Unmet(UnmetPrecondition::NotAPlainFile(text("sub"))),
        ),
    ] {
        let fixture = GithubFixture::writing().await;
        base(&fixture);
        let made = commit(&fixture, vec![changed], None).await;
        assert_eq!(expect_failure(made), expected);
        assert_eq!(fixture.effect(), Effect::None);
        fixture.assert_complete();
    }
}

#[tokio::test]
async fn another_head_is_reported_first() {
    let fixture = GithubFixture::writing().await;
    fixture.respond(REF, at(PARENT));
    let made = commit(&fixture, vec![write("src", None)], Some("abcdef0")).await;
    let expected = Failure::BranchHeadMoved {
        expected: String::from("abcdef0"),
        actual: Some(PARENT.to_owned()),
    };
    assert_eq!(expect_failure(made), expected);
    fixture.assert_complete();
}

#[tokio::test]
async fn first_commit_takes_one_new_file() {
    let empty =
        || ScriptedResponse::new(409, &[], &refusal("Git Repository is empty.", "git/refs"));
    let fixture = GithubFixture::writing().await;
    fixture.respond(REF, empty());
    let made =
        json!({ "content": {}, "commit": { "sha": NEW, "html_url": "https://github.com/c" } });
    let put = "PUT /repos/octo/hello/contents/a%20b/c";
    fixture.respond(put, ScriptedResponse::json(201, &made));
    let made = commit(&fixture, vec![write("a b/c", None)], None)
        .await
        .unwrap();
    assert_eq!((made.sha.as_str(), made.parent), (NEW, None));
    assert_eq!(fixture.effect(), Effect::Done);
    let seen = fixture.server.seen();
    let sent = seen.iter().find(|request| request.line() == put).unwrap();
    assert_eq!(
        sent.json(),
        json!({ "message": "Say", "content": "bmV3", "branch": "f/x" })
    );
    fixture.assert_complete();
    for changes in [
        vec![write("a", None), write("b", None)],
        vec![write("a", Some(true))],
        vec![change("a", PathOperation::Delete)],
    ] {
        let fixture = GithubFixture::writing().await;
        fixture.respond(REF, empty());
        let made = commit(&fixture, changes, None).await;
        let several = Failure::Unmet(UnmetPrecondition::FirstCommitOfSeveral);
        assert_eq!(expect_failure(made), several);
        assert_eq!(fixture.effect(), Effect::None);
        fixture.assert_complete();
    }
}
