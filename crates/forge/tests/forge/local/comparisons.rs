//! `compare_commits` and `get_commit` beside `git rev-list` and `git diff -M --numstat`.

use crate::fixture::local::{LocalFixture, git_with_input, hello, named, reading_context, repo};
use candor_forge::{
    CommitDetails, ComparedRevisions, Comparison, ComparisonStatus, Failure, FileChange,
    HistoryForge as _, MissingItem, Paging, UnmetPrecondition,
};
use candor_testkit::is_long;
use std::fmt::Write as _;
use std::process::Command;

fn revisions(base: &str, head: &str) -> ComparedRevisions {
    ComparedRevisions {
        base: base.to_owned(),
        head_owner: None,
        head: head.to_owned(),
    }
}

async fn compare(
    fixture: &LocalFixture,
    base: &str,
    head: &str,
    page: u32,
    per_page: u32,
) -> Result<Comparison, Failure> {
    let paging = Paging { page, per_page };
    let (context, revisions) = (reading_context(), revisions(base, head));
    fixture
        .forge
        .compare(&context, &hello(), &revisions, paging)
        .await
}

async fn commit(fixture: &LocalFixture, at: &str) -> Result<CommitDetails, Failure> {
    let context = reading_context();
    let at = named(at);
    fixture.forge.commit_details(&context, &hello(), &at).await
}

/// Returns the lines of `git diff --numstat` for the changes of files.
fn numstat(files: &[FileChange]) -> Vec<String> {
    let line = |file: &FileChange| {
        let path = match &file.previous_path {
            Some(previous) => format!("{previous} => {}", file.path),
            None => file.path.clone(),
        };
        format!("{}\t{}\t{path}", file.additions, file.deletions)
    };
    files.iter().map(line).collect()
}

/// Returns the same lines from git, in the byte order of the new paths.
fn git_numstat(fixture: &LocalFixture, from: &str, to: &str) -> Vec<String> {
    let output = Command::new("git")
        .current_dir(fixture.path("sample/hello"))
        .args(["diff", "-M", "--numstat", "-z", from, to])
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut parts = text.split('\0');
    let mut lines = Vec::new();
    while let Some(part) = parts.next().filter(|part| !part.is_empty()) {
        let (counts, path) = part.rsplit_once('\t').unwrap();
        // Git counts no lines of binary files.
        let counts = counts.replace('-', "0");
        lines.push(match path {
            "" => {
                let (old, new) = (parts.next().unwrap(), parts.next().unwrap());
                (new.to_owned(), format!("{counts}\t{old} => {new}"))
            }
            path => (path.to_owned(), format!("{counts}\t{path}")),
        });
    }
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Returns random commits for `git fast-import`: files are written, changed, renamed and deleted, branches
/// are merged, and dates are equal or skewed.
fn random_history(random: &mut fastrand::Rng, name: &str) -> String {
    let mut text = String::new();
    let mut tips: Vec<u64> = Vec::new();
    let lines = |random: &mut fastrand::Rng| -> String {
        let word = random.u64(..);
        (0..20).map(|n| format!("line {n} {word}\n")).collect()
    };
    for number in 1..=random.u64(6..30) {
        let date = 1_700_000_000 + number * random.u64(..3) + random.u64(..5);
        let branch = match random.u64(..3) {
            0 => format!("{name}-side"),
            _ => format!("{name}-main"),
        };
        writeln!(text, "commit refs/heads/{branch}\nmark :{number}").unwrap();
        writeln!(text, "committer a <a@b> {date} +0000\ndata 1\nm").unwrap();
        if let Some(from) = tips.last().filter(|_| tips.len() < 3) {
            writeln!(text, "from :{from}").unwrap();
        } else if !tips.is_empty() {
            let from = tips[random.usize(tips.len() / 2..tips.len())];
            writeln!(text, "from :{from}").unwrap();
            let other = tips[random.usize(..tips.len())];
            if other != from && random.bool() {
                writeln!(text, "merge :{other}").unwrap();
            }
        }
        for _ in 0..random.usize(1..4) {
            let (path, content) = (random.u64(..9), lines(random));
            let content = match random.u64(..6) {
                0 => String::from("\0binary"),
                _ => content,
            };
            writeln!(text, "M 100644 inline d{}/f{path}", path % 3).unwrap();
            writeln!(text, "data {}\n{content}", content.len()).unwrap();
        }
        if random.u64(..4) == 0 {
            let content = lines(random);
            writeln!(
                text,
                "M 100644 inline old{number}\ndata {}\n{content}",
                content.len()
            )
            .unwrap();
            writeln!(text, "R old{number} new{number}").unwrap();
        }
        if random.u64(..5) == 0 {
            writeln!(text, "D d0/f0").unwrap();
        }
        tips.push(number);
    }
    for branch in ["main", "side"] {
        writeln!(
            text,
            "reset refs/heads/{name}-{branch}\nfrom :{}",
            tips[random.usize(..tips.len())]
        )
        .unwrap();
    }
    text
}

fn histories() -> u64 {
    if is_long() { 100 } else { 8 }
}

#[tokio::test]
async fn comparison_is_that_of_git() {
    let fixture = LocalFixture::new().await;
    for seed in 0..histories() {
        let mut random = fastrand::Rng::with_seed(seed);
        let name = format!("r{seed}");
        let input = random_history(&mut random, &name);
        let path = fixture.path("sample/hello");
        git_with_input(&path, &["fast-import", "--quiet", "--force"], &input);
        let (base, head) = (format!("{name}-main"), format!("{name}-side"));
        for (base, head) in [(&base, &head), (&head, &base)] {
            let range = format!("{base}..{head}");
            let order = fixture.git(&["rev-list", "--reverse", &range]);
            let order: Vec<_> = order.lines().collect();
            let mut listed = Vec::new();
            let mut first = None;
            for page in 1.. {
                let found = compare(&fixture, base, head, page, 3).await.unwrap();
                assert_eq!(found.ahead_by, order.len() as u64);
                listed.extend(found.commits.iter().map(|commit| commit.sha.clone()));
                let more = found.more;
                assert_eq!(page == 1, first.is_none());
                assert!(page == 1 || found.changes.files.is_empty());
                first.get_or_insert(found);
                if !more {
                    break;
                }
            }
            assert_eq!(listed, order, "{seed}");
            let found = first.unwrap();
            let merge_base = fixture.git(&["merge-base", base, head]);
            let behind = fixture.git(&["rev-list", "--count", &format!("{head}..{base}")]);
            assert_eq!(found.behind_by.to_string(), behind);
            assert_eq!(found.base_sha, fixture.head(base));
            assert_eq!(found.head_sha, fixture.head(head));
            // Of several merge bases git and libgit2 may take another one.
            let all = fixture.git(&["merge-base", "--all", base, head]);
            assert!(all.contains(&found.merge_base_sha), "{seed}");
            if !all.trim().contains('\n') {
                assert_eq!(found.merge_base_sha, merge_base);
            }
            let expected = git_numstat(&fixture, &found.merge_base_sha, head);
            assert_eq!(numstat(&found.changes.files), expected, "{seed} {range}");
        }
        let all = fixture.git(&["rev-list", &format!("{name}-main"), &format!("{name}-side")]);
        for sha in all.lines() {
            let found = commit(&fixture, sha).await.unwrap();
            let from = match found.commit.parents.first() {
                Some(parent) => parent.clone(),
                None => EMPTY_TREE.to_owned(),
            };
            let expected = git_numstat(&fixture, &from, sha);
            assert_eq!(numstat(&found.changes.files), expected, "{seed} {sha}");
            let sum =
                |count: fn(&FileChange) -> u64| found.changes.files.iter().map(count).sum::<u64>();
            assert_eq!(found.additions, sum(|file| file.additions));
            assert_eq!(found.deletions, sum(|file| file.deletions));
        }
    }
}

#[tokio::test]
async fn status_tells_the_direction() {
    let fixture = LocalFixture::new().await;
    let status = async |base, head| compare(&fixture, base, head, 1, 30).await.unwrap().status;
    assert_eq!(status("main", "main").await, ComparisonStatus::Identical);
    fixture.branch("next", "main").await;
    fixture.push("next", "next.txt", "x\n");
    assert_eq!(status("main", "next").await, ComparisonStatus::Ahead);
    assert_eq!(status("next", "main").await, ComparisonStatus::Behind);
    assert_eq!(status("conflict", "next").await, ComparisonStatus::Diverged);
}

#[tokio::test]
async fn revisions_that_are_missing_or_unrelated_are_refused() {
    let fixture = LocalFixture::new().await;
    let missing = |name: &str| Failure::Missing(MissingItem::Revision(name.to_owned()));
    let refused = async |base, head| compare(&fixture, base, head, 1, 30).await.unwrap_err();
    assert_eq!(refused("none", "main").await, missing("none"));
    assert_eq!(refused("main", "none").await, missing("none"));
    assert_eq!(commit(&fixture, "none").await.unwrap_err(), missing("none"));
    let tree = fixture.git(&["rev-parse", "main^{tree}"]);
    let other = fixture.git(&["commit-tree", "-m", "other", &tree]);
    fixture.git(&["update-ref", "refs/heads/other", &other]);
    let unrelated = Failure::Unmet(UnmetPrecondition::Unrelated);
    assert_eq!(refused("main", "other").await, unrelated);
    let fork = ComparedRevisions {
        head_owner: Some(String::from("nobody")),
        ..revisions("main", "main")
    };
    let paging = Paging {
        page: 1,
        per_page: 30,
    };
    let context = reading_context();
    let found = fixture
        .forge
        .compare(&context, &hello(), &fork, paging)
        .await;
    assert_eq!(found.unwrap_err(), MissingItem::Repository.into());
}

#[tokio::test]
async fn head_of_a_fork_is_compared() {
    let fixture = LocalFixture::new().await;
    let clone = fixture.clone_repository("sample/hello");
    let at = clone.path();
    crate::fixture::local::git(at, &["checkout", "-q", "-b", "topic"]);
    std::fs::write(at.join("fork.txt"), "fork\n").unwrap();
    crate::fixture::local::git(at, &["add", "."]);
    crate::fixture::local::git(at, &["commit", "-q", "-m", "Fork"]);
    candor_forge::local::import(fixture.dir.path(), at, &repo("octo/hello"))
        .await
        .unwrap();
    let fork = ComparedRevisions {
        head_owner: Some(String::from("Octo")),
        ..revisions("main", "topic")
    };
    let paging = Paging {
        page: 1,
        per_page: 30,
    };
    let context = reading_context();
    let (hello, forge) = (hello(), &fixture.forge);
    let found = forge
        .compare(&context, &hello, &fork, paging)
        .await
        .unwrap();
    assert_eq!((found.ahead_by, found.behind_by), (1, 0));
    assert_eq!(numstat(&found.changes.files), ["1\t0\tfork.txt"]);
}

#[tokio::test]
async fn changed_files_and_patches_are_bounded() {
    let fixture = LocalFixture::new().await;
    let mut text = String::from(
        "commit refs/heads/many\nmark :1\ncommitter a <a@b> 1700000000 +0000\ndata 1\nm\n",
    );
    let large = "x\n".repeat(200 * 1024);
    for name in ["a", "b"] {
        writeln!(
            text,
            "M 100644 inline {name}\ndata {}\n{large}",
            large.len()
        )
        .unwrap();
    }
    for number in 0..300 {
        writeln!(text, "M 100644 inline n{number}\ndata 2\n{}\n", number % 7).unwrap();
    }
    let path = fixture.path("sample/hello");
    git_with_input(&path, &["fast-import", "--quiet"], &text);
    let found = commit(&fixture, "many").await.unwrap();
    assert_eq!(found.changes.files.len(), 300);
    assert!(found.changes.truncated);
    assert_eq!(found.additions, 2 * 200 * 1024 + 300);
    // Each of the two patches is larger than all patches may be.
    assert_eq!(found.changes.files[0].patch, None);
    assert!(found.changes.files[2].patch.is_some());
}
