//! Commits of files: all or none, modes kept, never forced.

use crate::ground::{Ground, effect, file, git, hello, repo, writing};
use candor_forge::local::{Moment, Rules};
use candor_forge::{Committed, Failure, Forge as _, Missing, NewFile, Unmet};
use std::os::unix::fs::symlink;
use std::sync::{Arc, OnceLock};

fn unmet(unmet: Unmet) -> Result<String, Failure> {
    Err(Failure::Unmet(unmet))
}

#[tokio::test]
async fn a_commit_has_the_files_on_top_of_the_branch() {
    let ground = Ground::new().await;
    let parent = ground.head("main");
    let (turn, hello) = (writing(), hello());
    let files = [
        file("README.md", ""),
        file("a/b/c.txt", "new\n"),
        NewFile {
            path: "a/bytes".into(),
            bytes: vec![0, 255, 10],
        },
    ];
    let made = ground
        .forge
        .commit_files(&turn, &hello, "main", "rate limit\n\nvalidation", &files);
    let made = made.await.unwrap();
    let sha = ground.head("main");
    let wanted = Committed {
        url: format!("candor:///sample/hello/commit/{sha}"),
        sha: sha.clone(),
        parent: parent.clone(),
    };
    assert_eq!(made, wanted);
    assert_eq!(
        ground.git(&["show", "-s", "--format=%P|%an|%ae|%at|%cn|%ct|%B", &sha]),
        format!("{parent}|Ada|ada@example.com|1770091506|Ada|1770091506|rate limit\n\nvalidation")
    );
    let changed = ground.git(&["diff-tree", "-r", "--name-status", &parent, &sha]);
    assert_eq!(changed, "M\tREADME.md\nA\ta/b/c.txt\nA\ta/bytes");
    assert_eq!(ground.git(&["cat-file", "-s", "main:README.md"]), "0");
    assert_eq!(ground.git(&["cat-file", "-s", "main:a/bytes"]), "3");
    ground.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn modes_are_kept() {
    let ground = Ground::new().await;
    let clone = ground.clone_of("sample/hello");
    let at = clone.path();
    std::fs::write(at.join("run"), "x").unwrap();
    symlink("README.md", at.join("link")).unwrap();
    git(at, &["add", "."]);
    git(at, &["update-index", "--chmod=+x", "run"]);
    git(at, &["commit", "-q", "-m", "Modes"]);
    git(at, &["push", "-q", "origin", "main"]);
    ground
        .commit(
            "main",
            &[
                file("run", "y"),
                file("link", "src/main.rs"),
                file("plain", "z"),
            ],
        )
        .await
        .unwrap();
    let listed = ground.git(&["ls-tree", "--format=%(objectmode) %(path)", "main"]);
    let wanted = "100644 README.md\n040000 docs\n120000 link\n100644 plain\n100755 run\n040000 src";
    assert_eq!(listed, wanted);
    assert_eq!(ground.git(&["cat-file", "-p", "main:link"]), "src/main.rs");
}

#[tokio::test]
async fn a_file_and_a_directory_cannot_be_one() {
    let ground = Ground::new().await;
    let before = ground.head("main");
    for (files, path) in [
        (&[file("docs", "x")][..], "docs"),
        (&[file("README.md/x/y", "x")], "README.md"),
        (&[file("a", "x"), file("a/b", "x")], "a/b"),
        (&[file("a/b", "x"), file("a", "x")], "a"),
        (&[file("a", "x"), file("a", "y")], "a"),
        (&[file("new", "x"), file("src", "x")], "src"),
    ] {
        assert_eq!(
            ground.commit("main", files).await,
            unmet(Unmet::PathConflict(path.into()))
        );
    }
    assert_eq!(ground.head("main"), before);
}

#[tokio::test]
async fn a_commit_that_changes_nothing_is_refused() {
    let ground = Ground::new().await;
    let before = ground.head("main");
    let same = file("README.md", "# hello\n\nSays hello, loudly.\n");
    let made = ground.commit("main", &[same]).await;
    assert_eq!(made, unmet(Unmet::NothingToCommit));
    assert_eq!(ground.head("main"), before);
}

#[tokio::test]
async fn what_is_not_there_or_protected_takes_no_commit() {
    let ground = Ground::new().await;
    let files = [file("a", "a")];
    let missing = Failure::Missing(Missing::Branch("not found".into()));
    assert_eq!(ground.commit("not found", &files).await, Err(missing));
    let turn = writing();
    let made = ground
        .forge
        .commit_files(&turn, &repo("a/b"), "main", "m", &files)
        .await;
    assert_eq!(made, Err(Failure::Missing(Missing::Repository)));
    let checks = Rules {
        required_checks: ["ci".to_owned()].into(),
        ..Rules::default()
    };
    ground
        .forge
        .protect(&hello(), "main", &checks)
        .await
        .unwrap();
    assert!(ground.commit("main", &files).await.is_ok());
    for rules in [
        Rules {
            require_pull_request: true,
            ..Rules::default()
        },
        Rules {
            locked: true,
            ..Rules::default()
        },
    ] {
        ground
            .forge
            .protect(&hello(), "main", &rules)
            .await
            .unwrap();
        let protected = unmet(Unmet::BranchProtected("main".into()));
        assert_eq!(ground.commit("main", &files).await, protected);
    }
    assert!(ground.forge.unprotect(&hello(), "main").await.unwrap());
    assert!(ground.commit("main", &[file("a", "b")]).await.is_ok());
}

/// Somebody pushes between the building of a commit and the move of its branch.
#[tokio::test]
async fn a_branch_that_was_moved_is_not_overwritten() {
    let here: Arc<OnceLock<Ground>> = Arc::default();
    let pushed: Arc<OnceLock<String>> = Arc::default();
    let probe = {
        let (here, pushed) = (Arc::clone(&here), Arc::clone(&pushed));
        move |moment| {
            assert_eq!(moment, Moment::CommitBuilt);
            let ground = here.get().unwrap();
            pushed.get_or_init(|| ground.push("main", "pushed", "x"));
            true
        }
    };
    let ground = Ground::watched(Arc::new(probe)).await;
    let ground = here.get_or_init(|| ground);
    let made = ground.commit("main", &[file("a", "a")]).await;
    assert_eq!(made, unmet(Unmet::BranchMoved("main".into())));
    assert_eq!(&ground.head("main"), pushed.get().unwrap());
    assert!(ground.commit("main", &[file("a", "a")]).await.is_ok());
}

#[tokio::test]
async fn words_of_the_user_change_nothing() {
    let ground = Ground::new().await;
    for text in ["rate limit", "not found", "validation", "409 conflict"] {
        let turn = writing();
        let files = [file(text, text)];
        let made = ground
            .forge
            .commit_files(&turn, &hello(), "main", text, &files)
            .await;
        assert_eq!(ground.git(&["show", "-s", "--format=%B", "main"]), text);
        assert_eq!(turn.mark.effect(), effect(&made));
    }
    // Git cannot keep a NUL.
    let turn = writing();
    let files = [file("nul", "x\0y")];
    let made = ground
        .forge
        .commit_files(&turn, &hello(), "main", "a\0b", &files)
        .await;
    assert!(made.is_ok());
    assert_eq!(
        ground.git(&["show", "-s", "--format=%B", "main"]),
        "a\u{fffd}b"
    );
    assert_eq!(ground.git(&["cat-file", "-s", "main:nul"]), "3");
}
