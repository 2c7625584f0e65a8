//! Merges: three methods, what each leaves in git, and what stands against them.

use crate::fixture::local::{LocalFixture, file, hello, reading_context, unmergeable_reason};
use candor_forge::local::{ChangePoint, MAX_COMMITS};
use candor_forge::{
    Failure, Forge as _, MergeInstruction, MergeMethod, MissingItem, PullRequestChange, PullState,
    Revision, UnmergeableReason, UnmetPrecondition,
};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

const METHODS: [MergeMethod; 3] = [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase];

fn log(fixture: &LocalFixture, of: &str) -> String {
    fixture.git(&["show", "-s", "--format=%P|%an|%cn|%at|%ct|%B", of])
}

#[tokio::test]
async fn merge_has_two_parents() {
    let fixture = LocalFixture::new().await;
    let (base, head) = (fixture.head("main"), fixture.head("feature/greeting"));
    let merged = fixture.merge(1, MergeMethod::Merge).await.unwrap();
    assert_eq!(fixture.head("main"), merged.sha);
    let shown = log(&fixture, "main");
    let (parents, rest) = shown.split_once('|').unwrap();
    assert_eq!(parents, format!("{base} {head}"));
    assert!(rest.starts_with("Ada|Ada|17700915"), "{rest}");
    assert!(
        rest.ends_with("|Merge pull request #1 from sample/feature/greeting\n\nGreet by name"),
        "{rest}"
    );
    let pull = fixture.pull(1).await;
    assert_eq!(
        (pull.state, pull.merged, pull.mergeable),
        (PullState::Closed, true, None)
    );
    assert_eq!(
        (pull.head_sha, pull.mergeable_state.as_deref()),
        (head, Some("unknown"))
    );
    // The branch stays.
    assert_eq!(
        fixture.head("feature/greeting"),
        fixture.pull(1).await.head_sha
    );
    fixture.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn squash_has_one_parent_and_every_subject() {
    let fixture = LocalFixture::new().await;
    let base = fixture.head("main");
    fixture.push("feature/greeting", "more", "x");
    fixture.merge(1, MergeMethod::Squash).await.unwrap();
    let shown = log(&fixture, "main");
    assert!(shown.starts_with(&format!("{base}|Ada|Ada|")), "{shown}");
    assert!(
        shown.ends_with("|Greet by name (#1)\n\n* Greet by name\n* Push more"),
        "{shown}"
    );
    assert_eq!(fixture.git(&["diff", "main", "feature/greeting"]), "");
}

#[tokio::test]
async fn rebase_has_every_commit_again() {
    let fixture = LocalFixture::new().await;
    fixture.push("feature/greeting", "more", "x");
    let base = fixture.push("main", "other", "y");
    let merged = fixture.merge(1, MergeMethod::Rebase).await.unwrap();
    assert_eq!(fixture.head("main"), merged.sha);
    let range = format!("{base}..main");
    let shown = fixture.git(&["log", "--reverse", "--format=%an|%at|%cn|%s", &range]);
    assert_eq!(
        shown,
        "Sample|1735700400|Ada|Greet by name\nGit|1760000000|Ada|Push more"
    );
    assert_eq!(fixture.git(&["rev-parse", "main~2"]), base);
}

#[tokio::test]
async fn rebase_leaves_out_merges_and_what_the_base_has() {
    let fixture = LocalFixture::new().await;
    fixture.push(
        "main",
        "src/main.rs",
        "fn main() {\n    let name = \"you\";\n    println!(\"hello, {name}\");\n}\n",
    );
    let base = fixture.head("main");
    fixture.push("feature/greeting", "more", "x");
    let clone = fixture.clone_repository("sample/hello");
    let git = |arguments: &[&str]| crate::fixture::local::git(clone.path(), arguments);
    git(&["checkout", "-q", "feature/greeting"]);
    git(&["merge", "-q", "--no-edit", "origin/main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "Empty"]);
    git(&["push", "-q", "origin", "feature/greeting"]);
    fixture.merge(1, MergeMethod::Rebase).await.unwrap();
    let range = format!("{base}..main");
    let shown = fixture.git(&["log", "--reverse", "--format=%s", &range]);
    assert_eq!(shown, "Push more\nEmpty");
}

#[tokio::test]
async fn message_of_the_instruction_is_used() {
    let fixture = LocalFixture::new().await;
    let instruction = MergeInstruction {
        title: Some("rate limit".into()),
        message: Some(String::new()),
        ..fixture.instruction(1, MergeMethod::Merge).await
    };
    fixture.merge_with(&instruction).await.unwrap();
    assert!(log(&fixture, "main").ends_with("|rate limit"));
    fixture.branch("next", "main").await;
    fixture.commit("next", &[file("next", "x")]).await.unwrap();
    let number = fixture.open_pull("next", "main").await.unwrap();
    let instruction = MergeInstruction {
        message: Some("not found\n\nvalidation".into()),
        ..fixture.instruction(number, MergeMethod::Squash).await
    };
    fixture.merge_with(&instruction).await.unwrap();
    assert!(log(&fixture, "main").ends_with("|From next (#4)\n\nnot found\n\nvalidation"));
}

#[tokio::test]
async fn merge_obstacles_are_reported_in_order() {
    let fixture = LocalFixture::new().await;
    for method in METHODS {
        let (conflict, draft) = (
            fixture.merge(2, method).await,
            fixture.merge(3, method).await,
        );
        assert_eq!(
            unmergeable_reason(conflict),
            (UnmergeableReason::Conflict, "dirty".into(), vec![])
        );
        assert_eq!(
            unmergeable_reason(draft),
            (UnmergeableReason::Draft, "draft".into(), vec![])
        );
    }
    // A moved head is reported before a draft.
    let moved = MergeInstruction {
        head_sha: fixture.head("main"),
        ..fixture.instruction(3, MergeMethod::Merge).await
    };
    let failure = Failure::HeadMoved {
        expected: fixture.head("main"),
        actual: Some(fixture.head("draft/guide")),
        state: None,
    };
    assert_eq!(fixture.merge_with(&moved).await, Err(failure));
    let close = PullRequestChange {
        state: Some(PullState::Closed),
        ..PullRequestChange::default()
    };
    let (context, hello) = (crate::fixture::local::writing_context(), hello());
    fixture
        .forge
        .update_pull_request(&context, &hello, 3, &close)
        .await
        .unwrap();
    assert_eq!(
        unmergeable_reason(fixture.merge_with(&moved).await),
        (UnmergeableReason::Closed, "unknown".into(), vec![])
    );
    fixture.merge(1, MergeMethod::Merge).await.unwrap();
    let again = fixture.merge(1, MergeMethod::Merge).await;
    assert_eq!(
        unmergeable_reason(again),
        (UnmergeableReason::Merged, "unknown".into(), vec![])
    );
    let missing = MergeInstruction { number: 7, ..moved };
    assert_eq!(
        fixture.merge_with(&missing).await,
        Err(Failure::Missing(MissingItem::PullRequest(7)))
    );
}

/// The whole merges, one of its commits does not.
#[tokio::test]
async fn commit_that_conflicts_cannot_be_rebased() {
    let fixture = LocalFixture::new().await;
    fixture.branch("there-and-back", "main").await;
    fixture
        .commit(
            "there-and-back",
            &[file("README.md", "other\n"), file("new", "x")],
        )
        .await
        .unwrap();
    fixture
        .commit(
            "there-and-back",
            &[file("README.md", "# hello\n\nSays hello, loudly.\n")],
        )
        .await
        .unwrap();
    fixture.push("main", "README.md", "# hello\n\nSays hello, softly.\n");
    let number = fixture.open_pull("there-and-back", "main").await.unwrap();
    let before = fixture.head("main");
    let rebased = fixture.merge(number, MergeMethod::Rebase).await;
    assert_eq!(
        unmergeable_reason(rebased),
        (UnmergeableReason::NotRebaseable, "clean".into(), vec![])
    );
    assert_eq!(fixture.head("main"), before);
    assert!(fixture.merge(number, MergeMethod::Merge).await.is_ok());
}

#[tokio::test]
async fn too_many_commits_are_not_rebased() {
    let fixture = LocalFixture::new().await;
    let commits: String = (0..=MAX_COMMITS)
        .map(|number| {
            let from = if number == 0 { "from refs/heads/main^0\n" } else { "" };
            format!("commit refs/heads/long\ncommitter a <a@b> 1 +0000\ndata 1\nm\n{from}M 644 inline f\ndata 4\n{number:04}\n")
        })
        .collect();
    let mut importing = Command::new("git")
        .current_dir(fixture.path("sample/hello"))
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    importing
        .stdin
        .take()
        .unwrap()
        .write_all(commits.as_bytes())
        .unwrap();
    assert!(importing.wait().unwrap().success());
    let number = fixture.open_pull("long", "main").await.unwrap();
    let rebased = fixture.merge(number, MergeMethod::Rebase).await;
    assert_eq!(
        unmergeable_reason(rebased),
        (UnmergeableReason::NotRebaseable, "clean".into(), vec![])
    );
    fixture.merge(number, MergeMethod::Squash).await.unwrap();
    let message = fixture.git(&["show", "-s", "--format=%b", "main"]);
    assert_eq!(message.lines().count(), MAX_COMMITS + 1);
    assert!(message.ends_with("* m\n* and more"));
}

#[tokio::test]
async fn deleted_base_cannot_be_merged_into() {
    let fixture = LocalFixture::new().await;
    fixture.branch("base", "main").await;
    let number = fixture.open_pull("feature/greeting", "base").await.unwrap();
    fixture.git(&["branch", "-D", "base"]);
    assert_eq!(fixture.state(number).await, (None, "unknown".to_owned()));
    let gone = Failure::Missing(MissingItem::Branch("base".into()));
    assert_eq!(fixture.merge(number, MergeMethod::Merge).await, Err(gone));
}

#[tokio::test]
async fn deleted_head_cannot_be_merged() {
    let fixture = LocalFixture::new().await;
    let instruction = fixture.instruction(1, MergeMethod::Merge).await;
    fixture.git(&["branch", "-D", "feature/greeting"]);
    assert_eq!(fixture.state(1).await, (None, "unknown".to_owned()));
    let gone = Failure::Missing(MissingItem::Branch("feature/greeting".into()));
    assert_eq!(fixture.merge_with(&instruction).await, Err(gone));
    // A draft stays one.
    let instruction = fixture.instruction(3, MergeMethod::Merge).await;
    fixture.git(&["branch", "-D", "draft/guide"]);
    assert_eq!(fixture.state(3).await, (None, "draft".to_owned()));
    assert_eq!(
        unmergeable_reason(fixture.merge_with(&instruction).await).0,
        UnmergeableReason::Draft
    );
}

/// A head that the base already contains is merged without a commit.
#[tokio::test]
async fn merge_of_contained_head_moves_nothing() {
    for method in METHODS {
        let fixture = LocalFixture::new().await;
        let clone = fixture.clone_repository("sample/hello");
        crate::fixture::local::git(
            clone.path(),
            &["push", "-q", "origin", "origin/feature/greeting:main"],
        );
        let before = fixture.head("main");
        let merged = fixture.merge(1, method).await.unwrap();
        assert_eq!((merged.sha, fixture.head("main")), (before.clone(), before));
        assert!(fixture.pull(1).await.merged);
    }
}

/// A push to the base happens just before it is moved: once, or every time.
#[tokio::test]
async fn moving_base_is_retried_a_bounded_number_of_times() {
    for (pushes, merges) in [(1, true), (usize::MAX, false)] {
        let here: Arc<OnceLock<LocalFixture>> = Arc::default();
        let count = Arc::new(AtomicUsize::new(0));
        let probe = {
            let (here, count) = (Arc::clone(&here), Arc::clone(&count));
            move |moment| {
                if moment == ChangePoint::MergeRecorded {
                    let number = count.fetch_add(1, Ordering::Relaxed);
                    if number < pushes {
                        here.get()
                            .unwrap()
                            .push("main", &format!("pushed-{number}"), "x");
                    }
                }
                true
            }
        };
        let fixture = LocalFixture::watched(Arc::new(probe)).await;
        let fixture = here.get_or_init(|| fixture);
        let merged = fixture.merge(1, MergeMethod::Merge).await;
        fixture.git(&["cat-file", "-e", "main:pushed-0"]);
        match merges {
            true => {
                assert_eq!(merged.unwrap().sha, fixture.head("main"));
                assert!(fixture.pull(1).await.merged);
            }
            false => {
                assert_eq!(
                    merged,
                    Err(Failure::Unmet(UnmetPrecondition::BranchMoved(
                        "main".into()
                    )))
                );
                assert_eq!(count.load(Ordering::Relaxed), 4);
                assert_eq!(fixture.state(1).await, (Some(true), "clean".to_owned()));
            }
        }
    }
}

#[tokio::test]
async fn merged_files_are_read_at_once() {
    let fixture = LocalFixture::new().await;
    fixture.merge(1, MergeMethod::Merge).await.unwrap();
    let (context, hello) = (reading_context(), hello());
    let file = fixture
        .forge
        .file(&context, &hello, "src/main.rs", &Revision::Default, 1000)
        .await
        .unwrap();
    assert!(file.bytes.starts_with(b"fn main() {\n    let name"));
}
