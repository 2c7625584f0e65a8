//! Commits of files: all or none, modes kept, never forced.

use crate::fixture::local::{LocalFixture, effect, file, git, hello, repo, writing_context};
use candor_forge::local::{BranchRules, ChangePoint};
use candor_forge::{CreatedCommit, Failure, Forge as _, MissingItem, NewFile, UnmetPrecondition};
use std::os::unix::fs::symlink;
use std::sync::{Arc, OnceLock};

fn unmet(unmet: UnmetPrecondition) -> Result<String, Failure> {
    Err(Failure::Unmet(unmet))
}

#[tokio::test]
async fn commit_has_the_files_on_top_of_the_branch() {
    let fixture = LocalFixture::new().await;
    let parent = fixture.head("main");
    let (context, hello) = (writing_context(), hello());
    let files = [
        file("README.md", ""),
        file("a/b/c.txt", "new\n"),
        NewFile {
            path: "a/bytes".into(),
            bytes: vec![0, 255, 10],
        },
    ];
    let made =
        fixture
            .forge
            .commit_files(&context, &hello, "main", "rate limit\n\nvalidation", &files);
    let made = made.await.unwrap();
    let sha = fixture.head("main");
    let expected = CreatedCommit {
        url: format!("candor:///sample/hello/commit/{sha}"),
        sha: sha.clone(),
        parent: parent.clone(),
    };
    assert_eq!(made, expected);
    assert_eq!(
        fixture.git(&["show", "-s", "--format=%P|%an|%ae|%at|%cn|%ct|%B", &sha]),
        format!("{parent}|Ada|ada@example.com|1770091506|Ada|1770091506|rate limit\n\nvalidation")
    );
    let changed = fixture.git(&["diff-tree", "-r", "--name-status", &parent, &sha]);
    assert_eq!(changed, "M\tREADME.md\nA\ta/b/c.txt\nA\ta/bytes");
    assert_eq!(fixture.git(&["cat-file", "-s", "main:README.md"]), "0");
    assert_eq!(fixture.git(&["cat-file", "-s", "main:a/bytes"]), "3");
    fixture.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn modes_are_kept() {
    let fixture = LocalFixture::new().await;
    let clone = fixture.clone_repository("sample/hello");
    let at = clone.path();
    std::fs::write(at.join("run"), "x").unwrap();
    symlink("README.md", at.join("link")).unwrap();
    git(at, &["add", "."]);
    git(at, &["update-index", "--chmod=+x", "run"]);
    git(at, &["commit", "-q", "-m", "Modes"]);
    git(at, &["push", "-q", "origin", "main"]);
    fixture
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
    let listed = fixture.git(&["ls-tree", "--format=%(objectmode) %(path)", "main"]);
    let expected =
        "100644 README.md\n040000 docs\n120000 link\n100644 plain\n100755 run\n040000 src";
    assert_eq!(listed, expected);
    assert_eq!(fixture.git(&["cat-file", "-p", "main:link"]), "src/main.rs");
}

#[tokio::test]
async fn file_cannot_replace_a_directory() {
    let fixture = LocalFixture::new().await;
    let before = fixture.head("main");
    for (files, path) in [
        (&[file("docs", "x")][..], "docs"),
        (&[file("README.md/x/y", "x")], "README.md"),
        (&[file("a", "x"), file("a/b", "x")], "a/b"),
        (&[file("a/b", "x"), file("a", "x")], "a"),
        (&[file("a", "x"), file("a", "y")], "a"),
        (&[file("new", "x"), file("src", "x")], "src"),
    ] {
        assert_eq!(
            fixture.commit("main", files).await,
            unmet(UnmetPrecondition::PathConflict(path.into()))
        );
    }
    assert_eq!(fixture.head("main"), before);
}

#[tokio::test]
async fn commit_that_changes_nothing_is_refused() {
    let fixture = LocalFixture::new().await;
    let before = fixture.head("main");
    let same = file("README.md", "# hello\n\nSays hello, loudly.\n");
    let made = fixture.commit("main", &[same]).await;
    assert_eq!(made, unmet(UnmetPrecondition::NothingToCommit));
    assert_eq!(fixture.head("main"), before);
}

#[tokio::test]
async fn missing_or_protected_branch_accepts_no_commit() {
    let fixture = LocalFixture::new().await;
    let files = [file("a", "a")];
    let missing = Failure::Missing(MissingItem::Branch("not found".into()));
    assert_eq!(fixture.commit("not found", &files).await, Err(missing));
    let context = writing_context();
    let made = fixture
        .forge
        .commit_files(&context, &repo("a/b"), "main", "m", &files)
        .await;
    assert_eq!(made, Err(Failure::Missing(MissingItem::Repository)));
    let checks = BranchRules {
        required_checks: ["ci".to_owned()].into(),
        ..BranchRules::default()
    };
    fixture
        .forge
        .protect(&hello(), "main", &checks)
        .await
        .unwrap();
    assert!(fixture.commit("main", &files).await.is_ok());
    for rules in [
        BranchRules {
            require_pull_request: true,
            ..BranchRules::default()
        },
        BranchRules {
            locked: true,
            ..BranchRules::default()
        },
    ] {
        fixture
            .forge
            .protect(&hello(), "main", &rules)
            .await
            .unwrap();
        let protected = unmet(UnmetPrecondition::BranchProtected("main".into()));
        assert_eq!(fixture.commit("main", &files).await, protected);
    }
    assert!(fixture.forge.unprotect(&hello(), "main").await.unwrap());
    assert!(fixture.commit("main", &[file("a", "b")]).await.is_ok());
}

/// A push happens after a commit is built and before its branch is moved.
#[tokio::test]
async fn branch_that_was_moved_is_not_overwritten() {
    let here: Arc<OnceLock<LocalFixture>> = Arc::default();
    let pushed: Arc<OnceLock<String>> = Arc::default();
    let probe = {
        let (here, pushed) = (Arc::clone(&here), Arc::clone(&pushed));
        move |moment| {
            assert_eq!(moment, ChangePoint::CommitBuilt);
            let fixture = here.get().unwrap();
            pushed.get_or_init(|| fixture.push("main", "pushed", "x"));
            true
        }
    };
    let fixture = LocalFixture::watched(Arc::new(probe)).await;
    let fixture = here.get_or_init(|| fixture);
    let made = fixture.commit("main", &[file("a", "a")]).await;
    assert_eq!(made, unmet(UnmetPrecondition::BranchMoved("main".into())));
    assert_eq!(&fixture.head("main"), pushed.get().unwrap());
    assert!(fixture.commit("main", &[file("a", "a")]).await.is_ok());
}

#[tokio::test]
async fn user_git_configuration_has_no_influence() {
    let fixture = LocalFixture::new().await;
    for text in ["rate limit", "not found", "validation", "409 conflict"] {
        let context = writing_context();
        let files = [file(text, text)];
        let made = fixture
            .forge
            .commit_files(&context, &hello(), "main", text, &files)
            .await;
        assert_eq!(fixture.git(&["show", "-s", "--format=%B", "main"]), text);
        assert_eq!(context.mark.effect(), effect(&made));
    }
    // Git cannot keep a NUL.
    let context = writing_context();
    let files = [file("nul", "x\0y")];
    let made = fixture
        .forge
        .commit_files(&context, &hello(), "main", "a\0b", &files)
        .await;
    assert!(made.is_ok());
    assert_eq!(
        fixture.git(&["show", "-s", "--format=%B", "main"]),
        "a\u{fffd}b"
    );
    assert_eq!(fixture.git(&["cat-file", "-s", "main:nul"]), "3");
}
