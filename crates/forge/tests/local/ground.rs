//! The ground that tests stand on: a forge in a folder of its own, with the sample in it, a clock
//! that goes on by a second a look, and the real git beside it.

use crate::marks::mark;
use candor_fault::{Effect, Timestamp};
use candor_forge::local::{Identity, Probe, init};
use candor_forge::{
    Failure, Forge as _, LocalForge, MergeMethod, MergeOrder, Merged, NewFile, NewPull, Paging,
    PullRequest, RepoName, Revision, Turn, Unmergeable, Why,
};
use candor_guard::Deadline;
use candor_street::Clock;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// 2026-02-03T04:05:06Z.
pub(crate) const NOW: i64 = 1_770_091_506;

pub(crate) const ALL: Paging = Paging {
    page: 1,
    per_page: 100,
};

pub(crate) struct Ground {
    pub(crate) dir: TempDir,
    pub(crate) forge: LocalForge,
}

/// The files of a new forge, made once: to write them is faster than to sync them every time. A
/// directory has no bytes.
static MADE: OnceCell<Vec<(PathBuf, Option<Vec<u8>>)>> = OnceCell::const_new();

async fn made() -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let dir = TempDir::new().unwrap();
    assert!(init(dir.path()).await.unwrap());
    let mut files = Vec::new();
    let mut waiting = vec![dir.path().to_path_buf()];
    while let Some(next) = waiting.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir.path()).unwrap().to_path_buf();
            let bytes = (!path.is_dir()).then(|| fs::read(&path).unwrap());
            if bytes.is_none() {
                waiting.push(path);
            }
            files.push((name, bytes));
        }
    }
    files
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    let seconds = AtomicI64::new(NOW);
    Arc::new(move || {
        let now = seconds.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_second(now).unwrap()
    })
}

pub(crate) fn identity() -> Identity {
    Identity {
        name: "Ada".to_owned(),
        email: "ada@example.com".to_owned(),
    }
}

pub(crate) async fn reopened(dir: &Path) -> LocalForge {
    LocalForge::open(dir, clock(), identity()).await.unwrap()
}

pub(crate) fn repo(name: &str) -> RepoName {
    RepoName::read(name).unwrap()
}

pub(crate) fn hello() -> RepoName {
    repo("sample/hello")
}

pub(crate) fn branch(name: &str) -> Revision {
    Revision::Branch(name.to_owned())
}

pub(crate) fn named(name: &str) -> Revision {
    Revision::Named(name.to_owned())
}

pub(crate) fn sha(digits: &str) -> Revision {
    Revision::Commit(digits.to_owned())
}

pub(crate) fn file(path: &str, text: &str) -> NewFile {
    NewFile {
        path: path.to_owned(),
        bytes: text.as_bytes().to_vec(),
    }
}

pub(crate) fn writing() -> Turn {
    Turn {
        deadline: Deadline::after(Duration::from_secs(60)),
        mark: mark(true),
    }
}

/// A turn of a tool that may not write: what marks it fails.
pub(crate) fn reading() -> Turn {
    Turn {
        deadline: Deadline::after(Duration::from_secs(60)),
        mark: mark(false),
    }
}

/// Runs the real git, without anybody's configuration.
pub(crate) fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(dir)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "Git")
        .env("GIT_AUTHOR_EMAIL", "git@example.com")
        .env("GIT_COMMITTER_NAME", "Git")
        .env("GIT_COMMITTER_EMAIL", "git@example.com")
        .env("GIT_AUTHOR_DATE", "1760000000 +0200")
        .env("GIT_COMMITTER_DATE", "1760000000 +0200")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

impl Ground {
    pub(crate) async fn new() -> Ground {
        let dir = TempDir::new().unwrap();
        for (name, bytes) in MADE.get_or_init(made).await {
            let path = dir.path().join(name);
            match bytes {
                Some(bytes) => fs::write(path, bytes).unwrap(),
                None => fs::create_dir(path).unwrap(),
            }
        }
        let forge = reopened(dir.path()).await;
        Ground { dir, forge }
    }

    pub(crate) async fn watched(probe: Arc<Probe>) -> Ground {
        let Ground { dir, forge } = Ground::new().await;
        let forge = forge.watched(probe);
        Ground { dir, forge }
    }

    pub(crate) fn path(&self, repo: &str) -> PathBuf {
        self.dir.path().join(format!("{repo}.git"))
    }

    /// Runs git in the sample.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.path("sample/hello"), arguments)
    }

    pub(crate) fn head(&self, branch: &str) -> String {
        self.git(&["rev-parse", &format!("refs/heads/{branch}")])
    }

    /// A clone of the sample, with a working tree.
    pub(crate) fn clone_of(&self, repo: &str) -> TempDir {
        let clone = TempDir::new().unwrap();
        let from = self.path(repo);
        git(clone.path(), &["clone", "-q", from.to_str().unwrap(), "."]);
        clone
    }

    /// Commits a file with the real git and pushes it.
    pub(crate) fn push(&self, branch: &str, path: &str, text: &str) -> String {
        let clone = self.clone_of("sample/hello");
        let at = clone.path();
        git(at, &["checkout", "-q", branch]);
        std::fs::write(at.join(path), text).unwrap();
        git(at, &["add", "."]);
        git(at, &["commit", "-q", "-m", &format!("Push {path}")]);
        git(at, &["push", "-q", "origin", branch]);
        git(at, &["rev-parse", "HEAD"])
    }

    pub(crate) async fn commit(&self, branch: &str, files: &[NewFile]) -> Result<String, Failure> {
        let turn = writing();
        let made = self
            .forge
            .commit_files(&turn, &hello(), branch, "Commit", files)
            .await;
        assert_eq!(turn.mark.effect(), effect(&made));
        made.map(|commit| commit.sha)
    }

    pub(crate) async fn branch(&self, name: &str, from: &str) {
        let turn = writing();
        let from = named(from);
        let made = self.forge.create_branch(&turn, &hello(), name, &from).await;
        made.unwrap();
    }

    pub(crate) async fn pull(&self, number: u64) -> PullRequest {
        let (turn, hello) = (reading(), hello());
        let pull = self.forge.pull_request(&turn, &hello, number);
        pull.await.unwrap()
    }

    pub(crate) async fn state(&self, number: u64) -> (Option<bool>, String) {
        let pull = self.pull(number).await;
        (pull.mergeable, pull.mergeable_state.unwrap())
    }

    pub(crate) async fn propose(&self, head: &str, base: &str) -> Result<u64, Failure> {
        let turn = writing();
        let new = proposal(head, base);
        let made = self.forge.create_pull_request(&turn, &hello(), &new).await;
        assert_eq!(turn.mark.effect(), effect(&made));
        made.map(|pull| pull.number)
    }

    pub(crate) async fn merge(&self, number: u64, method: MergeMethod) -> Result<Merged, Failure> {
        let order = self.order(number, method).await;
        self.merge_as(&order).await
    }

    pub(crate) async fn merge_as(&self, order: &MergeOrder) -> Result<Merged, Failure> {
        let turn = writing();
        let merged = self.forge.merge(&turn, &hello(), order).await;
        assert_eq!(turn.mark.effect(), effect(&merged));
        merged
    }

    pub(crate) async fn order(&self, number: u64, method: MergeMethod) -> MergeOrder {
        MergeOrder {
            number,
            method,
            title: None,
            message: None,
            head_sha: self.pull(number).await.head_sha,
        }
    }
}

/// What a change that came to this has done.
pub(crate) fn effect<T>(made: &Result<T, Failure>) -> Effect {
    match made {
        Ok(_) => Effect::Done,
        Err(_) => Effect::None,
    }
}

pub(crate) fn proposal(head: &str, base: &str) -> NewPull {
    NewPull {
        title: format!("From {head}"),
        head_owner: None,
        head: head.to_owned(),
        base: base.to_owned(),
        body: None,
        draft: false,
    }
}

/// Why a pull request could not be merged, in GitHub's word, and the checks that fail.
pub(crate) fn why<T: std::fmt::Debug>(made: Result<T, Failure>) -> (Why, String, Vec<String>) {
    match made {
        Err(Failure::Unmergeable(Unmergeable {
            why,
            state,
            failing_checks,
            answered: None,
            ..
        })) => (why, state.unwrap(), failing_checks),
        other => panic!("{other:?}"),
    }
}
