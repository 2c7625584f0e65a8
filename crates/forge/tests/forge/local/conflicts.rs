//! Conflicts beside `git merge-tree`, updated branches, and reverts.

use crate::fixture::local::{
    LocalFixture, effect, file, git, hello, reading_context, repo, writing_context,
};
use candor_fault::Effect;
use candor_forge::local::BranchRules;
use candor_forge::{
    ChangeForge as _, Conflict, ConflictKind, Failure, Forge as _, MergeMethod, PullRequest,
    RevertInstruction, UnmergeablePull, UnmergeableReason, UnmetPrecondition, UpdatedBranch,
};
use std::fs;

async fn conflicts(fixture: &LocalFixture, number: u64) -> Vec<Conflict> {
    let (context, hello) = (reading_context(), hello());
    let pull = fixture.pull(number).await;
    let report = fixture
        .forge
        .conflicts(&context, &hello, &pull)
        .await
        .unwrap();
    assert_eq!(report.changed_on_both, None);
    report.conflicts.unwrap_or_default()
}

async fn update(fixture: &LocalFixture, pull: &PullRequest) -> Result<UpdatedBranch, Failure> {
    let context = writing_context();
    let made = fixture
        .forge
        .update_pull_branch(&context, &hello(), pull)
        .await;
    let expected = match &made {
        Ok(made) if !made.updated => Effect::None,
        made => effect(made),
    };
    assert_eq!(context.mark.effect(), expected);
    made
}

async fn revert(fixture: &LocalFixture, number: u64) -> Result<PullRequest, Failure> {
    let context = writing_context();
    let order = RevertInstruction {
        pull: fixture.pull(number).await,
        title: None,
        body: None,
        draft: false,
    };
    let made = fixture.forge.revert_pull(&context, &hello(), &order).await;
    assert_eq!(context.mark.effect(), effect(&made));
    made
}

fn unmergeable<T: std::fmt::Debug>(made: Result<T, Failure>) -> (UnmergeableReason, Vec<Conflict>) {
    match made {
        Err(Failure::Unmergeable(UnmergeablePull {
            reason,
            conflicts: Some(report),
            ..
        })) => (reason, report.conflicts.unwrap()),
        other => panic!("{other:?}"),
    }
}

fn conflict(path: &str, kind: ConflictKind) -> Conflict {
    Conflict {
        path: path.to_owned(),
        kind,
    }
}

/// A pull request that conflicts in every way, and the paths that git names.
#[tokio::test]
async fn every_kind_of_conflict_is_named() {
    let fixture = LocalFixture::new().await;
    let clone = fixture.clone_repository("sample/hello");
    let at = clone.path();
    let commit = |branch: &str| {
        git(at, &["add", "--all"]);
        git(at, &["commit", "-q", "-m", branch]);
        git(at, &["push", "-q", "origin", branch]);
    };
    let long = |word: &str| (0..30).map(|n| format!("{word} {n}\n")).collect::<String>();
    git(at, &["checkout", "-q", "-b", "onto"]);
    for name in ["content", "deleted", "kept"] {
        fs::write(at.join(name), long(name)).unwrap();
    }
    fs::write(at.join("renamed"), long("renamed")).unwrap();
    commit("onto");
    git(at, &["checkout", "-q", "-b", "topic"]);
    fs::write(at.join("content"), long("topic")).unwrap();
    fs::remove_file(at.join("deleted")).unwrap();
    fs::write(at.join("added"), "topic\n").unwrap();
    fs::rename(at.join("renamed"), at.join("renamed-topic")).unwrap();
    commit("topic");
    git(at, &["checkout", "-q", "onto"]);
    fs::write(at.join("content"), long("onto")).unwrap();
    fs::write(at.join("deleted"), long("changed")).unwrap();
    fs::write(at.join("added"), "onto\n").unwrap();
    fs::rename(at.join("renamed"), at.join("renamed-onto")).unwrap();
    commit("onto");
    let number = fixture.open_pull("topic", "onto").await.unwrap();
    let found = conflicts(&fixture, number).await;
    assert!(found.is_sorted());
    for expected in [
        conflict("added", ConflictKind::AddAdd),
        conflict("content", ConflictKind::Content),
        conflict("deleted", ConflictKind::DeleteModify),
        conflict("renamed-onto", ConflictKind::Rename),
        conflict("renamed-topic", ConflictKind::Rename),
    ] {
        assert!(found.contains(&expected), "{expected:?} {found:?}");
    }
    assert!(!found.iter().any(|one| one.path == "kept"));
    // The same paths stop an update, and nothing is changed.
    let head = fixture.head("topic");
    let pull = fixture.pull(number).await;
    let (reason, named) = unmergeable(update(&fixture, &pull).await);
    assert_eq!((reason, named), (UnmergeableReason::Conflict, found));
    assert_eq!(fixture.head("topic"), head);
}

#[tokio::test]
async fn conflicting_sample_names_its_file() {
    let fixture = LocalFixture::new().await;
    let expected = [conflict("README.md", ConflictKind::Content)];
    assert_eq!(conflicts(&fixture, 2).await, expected);
    assert_eq!(conflicts(&fixture, 1).await, []);
}

#[tokio::test]
async fn branch_is_updated_once() {
    let fixture = LocalFixture::new().await;
    fixture.branch("topic", "main").await;
    fixture
        .commit("topic", &[file("topic", "t\n")])
        .await
        .unwrap();
    let number = fixture.open_pull("topic", "main").await.unwrap();
    let pull = fixture.pull(number).await;
    let made = update(&fixture, &pull).await.unwrap();
    assert!(!made.updated && !made.pending);
    assert_eq!(made.head_sha, pull.head_sha);
    fixture
        .commit("main", &[file("onto", "o\n")])
        .await
        .unwrap();
    let made = update(&fixture, &pull).await.unwrap();
    assert!(made.updated);
    assert_eq!(made.previous_head_sha, pull.head_sha);
    assert_eq!(made.head_sha, fixture.head("topic"));
    let parents = fixture.git(&["rev-list", "--parents", "-1", "topic"]);
    let expected = format!(
        "{} {} {}",
        made.head_sha,
        pull.head_sha,
        fixture.head("main")
    );
    assert_eq!(parents, expected);
    let subject = fixture.git(&["log", "-1", "--format=%s", "topic"]);
    assert_eq!(subject, "Merge branch 'main' into topic");
    // The head that was seen before is another one now.
    let stale = update(&fixture, &pull).await.unwrap_err();
    let expected = Failure::BranchHeadMoved {
        expected: pull.head_sha.clone(),
        actual: Some(made.head_sha.clone()),
    };
    assert_eq!(stale, expected);
    let again = update(&fixture, &fixture.pull(number).await).await.unwrap();
    assert!(!again.updated);
    fixture.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn protected_branch_is_not_updated() {
    let fixture = LocalFixture::new().await;
    fixture
        .commit("main", &[file("onto", "o\n")])
        .await
        .unwrap();
    let rules = BranchRules {
        locked: true,
        ..BranchRules::default()
    };
    let branch = "feature/greeting";
    fixture
        .forge
        .protect(&hello(), branch, &rules)
        .await
        .unwrap();
    let made = update(&fixture, &fixture.pull(1).await).await;
    let expected = UnmetPrecondition::BranchProtected(branch.to_owned());
    assert_eq!(made, Err(expected.into()));
}

#[tokio::test]
async fn branch_of_a_fork_is_updated_there() {
    let fixture = LocalFixture::new().await;
    let clone = fixture.clone_repository("sample/hello");
    let at = clone.path();
    git(at, &["checkout", "-q", "-b", "topic"]);
    fs::write(at.join("fork.txt"), "fork\n").unwrap();
    git(at, &["add", "."]);
    git(at, &["commit", "-q", "-m", "Fork"]);
    candor_forge::local::import(fixture.dir.path(), at, &repo("octo/hello"))
        .await
        .unwrap();
    let context = writing_context();
    let mut new = crate::fixture::local::new_pull("topic", "main");
    new.head_owner = Some(String::from("octo"));
    let opened = fixture
        .forge
        .create_pull_request(&context, &hello(), &new)
        .await;
    let number = opened.unwrap().number;
    fixture
        .commit("main", &[file("onto", "o\n")])
        .await
        .unwrap();
    let made = update(&fixture, &fixture.pull(number).await).await.unwrap();
    let fork = fixture.path("octo/hello");
    assert_eq!(git(&fork, &["rev-parse", "topic"]), made.head_sha);
    assert_eq!(git(&fork, &["rev-parse", "topic^2"]), fixture.head("main"));
    git(&fork, &["fsck", "--strict"]);
    assert_eq!(fixture.pull(number).await.head_sha, made.head_sha);
}

#[tokio::test]
async fn every_method_of_merging_is_reverted_as_one_commit() {
    for method in [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase] {
        let fixture = LocalFixture::new().await;
        fixture.branch("topic", "main").await;
        fixture
            .commit("topic", &[file("one", "1\n")])
            .await
            .unwrap();
        let second = [file("two", "2\n"), file("README.md", "other\n")];
        fixture.commit("topic", &second).await.unwrap();
        let number = fixture.open_pull("topic", "main").await.unwrap();
        let not_merged = revert(&fixture, number).await;
        assert_eq!(not_merged, Err(UnmetPrecondition::NotMerged(number).into()));
        let before = fixture.git(&["rev-parse", "main^{tree}"]);
        fixture.merge(number, method).await.unwrap();
        let made = revert(&fixture, number).await.unwrap();
        assert_eq!(made.head, format!("revert-{number}-topic"));
        assert_eq!(made.base, "main");
        assert_eq!(made.title, "Revert \"From topic\"");
        assert_eq!(made.body, Some(format!("Reverts sample/hello#{number}")));
        assert_eq!(made.mergeable, Some(true));
        let tree = fixture.git(&["rev-parse", &format!("{}^{{tree}}", made.head_sha)]);
        assert_eq!(tree, before, "{method:?}");
        let parent = fixture.git(&["rev-parse", &format!("{}^", made.head_sha)]);
        assert_eq!(parent, fixture.head("main"));
        // An open revert is named; a closed one leaves its branch.
        let again = revert(&fixture, number).await;
        assert_eq!(
            again,
            Err(UnmetPrecondition::RevertExists(made.number).into())
        );
        let closed = candor_forge::PullRequestChange {
            state: Some(candor_forge::PullState::Closed),
            ..Default::default()
        };
        let (context, forge, hello) = (writing_context(), &fixture.forge, hello());
        let changed = forge.update_pull_request(&context, &hello, made.number, &closed);
        changed.await.unwrap();
        let next = revert(&fixture, number).await.unwrap();
        assert_eq!(next.head, format!("revert-{number}-topic-2"));
        fixture
            .merge(next.number, MergeMethod::Squash)
            .await
            .unwrap();
        let nothing = revert(&fixture, number).await;
        assert_eq!(nothing, Err(UnmetPrecondition::NothingToCommit.into()));
        fixture.git(&["fsck", "--strict"]);
    }
}

#[tokio::test]
async fn revert_that_conflicts_has_no_effect() {
    let fixture = LocalFixture::new().await;
    fixture.branch("topic", "main").await;
    fixture.commit("topic", &[file("a", "1\n")]).await.unwrap();
    let number = fixture.open_pull("topic", "main").await.unwrap();
    fixture.merge(number, MergeMethod::Squash).await.unwrap();
    fixture.commit("main", &[file("a", "2\n")]).await.unwrap();
    let branches = fixture.git(&["for-each-ref", "refs/heads"]);
    let (reason, named) = unmergeable(revert(&fixture, number).await);
    assert_eq!(reason, UnmergeableReason::RevertConflict);
    assert_eq!(named, [conflict("a", ConflictKind::DeleteModify)]);
    assert_eq!(fixture.git(&["for-each-ref", "refs/heads"]), branches);
}
