//! Pull requests: opened, listed, read, changed, and what they do to files.

use crate::fixture::local::{
    ALL, LocalFixture, effect, file, git, hello, new_pull, reading_context, repo, writing_context,
};
use candor_forge::local::import;
use candor_forge::{
    Failure, Forge as _, MergeMethod, MissingItem, NewPullRequest, Paging, PullAttributes,
    PullFileChange, PullFilter, PullRequest, PullRequestChange, PullState, UnmetPrecondition,
};

async fn update(
    fixture: &LocalFixture,
    number: u64,
    change: PullRequestChange,
) -> Result<PullRequest, Failure> {
    let context = writing_context();
    let made = fixture
        .forge
        .update_pull_request(&context, &hello(), number, &change)
        .await;
    assert_eq!(context.mark.effect(), effect(&made));
    made
}

fn to(state: PullState) -> PullRequestChange {
    PullRequestChange {
        state: Some(state),
        ..PullRequestChange::default()
    }
}

#[tokio::test]
async fn sample_has_one_of_each_kind() {
    let fixture = LocalFixture::new().await;
    let first = fixture.pull(1).await;
    let expected = PullRequest {
        number: 1,
        title: "Greet by name".into(),
        body: Some("Says hello to somebody.".into()),
        state: PullState::Open,
        draft: false,
        merged: false,
        head: "feature/greeting".into(),
        head_repo: Some(hello()),
        head_sha: fixture.head("feature/greeting"),
        base: "main".into(),
        mergeable: Some(true),
        mergeable_state: Some("clean".into()),
        author: Some("Sample".into()),
        created_at: "2025-01-01T05:00:00Z".into(),
        updated_at: "2025-01-01T05:00:00Z".into(),
        url: "candor:///sample/hello/pull/1".into(),
        node_id: None,
        attributes: PullAttributes::default(),
    };
    assert_eq!(first, expected);
    assert_eq!(fixture.state(2).await, (Some(false), "dirty".to_owned()));
    assert_eq!(fixture.state(3).await, (Some(true), "draft".to_owned()));
    let context = reading_context();
    let missing = fixture.forge.pull_request(&context, &hello(), 4).await;
    assert_eq!(missing, Err(Failure::Missing(MissingItem::PullRequest(4))));
    let missing = fixture
        .forge
        .pull_request(&context, &hello(), u64::MAX)
        .await;
    assert_eq!(
        missing,
        Err(Failure::Missing(MissingItem::PullRequest(u64::MAX)))
    );
    let missing = fixture.forge.pull_request(&context, &repo("a/b"), 1).await;
    assert_eq!(missing, Err(Failure::Missing(MissingItem::Repository)));
}

/// Looking at pull requests writes nothing, not even an object.
#[tokio::test]
async fn reading_a_pull_request_changes_nothing() {
    let fixture = LocalFixture::new().await;
    fixture.push(
        "feature/greeting",
        "README.md",
        "# hello\n\nSays hello, loudly.\n\nMore.\n",
    );
    fixture.push("main", "README.md", "# Hello\n\nSays hello, loudly.\n");
    let objects = || fixture.git(&["count-objects", "-v"]);
    let before = objects();
    assert_eq!(fixture.state(1).await, (Some(true), "clean".to_owned()));
    assert_eq!(fixture.state(2).await.0, Some(false));
    let pull = fixture.pull(1).await;
    let (context, hello) = (reading_context(), hello());
    fixture
        .forge
        .details(&context, &hello, &pull, 1000)
        .await
        .unwrap();
    fixture
        .forge
        .pull_requests(&context, &hello, PullFilter::All, ALL)
        .await
        .unwrap();
    assert_eq!(objects(), before);
}

#[tokio::test]
async fn pull_requests_are_listed_newest_first() {
    let fixture = LocalFixture::new().await;
    update(&fixture, 2, to(PullState::Closed)).await.unwrap();
    fixture.merge(1, MergeMethod::Merge).await.unwrap();
    let list = async |expected, page, per_page| {
        let paging = Paging { page, per_page };
        let context = reading_context();
        let found = fixture
            .forge
            .pull_requests(&context, &hello(), expected, paging)
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
    assert_eq!(list(PullFilter::All, 1, 100).await, (vec![3, 2, 1], false));
    assert_eq!(list(PullFilter::Open, 1, 100).await, (vec![3], false));
    assert_eq!(list(PullFilter::Closed, 1, 1).await, (vec![2], true));
    assert_eq!(list(PullFilter::Closed, 2, 1).await, (vec![1], false));
    assert_eq!(list(PullFilter::All, u32::MAX, 100).await, (vec![], false));
}

#[tokio::test]
async fn pull_request_is_opened_between_two_branches() {
    let fixture = LocalFixture::new().await;
    fixture.branch("new", "main").await;
    let same = UnmetPrecondition::NothingToMerge {
        head: "new".into(),
        base: "main".into(),
    };
    assert_eq!(
        fixture.open_pull("new", "main").await,
        Err(Failure::Unmet(same))
    );
    let head = fixture.commit("new", &[file("new", "x")]).await.unwrap();
    let context = writing_context();
    let new = NewPullRequest {
        title: "validation".into(),
        body: Some("rate limit".into()),
        draft: true,
        head_owner: Some("SAMPLE".into()),
        ..new_pull("new", "main")
    };
    let made = fixture
        .forge
        .create_pull_request(&context, &hello(), &new)
        .await
        .unwrap();
    assert_eq!(
        (made.number, made.title.as_str(), made.body.as_deref()),
        (4, "validation", Some("rate limit"))
    );
    assert_eq!((made.head_sha.as_str(), made.draft), (head.as_str(), true));
    assert_eq!(made.author.as_deref(), Some("Ada"));
    assert_eq!(made.created_at, made.updated_at);
    assert_eq!(fixture.git(&["rev-parse", "refs/pull/4/head"]), head);
    assert_eq!(
        fixture.open_pull("new", "main").await,
        Err(Failure::Unmet(UnmetPrecondition::PullExists(4)))
    );
    assert_eq!(fixture.open_pull("new", "conflict").await, Ok(5));
    for (head, base, missing) in [("nope", "main", "nope"), ("new", "not found", "not found")] {
        let missing = Failure::Missing(MissingItem::Branch(missing.into()));
        assert_eq!(fixture.open_pull(head, base).await, Err(missing));
    }
    // The head follows its branch.
    let later = fixture.push("new", "later", "y");
    assert_eq!(fixture.pull(4).await.head_sha, later);
}

#[tokio::test]
async fn branches_without_a_common_history_are_unrelated() {
    let fixture = LocalFixture::new().await;
    let clone = fixture.clone_repository("sample/hello");
    git(clone.path(), &["checkout", "-q", "--orphan", "alone"]);
    git(clone.path(), &["commit", "-q", "-m", "Alone"]);
    git(clone.path(), &["push", "-q", "origin", "alone"]);
    assert_eq!(
        fixture.open_pull("alone", "main").await,
        Err(Failure::Unmet(UnmetPrecondition::Unrelated))
    );
    // A branch that was forced elsewhere conflicts.
    git(
        clone.path(),
        &["push", "-q", "-f", "origin", "alone:feature/greeting"],
    );
    assert_eq!(fixture.state(1).await, (Some(false), "dirty".to_owned()));
}

#[tokio::test]
async fn branch_of_a_fork_is_merged() {
    let fixture = LocalFixture::new().await;
    let fork = repo("friend/HELLO");
    import(fixture.dir.path(), &fixture.path("sample/hello"), &fork)
        .await
        .unwrap();
    let context = writing_context();
    let files = [file("friend", "x\n")];
    let commit = fixture
        .forge
        .commit_files(&context, &fork, "main", "Befriend", &files)
        .await
        .unwrap();
    let new = NewPullRequest {
        head_owner: Some("Friend".into()),
        ..new_pull("main", "main")
    };
    let (context, hello) = (writing_context(), hello());
    let made = fixture
        .forge
        .create_pull_request(&context, &hello, &new)
        .await
        .unwrap();
    assert_eq!((made.number, &made.head_sha), (4, &commit.sha));
    assert_eq!(made.head_repo.as_ref().unwrap().to_string(), "friend/HELLO");
    assert_eq!(made.mergeable_state.as_deref(), Some("clean"));
    assert_eq!(fixture.git(&["rev-parse", "refs/pull/4/head"]), commit.sha);
    fixture.git(&["fsck", "--strict"]);
    let again = fixture
        .forge
        .create_pull_request(&context, &hello, &new)
        .await;
    assert_eq!(again, Err(Failure::Unmet(UnmetPrecondition::PullExists(4))));
    // Later commits of the fork are visible without a copy, and copied by the merge.
    let context = writing_context();
    let files = [file("friend", "y\n")];
    let commit = fixture
        .forge
        .commit_files(&context, &fork, "main", "Again", &files)
        .await
        .unwrap();
    let objects = fixture.git(&["count-objects", "-v"]);
    let pull = fixture.pull(4).await;
    assert_eq!((&pull.head_sha, pull.mergeable), (&commit.sha, Some(true)));
    let details = fixture
        .forge
        .details(&reading_context(), &hello, &pull, 1000)
        .await
        .unwrap();
    assert_eq!(details.files[0].path, "friend");
    assert_eq!(fixture.git(&["count-objects", "-v"]), objects);
    let merged = fixture.merge(4, MergeMethod::Merge).await.unwrap();
    assert_eq!(fixture.head("main"), merged.sha);
    assert_eq!(
        fixture.git(&["show", "-s", "--format=%s", "main"]),
        "Merge pull request #4 from Friend/main"
    );
    fixture.git(&["fsck", "--strict"]);
    // Without the other repository, what was merged is still here.
    std::fs::remove_dir_all(fixture.path("friend/HELLO")).unwrap();
    let pull = fixture.pull(4).await;
    assert_eq!((pull.head_repo, pull.head_sha), (None, commit.sha));
    let nobody = NewPullRequest {
        head_owner: Some("nobody".into()),
        ..new_pull("conflict", "main")
    };
    let made = fixture
        .forge
        .create_pull_request(&writing_context(), &hello, &nobody)
        .await;
    assert_eq!(
        made,
        Err(Failure::Missing(MissingItem::Branch("conflict".into())))
    );
}

#[tokio::test]
async fn title_body_draft_and_state_change() {
    let fixture = LocalFixture::new().await;
    let change = PullRequestChange {
        title: Some("not found".into()),
        body: Some(String::new()),
        state: None,
        draft: Some(true),
    };
    let made = update(&fixture, 1, change).await.unwrap();
    assert_eq!(
        (made.title.as_str(), made.body, made.draft),
        ("not found", None, true)
    );
    assert_eq!(made.mergeable_state.as_deref(), Some("draft"));
    assert_eq!(made.created_at, "2025-01-01T05:00:00Z");
    assert_eq!(made.updated_at, "2026-02-03T04:05:06Z");
    let ready = PullRequestChange {
        draft: Some(false),
        ..PullRequestChange::default()
    };
    assert_eq!(
        update(&fixture, 1, ready)
            .await
            .unwrap()
            .mergeable_state
            .as_deref(),
        Some("clean")
    );
    let closed = update(&fixture, 1, to(PullState::Closed)).await.unwrap();
    assert_eq!(
        (closed.state, closed.merged, closed.mergeable),
        (PullState::Closed, false, None)
    );
    assert_eq!(closed.mergeable_state.as_deref(), Some("unknown"));
    // A closed one does not follow its branch, until it is opened again.
    let later = fixture.push("feature/greeting", "later", "y");
    assert_ne!(fixture.pull(1).await.head_sha, later);
    assert_eq!(
        update(&fixture, 1, to(PullState::Open))
            .await
            .unwrap()
            .head_sha,
        later
    );
    let missing = update(&fixture, 9, to(PullState::Open)).await;
    assert_eq!(missing, Err(Failure::Missing(MissingItem::PullRequest(9))));
}

#[tokio::test]
async fn reopening_obstacles_are_reported() {
    let fixture = LocalFixture::new().await;
    update(&fixture, 1, to(PullState::Closed)).await.unwrap();
    assert_eq!(fixture.open_pull("feature/greeting", "main").await, Ok(4));
    let exists = Failure::Unmet(UnmetPrecondition::PullExists(4));
    assert_eq!(update(&fixture, 1, to(PullState::Open)).await, Err(exists));
    update(&fixture, 4, to(PullState::Closed)).await.unwrap();
    fixture.git(&["branch", "-D", "feature/greeting"]);
    let missing = Failure::Missing(MissingItem::Branch("feature/greeting".into()));
    assert_eq!(update(&fixture, 1, to(PullState::Open)).await, Err(missing));
}

#[tokio::test]
async fn merged_pull_request_accepts_only_new_text() {
    let fixture = LocalFixture::new().await;
    fixture.merge(1, MergeMethod::Squash).await.unwrap();
    let again = Failure::Unmet(UnmetPrecondition::AlreadyMerged(1));
    assert_eq!(
        update(&fixture, 1, to(PullState::Open)).await,
        Err(again.clone())
    );
    let draft = PullRequestChange {
        draft: Some(true),
        ..PullRequestChange::default()
    };
    assert_eq!(update(&fixture, 1, draft).await, Err(again));
    let title = PullRequestChange {
        title: Some("Later".into()),
        state: Some(PullState::Closed),
        draft: Some(false),
        ..PullRequestChange::default()
    };
    let made = update(&fixture, 1, title).await.unwrap();
    assert_eq!(
        (made.title.as_str(), made.merged, made.state),
        ("Later", true, PullState::Closed)
    );
}

#[tokio::test]
async fn details_list_the_changed_files() {
    let fixture = LocalFixture::new().await;
    let clone = fixture.clone_repository("sample/hello");
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
    let number = fixture.open_pull("many", "main").await.unwrap();
    // Changes of the base do not belong to the pull request.
    fixture.push("main", "other", "x");
    let pull = fixture.pull(number).await;
    let (context, hello) = (reading_context(), hello());
    let details = fixture
        .forge
        .details(&context, &hello, &pull, 10_000)
        .await
        .unwrap();
    let change =
        |path: &str, status: &str, additions, deletions, patch: Option<&str>| PullFileChange {
            path: path.into(),
            status: status.into(),
            additions,
            deletions,
            patch: patch.map(str::to_owned),
        };
    let expected = [
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
    assert_eq!(details.files, expected);
    assert!(!details.truncated && details.reviews.is_empty());
    let cut = fixture
        .forge
        .details(&context, &hello, &pull, 60)
        .await
        .unwrap();
    let kept: Vec<bool> = cut.files.iter().map(|file| file.patch.is_some()).collect();
    assert_eq!(
        (kept, cut.truncated),
        (vec![true, false, false, false, false], true)
    );
    // A merged pull request keeps its details.
    fixture.merge(number, MergeMethod::Squash).await.unwrap();
    let pull = fixture.pull(number).await;
    let later = fixture
        .forge
        .details(&context, &hello, &pull, 10_000)
        .await
        .unwrap();
    assert_eq!(later, details);
}
