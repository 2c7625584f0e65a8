//! Many writers in two processes while plain git moves the same branch and collects garbage: nothing is
//! lost, and nothing is read that is older than what was acknowledged.

use crate::fixture::local::{LocalFixture, git};
use candor_testkit::is_long;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_forge-test-program");

/// The writers of each process, and the commits of each writer.
fn extent() -> (usize, usize) {
    if is_long() { (32, 6) } else { (32, 1) }
}

#[test]
fn writers_lose_nothing_beside_pushes_and_garbage_collection() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let LocalFixture { dir, forge } = runtime.block_on(LocalFixture::new());
    drop(forge);
    let repository = dir.path().join("sample/hello.git");
    let before: usize = git(&repository, &["rev-list", "--count", "main"])
        .parse()
        .unwrap();
    let (writers, commits) = extent();
    let start = |name: &str| {
        let mut program = Command::new(PROGRAM);
        program.arg("write-many").arg(dir.path()).arg(name);
        program.args([writers.to_string(), commits.to_string()]);
        program
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut processes = vec![start("one"), start("two")];
    let clone = tempfile::TempDir::new().unwrap();
    git(
        clone.path(),
        &["clone", "-q", repository.to_str().unwrap(), "."],
    );
    let mut pushed = BTreeSet::new();
    while processes
        .iter_mut()
        .any(|one| one.try_wait().unwrap().is_none())
    {
        pushed.extend(push(clone.path()));
        git(&repository, &["gc", "-q"]);
        git(&repository, &["pack-refs", "--all"]);
        git(&repository, &["repack", "-a", "-d", "-q"]);
    }
    let mut made = pushed.clone();
    for process in processes {
        let output = process.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let shas = String::from_utf8(output.stdout).unwrap();
        assert_eq!(shas.lines().count(), writers * commits);
        made.extend(shas.lines().map(str::to_owned));
    }
    assert_eq!(made.len(), 2 * writers * commits + pushed.len());
    let history = git(&repository, &["rev-list", "main"]);
    let history: BTreeSet<String> = history.lines().map(str::to_owned).collect();
    assert!(made.is_subset(&history));
    assert_eq!(history.len(), before + made.len());
    git(&repository, &["fsck", "--strict"]);
}

/// Pushes an empty commit. Returns it if nobody was faster.
fn push(clone: &std::path::Path) -> Option<String> {
    git(clone, &["fetch", "-q"]);
    git(clone, &["reset", "-q", "--hard", "origin/main"]);
    git(clone, &["commit", "-q", "--allow-empty", "-m", "Pushed"]);
    let mut push = Command::new("git");
    push.current_dir(clone)
        .args(["push", "-q", "origin", "HEAD:main"]);
    let pushed = push.output().unwrap().status.success();
    pushed.then(|| git(clone, &["rev-parse", "HEAD"]))
}
