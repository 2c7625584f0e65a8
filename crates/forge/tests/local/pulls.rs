//! Pull requests: opened, listed, read, changed, and what they do to files.

use crate::ground::{ALL, Ground, effect, file, git, hello, proposal, reading, repo, writing};
use candor_forge::local::import;
use candor_forge::{
    Failure, FileChange, Forge as _, MergeMethod, Missing, NewPull, Paging, PullChange,
    PullRequest, PullState, Unmet, Wanted,
};

async fn update(ground: &Ground, number: u64, change: PullChange) -> Result<PullRequest, Failure> {
    let turn = writing();
    let made = ground
        .forge
        .update_pull_request(&turn, &hello(), number, &change)
        .await;
    assert_eq!(turn.mark.effect(), effect(&made));
    made
}

fn to(state: PullState) -> PullChange {
    PullChange {
        state: Some(state),
        ..PullChange::default()
    }
}

#[tokio::test]
async fn the_sample_has_one_of_each_kind() {
    let ground = Ground::new().await;
    let first = ground.pull(1).await;
    let wanted = PullRequest {
        number: 1,
        title: "Greet by name".into(),
        body: Some("Says hello to somebody.".into()),
        state: PullState::Open,
        draft: false,
        merged: false,
        head: "feature/greeting".into(),
        head_repo: Some(hello()),
        head_sha: ground.head("feature/greeting"),
        base: "main".into(),
        mergeable: Some(true),
        mergeable_state: Some("clean".into()),
        author: Some("Sample".into()),
        created_at: "2025-01-01T05:00:00Z".into(),
        updated_at: "2025-01-01T05:00:00Z".into(),
        url: "candor:///sample/hello/pull/1".into(),
        node_id: None,
    };
    assert_eq!(first, wanted);
    assert_eq!(ground.state(2).await, (Some(false), "dirty".to_owned()));
    assert_eq!(ground.state(3).await, (Some(true), "draft".to_owned()));
    let turn = reading();
    let missing = ground.forge.pull_request(&turn, &hello(), 4).await;
    assert_eq!(missing, Err(Failure::Missing(Missing::PullRequest(4))));
    let missing = ground.forge.pull_request(&turn, &hello(), u64::MAX).await;
    assert_eq!(
        missing,
        Err(Failure::Missing(Missing::PullRequest(u64::MAX)))
    );
    let missing = ground.forge.pull_request(&turn, &repo("a/b"), 1).await;
    assert_eq!(missing, Err(Failure::Missing(Missing::Repository)));
}

/// Looking at pull requests writes nothing, not even an object.
#[tokio::test]
async fn to_look_is_to_change_nothing() {
    let ground = Ground::new().await;
    ground.push(
        "feature/greeting",
        "README.md",
        "# hello\n\nSays hello, loudly.\n\nMore.\n",
    );
    ground.push("main", "README.md", "# Hello\n\nSays hello, loudly.\n");
    let objects = || ground.git(&["count-objects", "-v"]);
    let before = objects();
    assert_eq!(ground.state(1).await, (Some(true), "clean".to_owned()));
    assert_eq!(ground.state(2).await.0, Some(false));
    let pull = ground.pull(1).await;
    let (turn, hello) = (reading(), hello());
    ground
        .forge
        .details(&turn, &hello, &pull, 1000)
        .await
        .unwrap();
    ground
        .forge
        .pull_requests(&turn, &hello, Wanted::All, ALL)
        .await
        .unwrap();
    assert_eq!(objects(), before);
}

#[tokio::test]
async fn pull_requests_are_listed_from_the_last() {
    let ground = Ground::new().await;
    update(&ground, 2, to(PullState::Closed)).await.unwrap();
    ground.merge(1, MergeMethod::Merge).await.unwrap();
    let list = async |wanted, page, per_page| {
        let paging = Paging { page, per_page };
        let turn = reading();
        let found = ground
            .forge
            .pull_requests(&turn, &hello(), wanted, paging)
            .await
            .unwrap();
        assert!(
            found
                .pulls
                .iter()
                .all(|pull| pull.mergeable.is_none() && pull.mergeable_state.is_none())
        );
        let numbers: Vec<u64> = found.pulls.iter().map(|pull| pull.number).collect();
        (numbers, found.more)
    };
    assert_eq!(list(Wanted::All, 1, 100).await, (vec![3, 2, 1], false));
    assert_eq!(list(Wanted::Open, 1, 100).await, (vec![3], false));
    assert_eq!(list(Wanted::Closed, 1, 1).await, (vec![2], true));
    assert_eq!(list(Wanted::Closed, 2, 1).await, (vec![1], false));
    assert_eq!(list(Wanted::All, u32::MAX, 100).await, (vec![], false));
}

#[tokio::test]
async fn a_pull_request_is_opened_between_two_branches() {
    let ground = Ground::new().await;
    ground.branch("new", "main").await;
    let same = Unmet::NothingToMerge {
        head: "new".into(),
        base: "main".into(),
    };
    assert_eq!(
        ground.propose("new", "main").await,
        Err(Failure::Unmet(same))
    );
    let head = ground.commit("new", &[file("new", "x")]).await.unwrap();
    let turn = writing();
    let new = NewPull {
        title: "validation".into(),
        body: Some("rate limit".into()),
        draft: true,
        head_owner: Some("SAMPLE".into()),
        ..proposal("new", "main")
    };
    let made = ground
        .forge
        .create_pull_request(&turn, &hello(), &new)
        .await
        .unwrap();
    assert_eq!(
        (made.number, made.title.as_str(), made.body.as_deref()),
        (4, "validation", Some("rate limit"))
    );
    assert_eq!((made.head_sha.as_str(), made.draft), (head.as_str(), true));
    assert_eq!(made.author.as_deref(), Some("Ada"));
    assert_eq!(made.created_at, made.updated_at);
    assert_eq!(ground.git(&["rev-parse", "refs/pull/4/head"]), head);
    assert_eq!(
        ground.propose("new", "main").await,
        Err(Failure::Unmet(Unmet::PullExists(4)))
    );
    assert_eq!(ground.propose("new", "conflict").await, Ok(5));
    for (head, base, missing) in [("nope", "main", "nope"), ("new", "not found", "not found")] {
        let missing = Failure::Missing(Missing::Branch(missing.into()));
        assert_eq!(ground.propose(head, base).await, Err(missing));
    }
    // The head follows its branch.
    let later = ground.push("new", "later", "y");
    assert_eq!(ground.pull(4).await.head_sha, later);
}

#[tokio::test]
async fn branches_without_a_common_history_are_unrelated() {
    let ground = Ground::new().await;
    let clone = ground.clone_of("sample/hello");
    git(clone.path(), &["checkout", "-q", "--orphan", "alone"]);
    git(clone.path(), &["commit", "-q", "-m", "Alone"]);
    git(clone.path(), &["push", "-q", "origin", "alone"]);
    assert_eq!(
        ground.propose("alone", "main").await,
        Err(Failure::Unmet(Unmet::Unrelated))
    );
    // A branch that was forced elsewhere conflicts.
    git(
        clone.path(),
        &["push", "-q", "-f", "origin", "alone:feature/greeting"],
    );
    assert_eq!(ground.state(1).await, (Some(false), "dirty".to_owned()));
}

#[tokio::test]
async fn a_branch_of_another_owner_is_brought() {
    let ground = Ground::new().await;
    let fork = repo("friend/HELLO");
    import(ground.dir.path(), &ground.path("sample/hello"), &fork)
        .await
        .unwrap();
    let turn = writing();
    let files = [file("friend", "x\n")];
    let commit = ground
        .forge
        .commit_files(&turn, &fork, "main", "Befriend", &files)
        .await
        .unwrap();
    let new = NewPull {
        head_owner: Some("Friend".into()),
        ..proposal("main", "main")
    };
    let (turn, hello) = (writing(), hello());
    let made = ground
        .forge
        .create_pull_request(&turn, &hello, &new)
        .await
        .unwrap();
    assert_eq!((made.number, &made.head_sha), (4, &commit.sha));
    assert_eq!(made.head_repo.as_ref().unwrap().to_string(), "friend/HELLO");
    assert_eq!(made.mergeable_state.as_deref(), Some("clean"));
    assert_eq!(ground.git(&["rev-parse", "refs/pull/4/head"]), commit.sha);
    ground.git(&["fsck", "--strict"]);
    let again = ground.forge.create_pull_request(&turn, &hello, &new).await;
    assert_eq!(again, Err(Failure::Unmet(Unmet::PullExists(4))));
    // What is committed there later is seen here without being copied, and copied when merged.
    let turn = writing();
    let files = [file("friend", "y\n")];
    let commit = ground
        .forge
        .commit_files(&turn, &fork, "main", "Again", &files)
        .await
        .unwrap();
    let objects = ground.git(&["count-objects", "-v"]);
    let pull = ground.pull(4).await;
    assert_eq!((&pull.head_sha, pull.mergeable), (&commit.sha, Some(true)));
    let details = ground
        .forge
        .details(&reading(), &hello, &pull, 1000)
        .await
        .unwrap();
    assert_eq!(details.files[0].path, "friend");
    assert_eq!(ground.git(&["count-objects", "-v"]), objects);
    let merged = ground.merge(4, MergeMethod::Merge).await.unwrap();
    assert_eq!(ground.head("main"), merged.sha);
    assert_eq!(
        ground.git(&["show", "-s", "--format=%s", "main"]),
        "Merge pull request #4 from Friend/main"
    );
    ground.git(&["fsck", "--strict"]);
    // Without the other repository, what was merged is still here.
    std::fs::remove_dir_all(ground.path("friend/HELLO")).unwrap();
    let pull = ground.pull(4).await;
    assert_eq!((pull.head_repo, pull.head_sha), (None, commit.sha));
    let nobody = NewPull {
        head_owner: Some("nobody".into()),
        ..proposal("conflict", "main")
    };
    let made = ground
        .forge
        .create_pull_request(&writing(), &hello, &nobody)
        .await;
    assert_eq!(
        made,
        Err(Failure::Missing(Missing::Branch("conflict".into())))
    );
}

#[tokio::test]
async fn title_body_draft_and_state_change() {
    let ground = Ground::new().await;
    let change = PullChange {
        title: Some("not found".into()),
        body: Some(String::new()),
        state: None,
        draft: Some(true),
    };
    let made = update(&ground, 1, change).await.unwrap();
    assert_eq!(
        (made.title.as_str(), made.body, made.draft),
        ("not found", None, true)
    );
    assert_eq!(made.mergeable_state.as_deref(), Some("draft"));
    assert_eq!(made.created_at, "2025-01-01T05:00:00Z");
    assert_eq!(made.updated_at, "2026-02-03T04:05:06Z");
    let ready = PullChange {
        draft: Some(false),
        ..PullChange::default()
    };
    assert_eq!(
        update(&ground, 1, ready)
            .await
            .unwrap()
            .mergeable_state
            .as_deref(),
        Some("clean")
    );
    let closed = update(&ground, 1, to(PullState::Closed)).await.unwrap();
    assert_eq!(
        (closed.state, closed.merged, closed.mergeable),
        (PullState::Closed, false, None)
    );
    assert_eq!(closed.mergeable_state.as_deref(), Some("unknown"));
    // A closed one does not follow its branch, until it is opened again.
    let later = ground.push("feature/greeting", "later", "y");
    assert_ne!(ground.pull(1).await.head_sha, later);
    assert_eq!(
        update(&ground, 1, to(PullState::Open))
            .await
            .unwrap()
            .head_sha,
        later
    );
    let missing = update(&ground, 9, to(PullState::Open)).await;
    assert_eq!(missing, Err(Failure::Missing(Missing::PullRequest(9))));
}

#[tokio::test]
async fn what_stands_against_opening_again() {
    let ground = Ground::new().await;
    update(&ground, 1, to(PullState::Closed)).await.unwrap();
    assert_eq!(ground.propose("feature/greeting", "main").await, Ok(4));
    let exists = Failure::Unmet(Unmet::PullExists(4));
    assert_eq!(update(&ground, 1, to(PullState::Open)).await, Err(exists));
    update(&ground, 4, to(PullState::Closed)).await.unwrap();
    ground.git(&["branch", "-D", "feature/greeting"]);
    let missing = Failure::Missing(Missing::Branch("feature/greeting".into()));
    assert_eq!(update(&ground, 1, to(PullState::Open)).await, Err(missing));
}

#[tokio::test]
async fn a_merged_one_is_reworded_and_nothing_else() {
    let ground = Ground::new().await;
    ground.merge(1, MergeMethod::Squash).await.unwrap();
    let again = Failure::Unmet(Unmet::AlreadyMerged(1));
    assert_eq!(
        update(&ground, 1, to(PullState::Open)).await,
        Err(again.clone())
    );
    let draft = PullChange {
        draft: Some(true),
        ..PullChange::default()
    };
    assert_eq!(update(&ground, 1, draft).await, Err(again));
    let title = PullChange {
        title: Some("Later".into()),
        state: Some(PullState::Closed),
        draft: Some(false),
        ..PullChange::default()
    };
    let made = update(&ground, 1, title).await.unwrap();
    assert_eq!(
        (made.title.as_str(), made.merged, made.state),
        ("Later", true, PullState::Closed)
    );
}

#[tokio::test]
async fn details_tell_what_becomes_of_files() {
    let ground = Ground::new().await;
    let clone = ground.clone_of("sample/hello");
    let at = clone.path();
    git(at, &["checkout", "-q", "-b", "many"]);
    git(at, &["mv", "docs/guide.md", "docs/manual.md"]);
    git(at, &["rm", "-q", "README.md"]);
    std::fs::write(at.join("added"), "one\ntwo\n").unwrap();
    std::fs::write(at.join("binary"), [0, 1, 2, 0]).unwrap();
    std::fs::write(
        at.join("src/main.rs"),
        "fn main() {\n    println!(\"bye\");\n}\n",
    )
    .unwrap();
    git(at, &["add", "."]);
    git(at, &["commit", "-q", "-m", "Many"]);
    git(at, &["push", "-q", "origin", "many"]);
    let number = ground.propose("many", "main").await.unwrap();
    // What happens to the base meanwhile is not the pull request's doing.
    ground.push("main", "other", "x");
    let pull = ground.pull(number).await;
    let (turn, hello) = (reading(), hello());
    let details = ground
        .forge
        .details(&turn, &hello, &pull, 10_000)
        .await
        .unwrap();
    let change = |path: &str, status: &str, additions, deletions, patch: Option<&str>| FileChange {
        path: path.into(),
        status: status.into(),
        additions,
        deletions,
        patch: patch.map(str::to_owned),
    };
    let wanted = [
        change(
            "README.md",
            "removed",
            0,
            3,
            Some("@@ -1,3 +0,0 @@\n-# hello\n-\n-Says hello, loudly.\n"),
        ),
        change(
            "added",
            "added",
            2,
            0,
            Some("@@ -0,0 +1,2 @@\n+one\n+two\n"),
        ),
        change("binary", "added", 0, 0, None),
        change("docs/manual.md", "renamed", 0, 0, None),
        change(
            "src/main.rs",
            "modified",
            1,
            1,
            Some(
                "@@ -1,3 +1,3 @@\n fn main() {\n-    println!(\"hello\");\n+    println!(\"bye\");\n }\n",
            ),
        ),
    ];
    assert_eq!(details.files, wanted);
    assert!(!details.truncated && details.reviews.is_empty());
    let cut = ground
        .forge
        .details(&turn, &hello, &pull, 60)
        .await
        .unwrap();
    let kept: Vec<bool> = cut.files.iter().map(|file| file.patch.is_some()).collect();
    assert_eq!(
        (kept, cut.truncated),
        (vec![true, false, false, false, false], true)
    );
    // Once merged, it still tells what it did.
    ground.merge(number, MergeMethod::Squash).await.unwrap();
    let pull = ground.pull(number).await;
    let later = ground
        .forge
        .details(&turn, &hello, &pull, 10_000)
        .await
        .unwrap();
    assert_eq!(later, details);
}
