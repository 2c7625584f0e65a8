//! `commit_changes` beside plain git: the same trees, and every refusal without effect.

use crate::fixture::local::{
    LocalFixture, effect, file, git, git_with_input, hello, repo, writing_context,
};
use candor_fault::Effect;
use candor_forge::local::BranchRules;
use candor_forge::{
    ChangeForge as _, CommitInstruction, CommittedChanges, Failure, MissingItem, PathChange,
    PathOperation, RepoName, UnmetPrecondition,
};
use candor_testkit::is_long;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn change(path: &str, operation: PathOperation) -> PathChange {
    PathChange {
        path: path.to_owned(),
        operation,
    }
}

fn write(path: &str, text: &str, executable: Option<bool>) -> PathChange {
    let bytes = text.as_bytes().to_vec();
    change(path, PathOperation::Write { bytes, executable })
}

fn edit(path: &str, old: &str, new: &str) -> PathChange {
    let (old_text, new_text) = (old.to_owned(), new.to_owned());
    change(path, PathOperation::Edit { old_text, new_text })
}

fn delete(path: &str) -> PathChange {
    change(path, PathOperation::Delete)
}

fn rename(path: &str, to: &str, text: Option<&str>) -> PathChange {
    let (to, bytes) = (to.to_owned(), text.map(|text| text.as_bytes().to_vec()));
    change(path, PathOperation::Move { to, bytes })
}

fn chmod(path: &str, executable: bool) -> PathChange {
    change(path, PathOperation::Chmod { executable })
}

async fn commit_in(
    fixture: &LocalFixture,
    repo: &RepoName,
    branch: &str,
    changes: Vec<PathChange>,
    expected_head: Option<&str>,
) -> Result<CommittedChanges, Failure> {
    let context = writing_context();
    let order = CommitInstruction {
        branch: branch.to_owned(),
        message: String::from("Change"),
        changes,
        expected_head: expected_head.map(String::from),
    };
    let made = fixture.forge.commit_changes(&context, repo, &order).await;
    assert_eq!(context.mark.effect(), effect(&made));
    made
}

async fn commit(fixture: &LocalFixture, changes: Vec<PathChange>) -> Result<String, Failure> {
    let made = commit_in(fixture, &hello(), "topic", changes, None).await;
    made.map(|made| made.sha)
}

/// Returns the modes and paths of a commit, as `git ls-tree -r` prints them.
fn entries(fixture: &LocalFixture, at: &str) -> Vec<String> {
    let tree = fixture.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", at]);
    tree.lines().map(String::from).collect()
}

fn show(fixture: &LocalFixture, at: &str, path: &str) -> String {
    fixture.git(&["cat-file", "blob", &format!("{at}:{path}")])
}

#[tokio::test]
async fn one_commit_makes_every_kind_of_change() {
    let fixture = LocalFixture::new().await;
    fixture.branch("topic", "main").await;
    let before = fixture.head("topic");
    let base = vec![
        write("run.sh", "#!/bin/sh\n", Some(true)),
        write("src/deep/only.rs", "one\r\ntwo\r\n", None),
        write("plain", "x", None),
        write("old name", "kept", Some(true)),
    ];
    let made = commit_in(&fixture, &hello(), "topic", base, Some(&before[..7])).await;
    let made = made.unwrap();
    assert_eq!(made.parent.as_deref(), Some(before.as_str()));
    assert_eq!(made.sha, fixture.head("topic"));
    assert_eq!(
        made.url,
        format!("candor:///sample/hello/commit/{}", made.sha)
    );
    let sha = commit(
        &fixture,
        vec![
            write("run.sh", "#!/bin/sh\nexit\n", None),
            edit("src/deep/only.rs", "one\r\n", "1\n"),
            rename("old name", "new/name", None),
            chmod("plain", true),
        ],
    );
    let sha = sha.await.unwrap();
    let mut expected = entries(&fixture, "main");
    expected.extend([
        String::from("100755 new/name"),
        String::from("100755 plain"),
        String::from("100755 run.sh"),
        String::from("100644 src/deep/only.rs"),
    ]);
    let path = |line: &String| line.split_once(' ').unwrap().1.to_owned();
    expected.sort_by_key(path);
    assert_eq!(entries(&fixture, &sha), expected);
    assert_eq!(show(&fixture, &sha, "src/deep/only.rs"), "1\ntwo");
    assert_eq!(show(&fixture, &sha, "new/name"), "kept");
    // The last file of a directory takes the directory with it.
    let sha = commit(&fixture, vec![delete("src/deep/only.rs")]).await;
    let tree = fixture.git(&["ls-tree", "-rt", "--name-only", &sha.unwrap()]);
    assert!(!tree.contains("src/deep"), "{tree}");
    fixture.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn links_stay_links() {
    let fixture = LocalFixture::new().await;
    fixture.branch("topic", "main").await;
    let clone = fixture.clone_repository("sample/hello");
    let at = clone.path();
    git(at, &["checkout", "-q", "topic"]);
    std::os::unix::fs::symlink("README.md", at.join("link")).unwrap();
    git(at, &["add", "."]);
    git(at, &["commit", "-q", "-m", "Link"]);
    git(at, &["push", "-q", "origin", "topic"]);
    let refused = commit(&fixture, vec![chmod("link", true)]).await;
    let plain = UnmetPrecondition::NotAPlainFile(String::from("link"));
    assert_eq!(refused, Err(plain.into()));
    let sha = commit(&fixture, vec![edit("link", "README", "GUIDE")])
        .await
        .unwrap();
    assert_eq!(show(&fixture, &sha, "link"), "GUIDE.md");
    assert!(entries(&fixture, &sha).contains(&String::from("120000 link")));
}

#[tokio::test]
async fn refused_changes_leave_the_branch() {
    let fixture = LocalFixture::new().await;
    fixture.branch("topic", "main").await;
    fixture
        .commit("topic", &[file("dir/a", "aXa"), file("bytes", "x")])
        .await
        .unwrap();
    let clone = fixture.clone_repository("sample/hello");
    git(clone.path(), &["checkout", "-q", "topic"]);
    fs::write(clone.path().join("bytes"), [0xff]).unwrap();
    git(clone.path(), &["commit", "-qam", "Bytes"]);
    git(clone.path(), &["push", "-q", "origin", "topic"]);
    let head = fixture.head("topic");
    let unmet = |unmet: UnmetPrecondition| Failure::Unmet(unmet);
    let text = String::from;
    let missing = |path: &str| Failure::Missing(MissingItem::Path(path.to_owned()));
    let occurrences = |occurrences| UnmetPrecondition::NotOneOccurrence {
        path: text("dir/a"),
        occurrences,
    };
    let fine = || write("fine", "fine", None);
    for (changes, expected) in [
        (vec![fine(), edit("dir/a", "a", "b")], unmet(occurrences(2))),
        (
            vec![fine(), edit("dir/a", "a\nX", "b")],
            unmet(occurrences(0)),
        ),
        (
            vec![edit("bytes", "a", "b")],
            unmet(UnmetPrecondition::NotText(text("bytes"))),
        ),
        (vec![fine(), delete("none")], missing("none")),
        (vec![delete("dir/a/b")], missing("dir/a/b")),
        (
            vec![delete("dir")],
            unmet(UnmetPrecondition::DirectoryChanged(text("dir"))),
        ),
        (
            vec![write("dir", "", None)],
            unmet(UnmetPrecondition::PathConflict(text("dir"))),
        ),
        (
            vec![write("dir/a/b", "", None)],
            unmet(UnmetPrecondition::PathConflict(text("dir/a/b"))),
        ),
        (
            vec![delete("dir/a"), write("dir/a/b", "", None)],
            unmet(UnmetPrecondition::PathConflict(text("dir/a/b"))),
        ),
        (
            vec![rename("dir/a", "bytes", None)],
            unmet(UnmetPrecondition::PathExists(text("bytes"))),
        ),
        (
            vec![rename("dir/a", "dir/a/b", None)],
            unmet(UnmetPrecondition::PathConflict(text("dir/a/b"))),
        ),
        (
            vec![write("n", "", None), write("n/m", "", None)],
            unmet(UnmetPrecondition::PathConflict(text("n"))),
        ),
        (
            vec![write("git~1", "", None)],
            unmet(UnmetPrecondition::PathRefused(text("git~1"))),
        ),
        (
            vec![write("dir/a", "aXa", None)],
            unmet(UnmetPrecondition::NothingToCommit),
        ),
        (
            vec![delete("DIR/A")],
            Failure::Missing(MissingItem::PathInOtherCase {
                path: text("DIR/A"),
                similar: vec![text("dir/a")],
            }),
        ),
    ] {
        let shown = format!("{changes:?}");
        assert_eq!(commit(&fixture, changes).await, Err(expected), "{shown}");
        assert_eq!(fixture.head("topic"), head);
    }
    let none = commit_in(&fixture, &hello(), "none", vec![fine()], None).await;
    assert_eq!(none.unwrap_err(), MissingItem::Branch(text("none")).into());
    let rules = BranchRules {
        require_pull_request: true,
        ..BranchRules::default()
    };
    fixture
        .forge
        .protect(&hello(), "topic", &rules)
        .await
        .unwrap();
    let refused = commit(&fixture, vec![fine()]).await;
    assert_eq!(
        refused,
        Err(unmet(UnmetPrecondition::BranchProtected(text("topic"))))
    );
    // Another head is reported before anything about the content.
    let stale = commit_in(
        &fixture,
        &hello(),
        "topic",
        vec![delete("none")],
        Some("0123456"),
    )
    .await;
    let expected = Failure::BranchHeadMoved {
        expected: text("0123456"),
        actual: Some(head),
    };
    assert_eq!(stale.unwrap_err(), expected);
}

#[tokio::test]
async fn first_commit_makes_its_branch_and_head() {
    let fixture = LocalFixture::new().await;
    let path = fixture.path("me/empty");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let init = [
        "init",
        "-q",
        "--bare",
        "-b",
        "master",
        path.to_str().unwrap(),
    ];
    git(fixture.dir.path(), &init);
    let empty = repo("me/empty");
    let missing = commit_in(&fixture, &empty, "trunk", vec![delete("a")], None).await;
    assert_eq!(
        missing.unwrap_err(),
        MissingItem::Path(String::from("a")).into()
    );
    let stale = commit_in(
        &fixture,
        &empty,
        "trunk",
        vec![write("a", "", None)],
        Some("0123456"),
    );
    let expected = Failure::BranchHeadMoved {
        expected: String::from("0123456"),
        actual: None,
    };
    assert_eq!(stale.await.unwrap_err(), expected);
    assert_eq!(git(&path, &["symbolic-ref", "HEAD"]), "refs/heads/master");
    let both = vec![write("a", "1\n", None), write("b/c", "2\n", Some(true))];
    let made = commit_in(&fixture, &empty, "trunk", both, None)
        .await
        .unwrap();
    assert_eq!(made.parent, None);
    assert_eq!(git(&path, &["symbolic-ref", "HEAD"]), "refs/heads/trunk");
    assert_eq!(git(&path, &["rev-parse", "HEAD"]), made.sha);
    assert_eq!(
        git(&path, &["ls-tree", "-r", "--name-only", "HEAD"]),
        "a\nb/c"
    );
    git(&path, &["fsck", "--strict"]);
    let other = commit_in(&fixture, &empty, "other", vec![write("x", "", None)], None).await;
    assert_eq!(
        other.unwrap_err(),
        MissingItem::Branch(String::from("other")).into()
    );
}

/// Applies a change to a working tree.
fn apply(at: &Path, change: &PathChange) {
    let path = at.join(&change.path);
    match &change.operation {
        PathOperation::Write { bytes, .. } => {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
        }
        PathOperation::Edit { old_text, new_text } => {
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replacen(old_text, new_text, 1)).unwrap();
        }
        PathOperation::Delete => fs::remove_file(&path).unwrap(),
        PathOperation::Move { to, bytes } => {
            let to = at.join(to);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::rename(&path, &to).unwrap();
            if let Some(bytes) = bytes {
                fs::write(&to, bytes).unwrap();
            }
        }
        PathOperation::Chmod { executable } => {
            let flag = if *executable { "+x" } else { "-x" };
            let path = path.to_str().unwrap();
            git(at, &["update-index", &format!("--chmod={flag}"), path]);
        }
    }
}

/// Returns random changes that fit the files of a tree. The map is the tree afterwards.
fn random_changes(
    random: &mut fastrand::Rng,
    files: &mut BTreeMap<String, String>,
    round: usize,
) -> Vec<PathChange> {
    let mut changes = Vec::new();
    let mut before: Vec<String> = files.keys().cloned().collect();
    random.shuffle(&mut before);
    for (number, path) in before.iter().take(4).enumerate() {
        let text = format!("{round}.{number} {}\n", random.u64(..));
        match random.u64(..4) {
            0 => {
                let old = files[path].clone();
                files.insert(path.clone(), text.clone());
                changes.push(edit(path, &old, &text));
            }
            1 => {
                files.remove(path);
                changes.push(delete(path));
            }
            2 => {
                let to = format!("m{}/{round}-{number}", random.u64(..3));
                files.remove(path);
                files.insert(to.clone(), text.clone());
                changes.push(rename(path, &to, Some(&text)));
            }
            _ => {
                files.insert(path.clone(), text.clone());
                changes.push(write(path, &text, None));
            }
        }
    }
    for number in 0..3 {
        let path = format!("n{}/p{}/{round}-{number}", random.u64(..3), random.u64(..3));
        let text = format!("{path} {}\n", random.u64(..));
        files.insert(path.clone(), text.clone());
        changes.push(write(&path, &text, None));
    }
    changes
}

#[tokio::test]
async fn random_changes_make_the_tree_of_git() {
    let fixture = LocalFixture::new().await;
    let start = "commit refs/heads/topic\ncommitter a <a@b> 1700000000 +0000\ndata 1\nm\nM 100644 inline start\ndata 6\nstart\n\n";
    git_with_input(
        &fixture.path("sample/hello"),
        &["fast-import", "--quiet"],
        start,
    );
    let clone = fixture.clone_repository("sample/hello");
    let at = clone.path();
    git(at, &["checkout", "-q", "topic"]);
    let mut files = BTreeMap::from([(String::from("start"), String::from("start\n"))]);
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..if is_long() { 100 } else { 15 } {
        let changes = random_changes(&mut random, &mut files, round);
        changes.iter().for_each(|change| apply(at, change));
        git(at, &["add", "--all"]);
        let expected = git(at, &["write-tree"]);
        let sha = commit(&fixture, changes).await.unwrap();
        let tree = fixture.git(&["rev-parse", &format!("{sha}^{{tree}}")]);
        assert_eq!(tree, expected, "{round}");
    }
}

/// A probe stops the change before the branch moves, as a crash would.
#[tokio::test]
async fn interrupted_commit_has_no_effect() {
    let fixture = LocalFixture::watched(std::sync::Arc::new(|_| false)).await;
    let context = writing_context();
    let order = CommitInstruction {
        branch: String::from("main"),
        message: String::from("Change"),
        changes: vec![write("a", "a", None)],
        expected_head: None,
    };
    let head = fixture.head("main");
    let made = fixture
        .forge
        .commit_changes(&context, &hello(), &order)
        .await;
    assert!(made.is_err());
    assert_eq!(context.mark.effect(), Effect::None);
    assert_eq!(fixture.head("main"), head);
}
