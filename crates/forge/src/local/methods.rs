//! The forge's methods: each is passed to the file that is responsible for it.

use super::failing::{Refused, off};
use super::place::Opened;
use super::{LocalForge, search};
use crate::{
    Answering, Branch, Branches, Checks, Commits, Committed, Details, Directory, Failure, File,
    Forge, Found, MergeOrder, Merged, NewFile, NewPull, Paging, PullChange, PullRequest, Pulls,
    RepoName, Repository, Revision, Tree, Turn, Wanted,
};
use std::sync::Arc;

impl LocalForge {
    /// Reads something of a repository.
    async fn look<T: Send + 'static>(
        &self,
        repo: &RepoName,
        look: impl FnOnce(&Opened) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (place, repo) = (Arc::clone(&self.place), repo.clone());
        off(move || look(&place.open(&repo)?)).await
    }

    /// All repositories, in the order of their names without case.
    pub async fn repositories(&self) -> Result<Vec<Repository>, Refused> {
        let place = Arc::clone(&self.place);
        let all = off(move || {
            let all = place.all()?.into_iter();
            // What git cannot open is no repository.
            let opened = all.filter_map(|home| place.open_home(home).ok());
            opened.map(|opened| opened.shown()).collect()
        });
        Ok(all.await?)
    }
}

impl Forge for LocalForge {
    fn search<'a>(&'a self, _: &'a Turn, query: &'a str, paging: Paging) -> Answering<'a, Found> {
        let (place, query) = (Arc::clone(&self.place), query.to_owned());
        Box::pin(off(move || search::search(&place, &query, paging)))
    }

    fn repository<'a>(&'a self, _: &'a Turn, repo: &'a RepoName) -> Answering<'a, Repository> {
        Box::pin(self.look(repo, Opened::shown))
    }

    fn readme<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        most: u64,
    ) -> Answering<'a, Option<(Vec<u8>, bool)>> {
        Box::pin(self.look(repo, move |opened| opened.readme(most)))
    }

    fn directory<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
    ) -> Answering<'a, Directory> {
        let (path, at) = (path.to_owned(), at.clone());
        Box::pin(self.look(repo, move |opened| opened.directory(&path, &at)))
    }

    fn file<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
        most: u64,
    ) -> Answering<'a, File> {
        let (path, at) = (path.to_owned(), at.clone());
        Box::pin(self.look(repo, move |opened| opened.file(&path, &at, most)))
    }

    fn tree<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        at: &'a Revision,
        most: usize,
    ) -> Answering<'a, Tree> {
        let at = at.clone();
        Box::pin(self.look(repo, move |opened| opened.whole_tree(&at, most)))
    }

    fn commits<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        from: &'a Revision,
        paging: Paging,
    ) -> Answering<'a, Commits> {
        let from = from.clone();
        Box::pin(self.look(repo, move |opened| opened.commits(&from, paging)))
    }

    fn branches<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        paging: Paging,
    ) -> Answering<'a, Branches> {
        Box::pin(async move {
            let rules = self.rules_of(repo).await?;
            self.look(repo, move |opened| opened.branches(&rules, paging))
                .await
        })
    }

    fn pull_requests<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        wanted: Wanted,
        paging: Paging,
    ) -> Answering<'a, Pulls> {
        Box::pin(self.listed(repo, wanted, paging))
    }

    fn pull_request<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        number: u64,
    ) -> Answering<'a, PullRequest> {
        Box::pin(self.one(repo, number))
    }

    fn checks<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        sha: &'a str,
    ) -> Answering<'a, Checks> {
        Box::pin(self.checks_of(repo, sha))
    }

    fn create_pull_request<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        new: &'a NewPull,
    ) -> Answering<'a, PullRequest> {
        Box::pin(self.propose(turn, repo, new))
    }

    fn update_pull_request<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        number: u64,
        change: &'a PullChange,
    ) -> Answering<'a, PullRequest> {
        Box::pin(self.change(turn, repo, number, change))
    }

    fn merge<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        order: &'a MergeOrder,
    ) -> Answering<'a, Merged> {
        Box::pin(self.merge_pull(turn, repo, order))
    }

    fn delete_branch<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        branch: &'a str,
    ) -> Answering<'a, ()> {
        Box::pin(self.remove_branch(turn, repo, branch))
    }

    fn commit_files<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        branch: &'a str,
        message: &'a str,
        files: &'a [NewFile],
    ) -> Answering<'a, Committed> {
        Box::pin(self.commit_on(turn, repo, branch, message, files))
    }

    fn create_branch<'a>(
        &'a self,
        turn: &'a Turn,
        repo: &'a RepoName,
        branch: &'a str,
        from: &'a Revision,
    ) -> Answering<'a, Branch> {
        Box::pin(self.make_branch(turn, repo, branch, from))
    }

    fn details<'a>(
        &'a self,
        _: &'a Turn,
        repo: &'a RepoName,
        pull: &'a PullRequest,
        most: usize,
    ) -> Answering<'a, Details> {
        Box::pin(self.details_of(repo, pull, most))
    }
}
