//! Merges: three methods, what each leaves in git, and what stands against them.

use crate::ground::{Ground, file, hello, reading, why};
use candor_forge::local::{MAX_COMMITS, Moment};
use candor_forge::{
    Failure, Forge as _, MergeMethod, MergeOrder, Missing, PullChange, PullState, Revision, Unmet,
    Why,
};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

const METHODS: [MergeMethod; 3] = [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase];

fn log(ground: &Ground, of: &str) -> String {
    ground.git(&["show", "-s", "--format=%P|%an|%cn|%at|%ct|%B", of])
}

#[tokio::test]
async fn a_merge_has_two_parents() {
    let ground = Ground::new().await;
    let (base, head) = (ground.head("main"), ground.head("feature/greeting"));
    let merged = ground.merge(1, MergeMethod::Merge).await.unwrap();
    assert_eq!(ground.head("main"), merged.sha);
    let shown = log(&ground, "main");
    let (parents, rest) = shown.split_once('|').unwrap();
    assert_eq!(parents, format!("{base} {head}"));
    assert!(rest.starts_with("Ada|Ada|17700915"), "{rest}");
    assert!(
        rest.ends_with("|Merge pull request #1 from sample/feature/greeting\n\nGreet by name"),
        "{rest}"
    );
    let pull = ground.pull(1).await;
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
        ground.head("feature/greeting"),
        ground.pull(1).await.head_sha
    );
    ground.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn a_squash_has_one_parent_and_every_subject() {
    let ground = Ground::new().await;
    let base = ground.head("main");
    ground.push("feature/greeting", "more", "x");
    ground.merge(1, MergeMethod::Squash).await.unwrap();
    let shown = log(&ground, "main");
    assert!(shown.starts_with(&format!("{base}|Ada|Ada|")), "{shown}");
    assert!(
        shown.ends_with("|Greet by name (#1)\n\n* Greet by name\n* Push more"),
        "{shown}"
    );
    assert_eq!(ground.git(&["diff", "main", "feature/greeting"]), "");
}

#[tokio::test]
async fn a_rebase_has_every_commit_again() {
    let ground = Ground::new().await;
    ground.push("feature/greeting", "more", "x");
    let base = ground.push("main", "other", "y");
    let merged = ground.merge(1, MergeMethod::Rebase).await.unwrap();
    assert_eq!(ground.head("main"), merged.sha);
    let range = format!("{base}..main");
    let shown = ground.git(&["log", "--reverse", "--format=%an|%at|%cn|%s", &range]);
    assert_eq!(
        shown,
        "Sample|1735700400|Ada|Greet by name\nGit|1760000000|Ada|Push more"
    );
    assert_eq!(ground.git(&["rev-parse", "main~2"]), base);
}

#[tokio::test]
async fn a_rebase_leaves_out_merges_and_what_the_base_has() {
    let ground = Ground::new().await;
    ground.push(
        "main",
        "src/main.rs",
        "fn main() {\n    let name = \"you\";\n    println!(\"hello, {name}\");\n}\n",
    );
    let base = ground.head("main");
    ground.push("feature/greeting", "more", "x");
    let clone = ground.clone_of("sample/hello");
    let git = |arguments: &[&str]| crate::ground::git(clone.path(), arguments);
    git(&["checkout", "-q", "feature/greeting"]);
    git(&["merge", "-q", "--no-edit", "origin/main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "Empty"]);
    git(&["push", "-q", "origin", "feature/greeting"]);
    ground.merge(1, MergeMethod::Rebase).await.unwrap();
    let range = format!("{base}..main");
    let shown = ground.git(&["log", "--reverse", "--format=%s", &range]);
    assert_eq!(shown, "Push more\nEmpty");
}

#[tokio::test]
async fn words_of_the_order_are_taken() {
    let ground = Ground::new().await;
    let order = MergeOrder {
        title: Some("rate limit".into()),
        message: Some(String::new()),
        ..ground.order(1, MergeMethod::Merge).await
    };
    ground.merge_as(&order).await.unwrap();
    assert!(log(&ground, "main").ends_with("|rate limit"));
    ground.branch("next", "main").await;
    ground.commit("next", &[file("next", "x")]).await.unwrap();
    let number = ground.propose("next", "main").await.unwrap();
    let order = MergeOrder {
        message: Some("not found\n\nvalidation".into()),
        ..ground.order(number, MergeMethod::Squash).await
    };
    ground.merge_as(&order).await.unwrap();
    assert!(log(&ground, "main").ends_with("|From next (#4)\n\nnot found\n\nvalidation"));
}

#[tokio::test]
async fn what_stands_against_a_merge_is_told_in_order() {
    let ground = Ground::new().await;
    for method in METHODS {
        let (conflict, draft) = (ground.merge(2, method).await, ground.merge(3, method).await);
        assert_eq!(why(conflict), (Why::Conflict, "dirty".into(), vec![]));
        assert_eq!(why(draft), (Why::Draft, "draft".into(), vec![]));
    }
    // A head that moved is told before a draft.
    let moved = MergeOrder {
        head_sha: ground.head("main"),
        ..ground.order(3, MergeMethod::Merge).await
    };
    let failure = Failure::HeadMoved {
        expected: ground.head("main"),
        actual: Some(ground.head("draft/guide")),
        state: None,
    };
    assert_eq!(ground.merge_as(&moved).await, Err(failure));
    let close = PullChange {
        state: Some(PullState::Closed),
        ..PullChange::default()
    };
    let (turn, hello) = (crate::ground::writing(), hello());
    ground
        .forge
        .update_pull_request(&turn, &hello, 3, &close)
        .await
        .unwrap();
    assert_eq!(
        why(ground.merge_as(&moved).await),
        (Why::Closed, "unknown".into(), vec![])
    );
    ground.merge(1, MergeMethod::Merge).await.unwrap();
    let again = ground.merge(1, MergeMethod::Merge).await;
    assert_eq!(why(again), (Why::Merged, "unknown".into(), vec![]));
    let missing = MergeOrder { number: 7, ..moved };
    assert_eq!(
        ground.merge_as(&missing).await,
        Err(Failure::Missing(Missing::PullRequest(7)))
    );
}

/// The whole merges, one of its commits does not.
#[tokio::test]
async fn a_commit_that_conflicts_cannot_be_rebased() {
    let ground = Ground::new().await;
    ground.branch("there-and-back", "main").await;
    ground
        .commit(
            "there-and-back",
            &[file("README.md", "other\n"), file("new", "x")],
        )
        .await
        .unwrap();
    ground
        .commit(
            "there-and-back",
            &[file("README.md", "# hello\n\nSays hello, loudly.\n")],
        )
        .await
        .unwrap();
    ground.push("main", "README.md", "# hello\n\nSays hello, softly.\n");
    let number = ground.propose("there-and-back", "main").await.unwrap();
    let before = ground.head("main");
    let rebased = ground.merge(number, MergeMethod::Rebase).await;
    assert_eq!(why(rebased), (Why::NotRebaseable, "clean".into(), vec![]));
    assert_eq!(ground.head("main"), before);
    assert!(ground.merge(number, MergeMethod::Merge).await.is_ok());
}

#[tokio::test]
async fn more_commits_than_a_person_reads_are_not_rebased() {
    let ground = Ground::new().await;
    let commits: String = (0..=MAX_COMMITS)
        .map(|number| {
            let from = if number == 0 { "from refs/heads/main^0\n" } else { "" };
            format!("commit refs/heads/long\ncommitter a <a@b> 1 +0000\ndata 1\nm\n{from}M 644 inline f\ndata 4\n{number:04}\n")
        })
        .collect();
    let mut importing = Command::new("git")
        .current_dir(ground.path("sample/hello"))
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
    let number = ground.propose("long", "main").await.unwrap();
    let rebased = ground.merge(number, MergeMethod::Rebase).await;
    assert_eq!(why(rebased), (Why::NotRebaseable, "clean".into(), vec![]));
    ground.merge(number, MergeMethod::Squash).await.unwrap();
    let message = ground.git(&["show", "-s", "--format=%b", "main"]);
    assert_eq!(message.lines().count(), MAX_COMMITS + 1);
    assert!(message.ends_with("* m\n* and more"));
}

#[tokio::test]
async fn a_base_that_is_gone_takes_nothing() {
    let ground = Ground::new().await;
    ground.branch("base", "main").await;
    let number = ground.propose("feature/greeting", "base").await.unwrap();
    ground.git(&["branch", "-D", "base"]);
    assert_eq!(ground.state(number).await, (None, "unknown".to_owned()));
    let gone = Failure::Missing(Missing::Branch("base".into()));
    assert_eq!(ground.merge(number, MergeMethod::Merge).await, Err(gone));
}

#[tokio::test]
async fn a_head_that_is_gone_brings_nothing() {
    let ground = Ground::new().await;
    let order = ground.order(1, MergeMethod::Merge).await;
    ground.git(&["branch", "-D", "feature/greeting"]);
    assert_eq!(ground.state(1).await, (None, "unknown".to_owned()));
    let gone = Failure::Missing(Missing::Branch("feature/greeting".into()));
    assert_eq!(ground.merge_as(&order).await, Err(gone));
    // A draft stays one.
    let order = ground.order(3, MergeMethod::Merge).await;
    ground.git(&["branch", "-D", "draft/guide"]);
    assert_eq!(ground.state(3).await, (None, "draft".to_owned()));
    assert_eq!(why(ground.merge_as(&order).await).0, Why::Draft);
}

/// What was brought to the base by hand needs no commit to be merged.
#[tokio::test]
async fn what_the_base_has_already_moves_nothing() {
    for method in METHODS {
        let ground = Ground::new().await;
        let clone = ground.clone_of("sample/hello");
        crate::ground::git(
            clone.path(),
            &["push", "-q", "origin", "origin/feature/greeting:main"],
        );
        let before = ground.head("main");
        let merged = ground.merge(1, method).await.unwrap();
        assert_eq!((merged.sha, ground.head("main")), (before.clone(), before));
        assert!(ground.pull(1).await.merged);
    }
}

/// Somebody pushes to the base just before it is moved: once, or every time.
#[tokio::test]
async fn a_base_that_moves_is_merged_again_and_at_last_given_up() {
    for (pushes, merges) in [(1, true), (usize::MAX, false)] {
        let here: Arc<OnceLock<Ground>> = Arc::default();
        let count = Arc::new(AtomicUsize::new(0));
        let probe = {
            let (here, count) = (Arc::clone(&here), Arc::clone(&count));
            move |moment| {
                if moment == Moment::MergeRecorded {
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
        let ground = Ground::watched(Arc::new(probe)).await;
        let ground = here.get_or_init(|| ground);
        let merged = ground.merge(1, MergeMethod::Merge).await;
        ground.git(&["cat-file", "-e", "main:pushed-0"]);
        match merges {
            true => {
                assert_eq!(merged.unwrap().sha, ground.head("main"));
                assert!(ground.pull(1).await.merged);
            }
            false => {
                assert_eq!(
                    merged,
                    Err(Failure::Unmet(Unmet::BranchMoved("main".into())))
                );
                assert_eq!(count.load(Ordering::Relaxed), 4);
                assert_eq!(ground.state(1).await, (Some(true), "clean".to_owned()));
            }
        }
    }
}

#[tokio::test]
async fn the_merged_files_are_read_at_once() {
    let ground = Ground::new().await;
    ground.merge(1, MergeMethod::Merge).await.unwrap();
    let (turn, hello) = (reading(), hello());
    let file = ground
        .forge
        .file(&turn, &hello, "src/main.rs", &Revision::Default, 1000)
        .await
        .unwrap();
    assert!(file.bytes.starts_with(b"fn main() {\n    let name"));
}
