//! Many changes at once: none is lost, none is made twice.

use crate::fixture::local::{
    LocalFixture, clock, file, hello, identity, reopen, unmergeable_reason, writing_context,
};
use candor_fault::Effect;
use candor_forge::{
    Failure, Forge as _, LocalForge, MergeMethod, UnmergeableReason, UnmetPrecondition,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::task::JoinSet;

const TASKS: usize = 32;

/// Commits from two processes' worth of forges, with somebody pushing in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_commits_are_all_in_the_history() {
    let fixture = LocalFixture::new().await;
    let before: usize = fixture
        .git(&["rev-list", "--count", "main"])
        .parse()
        .unwrap();
    let other = Arc::new(reopen(fixture.dir.path()).await);
    let one = Arc::new(
        LocalForge::open(fixture.dir.path(), clock(), identity())
            .await
            .unwrap(),
    );
    let mut tasks = JoinSet::new();
    for number in 0..TASKS {
        let forge = Arc::clone(if number % 2 == 0 { &one } else { &other });
        tasks.spawn(async move {
            let (context, hello) = (writing_context(), hello());
            let files = [file(&format!("file-{number}"), "x")];
            let made = forge
                .commit_files(&context, &hello, "main", "m", &files)
                .await;
            (made, context.mark.effect())
        });
    }
    let clone = fixture.clone_repository("sample/hello");
    let mut pushed = 0;
    for number in 0..4 {
        let git = |arguments: &[&str]| crate::fixture::local::git(clone.path(), arguments);
        git(&["fetch", "-q"]);
        git(&["reset", "-q", "--hard", "origin/main"]);
        git(&[
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            &format!("Pushed {number}"),
        ]);
        let push = std::process::Command::new("git")
            .current_dir(clone.path())
            .args(["push", "-q", "origin", "HEAD:main"])
            .output();
        pushed += usize::from(push.unwrap().status.success());
    }
    let mut made = BTreeSet::new();
    while let Some(task) = tasks.join_next().await {
        match task.unwrap() {
            (Ok(commit), Effect::Done) => assert!(made.insert(commit.sha)),
            (Err(Failure::Unmet(UnmetPrecondition::BranchMoved(branch))), Effect::None) => {
                assert_eq!(branch, "main")
            }
            other => panic!("{other:?}"),
        }
    }
    let history = fixture.git(&["rev-list", "main"]);
    let history: BTreeSet<String> = history.lines().map(str::to_owned).collect();
    assert!(made.is_subset(&history));
    assert_eq!(history.len(), before + made.len() + pushed);
    fixture.git(&["fsck", "--strict"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_two_concurrent_merges_wins() {
    let fixture = LocalFixture::new().await;
    let base = fixture.head("main");
    let instruction = fixture.instruction(1, MergeMethod::Squash).await;
    let other = reopen(fixture.dir.path()).await;
    let (context, other_turn, hello) = (writing_context(), writing_context(), hello());
    let (one, two) = tokio::join!(
        fixture.forge.merge(&context, &hello, &instruction),
        other.merge(&other_turn, &hello, &instruction),
    );
    let (won, lost) = if one.is_ok() { (one, two) } else { (two, one) };
    assert_eq!(won.unwrap().sha, fixture.head("main"));
    assert_eq!(unmergeable_reason(lost).0, UnmergeableReason::Merged);
    assert_eq!(fixture.git(&["rev-parse", "main~1"]), base);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_concurrent_pull_requests_is_opened() {
    let fixture = LocalFixture::new().await;
    fixture.branch("new", "main").await;
    fixture.commit("new", &[file("x", "x")]).await.unwrap();
    let all = (0..8).map(|_| fixture.open_pull("new", "main"));
    let all = futures_util::future::join_all(all).await;
    let opened: Vec<&u64> = all.iter().flatten().collect();
    assert_eq!(opened, [&4]);
    let exists = Err(Failure::Unmet(UnmetPrecondition::PullExists(4)));
    assert_eq!(all.iter().filter(|one| **one == exists).count(), 7);
}
