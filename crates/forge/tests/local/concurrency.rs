//! Many changes at once: none is lost, none is made twice.

use crate::ground::{Ground, clock, file, hello, identity, reopened, why, writing};
use candor_fault::Effect;
use candor_forge::{Failure, Forge as _, LocalForge, MergeMethod, Unmet, Why};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::task::JoinSet;

const TASKS: usize = 32;

/// Commits from two processes' worth of forges, with somebody pushing in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_commit_that_was_made_is_in_the_history() {
    let ground = Ground::new().await;
    let before: usize = ground
        .git(&["rev-list", "--count", "main"])
        .parse()
        .unwrap();
    let other = Arc::new(reopened(ground.dir.path()).await);
    let one = Arc::new(
        LocalForge::open(ground.dir.path(), clock(), identity())
            .await
            .unwrap(),
    );
    let mut tasks = JoinSet::new();
    for number in 0..TASKS {
        let forge = Arc::clone(if number % 2 == 0 { &one } else { &other });
        tasks.spawn(async move {
            let (turn, hello) = (writing(), hello());
            let files = [file(&format!("file-{number}"), "x")];
            let made = forge.commit_files(&turn, &hello, "main", "m", &files).await;
            (made, turn.mark.effect())
        });
    }
    let clone = ground.clone_of("sample/hello");
    let mut pushed = 0;
    for number in 0..4 {
        let git = |arguments: &[&str]| crate::ground::git(clone.path(), arguments);
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
            (Err(Failure::Unmet(Unmet::BranchMoved(branch))), Effect::None) => {
                assert_eq!(branch, "main")
            }
            other => panic!("{other:?}"),
        }
    }
    let history = ground.git(&["rev-list", "main"]);
    let history: BTreeSet<String> = history.lines().map(str::to_owned).collect();
    assert!(made.is_subset(&history));
    assert_eq!(history.len(), before + made.len() + pushed);
    ground.git(&["fsck", "--strict"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_merges_one_wins() {
    let ground = Ground::new().await;
    let base = ground.head("main");
    let order = ground.order(1, MergeMethod::Squash).await;
    let other = reopened(ground.dir.path()).await;
    let (turn, other_turn, hello) = (writing(), writing(), hello());
    let (one, two) = tokio::join!(
        ground.forge.merge(&turn, &hello, &order),
        other.merge(&other_turn, &hello, &order),
    );
    let (won, lost) = if one.is_ok() { (one, two) } else { (two, one) };
    assert_eq!(won.unwrap().sha, ground.head("main"));
    assert_eq!(why(lost).0, Why::Merged);
    assert_eq!(ground.git(&["rev-parse", "main~1"]), base);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_proposals_one_is_opened() {
    let ground = Ground::new().await;
    ground.branch("new", "main").await;
    ground.commit("new", &[file("x", "x")]).await.unwrap();
    let all = (0..8).map(|_| ground.propose("new", "main"));
    let all = futures_util::future::join_all(all).await;
    let opened: Vec<&u64> = all.iter().flatten().collect();
    assert_eq!(opened, [&4]);
    let exists = Err(Failure::Unmet(Unmet::PullExists(4)));
    assert_eq!(all.iter().filter(|one| **one == exists).count(), 7);
}
