//! A backend that writes down what it was asked, and answers, fails or stands still as it is told.

use crate::world::{Stands, World};
use candor_forge::{
    Answering, Branch, Branches, Checks, Commits, Committed, Details, Directory, Failure, File,
    Forge, Found, MergeOrder, Merged, NewFile, NewPull, Paging, PullChange, PullRequest, Pulls,
    RepoName, Repository, Revision, Tree, Turn, Wanted,
};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::Notify;

/// What happened, in order, whoever did it.
#[derive(Default)]
pub(crate) struct Seen(Mutex<Vec<String>>);

impl Seen {
    pub(crate) fn push(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    /// Forgets everything so far.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap().clear();
    }

    /// Everything so far.
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// What follows a word, of everything that begins with it.
    pub(crate) fn of(&self, kind: &str) -> Vec<String> {
        let all = self.all().into_iter();
        all.filter_map(|what| what.strip_prefix(kind).map(|rest| rest.trim().to_owned()))
            .collect()
    }
}

pub(crate) struct Stub {
    pub(crate) seen: Arc<Seen>,
    pub(crate) go_on: Notify,
    world: Mutex<World>,
}

impl Stub {
    pub(crate) fn new(seen: Arc<Seen>, world: World) -> Stub {
        Stub {
            seen,
            go_on: Notify::new(),
            world: Mutex::new(world),
        }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    /// Stands still here, if it was told to.
    async fn stand(&self, method: &str, place: Stands) {
        let standing = self.world().standing.get(method).copied();
        if standing == Some(place) {
            self.go_on.notified().await;
        }
        let is_last = place == Stands::Begun || !method_writes(method);
        assert!(!is_last || standing != Some(Stands::Panics), "to order");
    }

    fn failure(&self, method: &str) -> Option<Failure> {
        self.world().failing.get(method).cloned()
    }

    fn read<'a, T: Send + 'a>(
        &'a self,
        method: &'static str,
        asked: String,
        answer: impl FnOnce(&mut World) -> T + Send + 'a,
    ) -> Answering<'a, T> {
        Box::pin(async move {
            self.seen.push(format!("ask {method} {asked}"));
            self.stand(method, Stands::Before).await;
            match self.failure(method) {
                Some(failure) => Err(failure),
                None => Ok(answer(&mut self.world())),
            }
        })
    }

    fn write<'a, T: Send + 'a>(
        &'a self,
        turn: &'a Turn,
        method: &'static str,
        asked: String,
        answer: impl FnOnce(&mut World) -> T + Send + 'a,
    ) -> Answering<'a, T> {
        Box::pin(async move {
            self.seen.push(format!("ask {method} {asked}"));
            self.stand(method, Stands::Before).await;
            turn.mark.begins()?;
            self.stand(method, Stands::Begun).await;
            if let Some(failure) = self.failure(method) {
                if !self.world().failing_midway {
                    turn.mark.undone();
                }
                return Err(failure);
            }
            turn.mark.done();
            self.seen.push(format!("done {method}"));
            Ok(answer(&mut self.world()))
        })
    }
}

fn method_writes(method: &str) -> bool {
    let words = ["create", "update", "merge", "delete", "commit_files"];
    words.iter().any(|word| method.starts_with(word))
}

fn revision(revision: &Revision) -> String {
    format!("{revision:?}")
}

fn pages(paging: Paging) -> String {
    format!("{}*{}", paging.page, paging.per_page)
}

impl Forge for Stub {
    fn search<'a>(&'a self, _: &'a Turn, query: &'a str, paging: Paging) -> Answering<'a, Found> {
        let asked = format!("{query:?} {}", pages(paging));
        self.read("search", asked, |world| world.found())
    }

    fn repository<'a>(&'a self, _: &'a Turn, repo: &'a RepoName) -> Answering<'a, Repository> {
        self.read("repository", repo.to_string(), |world| {
            world.repository.clone()
        })
    }

    fn readme<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        most: u64,
    ) -> Answering<'a, Option<(Vec<u8>, bool)>> {
        let asked = format!("{repo} {most}");
        self.read("readme", asked, |world| world.readme.clone())
    }

    fn directory<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
    ) -> Answering<'a, Directory> {
        let asked = format!("{repo} {path:?} {}", revision(at));
        self.read("directory", asked, |world| world.directory())
    }

    fn file<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
        most: u64,
    ) -> Answering<'a, File> {
        let asked = format!("{repo} {path:?} {} {most}", revision(at));
        self.read("file", asked, |world| world.file())
    }

    fn tree<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        at: &'a Revision,
        most: usize,
    ) -> Answering<'a, Tree> {
        let asked = format!("{repo} {} {most}", revision(at));
        self.read("tree", asked, move |world| {
            let mut tree = world.tree.clone();
            tree.truncated |= tree.entries.len() > most;
            tree.entries.truncate(most);
            tree
        })
    }

    fn commits<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        from: &'a Revision,
        paging: Paging,
    ) -> Answering<'a, Commits> {
        let asked = format!("{repo} {} {}", revision(from), pages(paging));
        self.read("commits", asked, |world| world.commits())
    }

    fn branches<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        paging: Paging,
    ) -> Answering<'a, Branches> {
        let asked = format!("{repo} {}", pages(paging));
        self.read("branches", asked, |world| world.branches())
    }

    fn pull_requests<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        wanted: Wanted,
        paging: Paging,
    ) -> Answering<'a, Pulls> {
        let asked = format!("{repo} {wanted:?} {}", pages(paging));
        self.read("pull_requests", asked, |world| world.pulls())
    }

    fn pull_request<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        number: u64,
    ) -> Answering<'a, PullRequest> {
        let asked = format!("{repo} {number}");
        self.read("pull_request", asked, World::look)
    }

    fn checks<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        sha: &'a str,
    ) -> Answering<'a, Checks> {
        let asked = format!("{repo} {sha}");
        self.read("checks", asked, |world| world.checks())
    }

    fn create_pull_request<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        new: &'a NewPull,
    ) -> Answering<'a, PullRequest> {
        let asked = format!("{repo} {new:?}");
        self.write(turn, "create_pull_request", asked, World::look)
    }

    fn update_pull_request<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        number: u64,
        change: &'a PullChange,
    ) -> Answering<'a, PullRequest> {
        let asked = format!("{repo} {number} {change:?}");
        self.write(turn, "update_pull_request", asked, World::look)
    }

    fn merge<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        order: &'a MergeOrder,
    ) -> Answering<'a, Merged> {
        let asked = format!("{repo} {order:?}");
        self.write(turn, "merge", asked, |world| world.merged())
    }

    fn delete_branch<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        branch: &'a str,
    ) -> Answering<'a, ()> {
        let asked = format!("{repo} {branch}");
        self.write(turn, "delete_branch", asked, |_| ())
    }

    fn commit_files<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        branch: &'a str,
        message: &'a str,
        files: &'a [NewFile],
    ) -> Answering<'a, Committed> {
        let files: Vec<_> = files
            .iter()
            .map(|file| format!("{:?}={}", file.path, file.bytes.escape_ascii()))
            .collect();
        let asked = format!("{repo} {branch} {message:?} {}", files.join(" "));
        self.write(turn, "commit_files", asked, |world| world.committed())
    }

    fn create_branch<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        branch: &'a str,
        from: &'a Revision,
    ) -> Answering<'a, Branch> {
        let asked = format!("{repo} {branch} {}", revision(from));
        self.write(turn, "create_branch", asked, |world| world.branch(branch))
    }

    fn details<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        pull: &'a PullRequest,
        most: usize,
    ) -> Answering<'a, Details> {
        let asked = format!("{repo} {} {most}", pull.number);
        self.read("details", asked, |world| world.details())
    }
}
