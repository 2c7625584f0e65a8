//! The trait `Forge` for the local backend.

use super::errors::{LocalForgeError, run_blocking};
use super::repository_root::{OpenRepository, RepositoryLocation};
use super::{LocalForge, search};
use crate::{
    BackendContext, BackendFuture, Branch, BranchPage, CommitChecks, CommitPage, CreatedCommit,
    Directory, Failure, File, Forge, MergeInstruction, MergedPull, NewFile, NewPullRequest, Paging,
    PullDetails, PullFilter, PullPage, PullRequest, PullRequestChange, RepoName, Repository,
    RepositoryPage, Revision, Tree,
};
use std::sync::Arc;

impl LocalForge {
    /// Reads from a repository on a blocking thread. May be read twice, see [`RepositoryRoot::read`].
    ///
    /// [`RepositoryRoot::read`]: super::repository_root::RepositoryRoot::read
    async fn look<T: Send + 'static>(
        &self,
        repo: &RepoName,
        look: impl Fn(&OpenRepository) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (root, repo) = (Arc::clone(&self.root), repo.clone());
        run_blocking(move || root.read(&repo, look)).await
    }

    /// As [`LocalForge::look`], but at once and without a thread if everything that is read is cached. A thread
    /// costs more than such a read.
    async fn look_quickly<T: Send + 'static>(
        &self,
        repo: &RepoName,
        look: impl Fn(&OpenRepository) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        match self.root.read_cached(repo, &look) {
            Some(found) => Ok(found),
            None => self.look(repo, look).await,
        }
    }

    /// Returns the names of all repositories in the order of their names without case, damaged ones too.
    pub async fn repositories(&self) -> Result<Vec<RepoName>, LocalForgeError> {
        let root = Arc::clone(&self.root);
        let all = run_blocking(move || {
            let all = root.all()?.into_iter();
            // A directory that is not a repository is skipped.
            let is_there = |location: &RepositoryLocation| {
                let opened = root.open_at(location.clone());
                !matches!(opened, Err(Failure::Missing(_)))
            };
            let all = all.filter(is_there).map(|location| location.name);
            Ok(all.collect())
        });
        Ok(all.await?)
    }
}

impl Forge for LocalForge {
    fn search<'a>(
        &'a self,
        _: &'a BackendContext,
        query: &'a str,
        paging: Paging,
    ) -> BackendFuture<'a, RepositoryPage> {
        let (root, query) = (Arc::clone(&self.root), query.to_owned());
        Box::pin(run_blocking(move || search::search(&root, &query, paging)))
    }

    fn repository<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
    ) -> BackendFuture<'a, Repository> {
        Box::pin(self.look(repo, OpenRepository::summary))
    }

    fn readme<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        most: u64,
    ) -> BackendFuture<'a, Option<(Vec<u8>, bool)>> {
        Box::pin(self.look(repo, move |opened| opened.readme(most)))
    }

    fn directory<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
    ) -> BackendFuture<'a, Directory> {
        let (path, at) = (path.to_owned(), at.clone());
        Box::pin(self.look_quickly(repo, move |opened| opened.directory(&path, &at)))
    }

    fn file<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        path: &'a str,
        at: &'a Revision,
        most: u64,
    ) -> BackendFuture<'a, File> {
        let (path, at) = (path.to_owned(), at.clone());
        Box::pin(self.look_quickly(repo, move |opened| opened.file(&path, &at, most)))
    }

    fn tree<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        at: &'a Revision,
        most: usize,
    ) -> BackendFuture<'a, Tree> {
        let at = at.clone();
        Box::pin(self.look_quickly(repo, move |opened| opened.whole_tree(&at, most)))
    }

    fn commits<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        from: &'a Revision,
        paging: Paging,
    ) -> BackendFuture<'a, CommitPage> {
        let from = from.clone();
        Box::pin(self.look(repo, move |opened| opened.commits(&from, paging)))
    }

    fn branches<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        paging: Paging,
    ) -> BackendFuture<'a, BranchPage> {
        Box::pin(async move {
            let rules = self.rules_of(repo).await?;
            self.look(repo, move |opened| opened.branches(&rules, paging))
                .await
        })
    }

    fn pull_requests<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        wanted: PullFilter,
        paging: Paging,
    ) -> BackendFuture<'a, PullPage> {
        Box::pin(self.listed(repo, wanted, paging))
    }

    fn pull_request<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
    ) -> BackendFuture<'a, PullRequest> {
        Box::pin(self.one(repo, number))
    }

    fn checks<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        sha: &'a str,
    ) -> BackendFuture<'a, CommitChecks> {
        Box::pin(self.checks_of(repo, sha))
    }

    fn create_pull_request<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewPullRequest,
    ) -> BackendFuture<'a, PullRequest> {
        Box::pin(self.name_full_disk(repo, self.create_pull(context, repo, new)))
    }

    fn update_pull_request<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        number: u64,
        change: &'a PullRequestChange,
    ) -> BackendFuture<'a, PullRequest> {
        Box::pin(self.name_full_disk(repo, self.change(context, repo, number, change)))
    }

    fn merge<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        order: &'a MergeInstruction,
    ) -> BackendFuture<'a, MergedPull> {
        Box::pin(self.name_full_disk(repo, self.merge_pull(context, repo, order)))
    }

    fn delete_branch<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
    ) -> BackendFuture<'a, ()> {
        Box::pin(async move {
            let removed = self.remove_branch(context, repo, branch, None).await;
            removed.map(drop)
        })
    }

    fn commit_files<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
        message: &'a str,
        files: &'a [NewFile],
    ) -> BackendFuture<'a, CreatedCommit> {
        let made = self.commit_on(context, repo, branch, message, files);
        let made = self.name_full_disk(repo, made);
        Box::pin(self.then_merge_what_is_ready(repo, made))
    }

    fn create_branch<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
        from: &'a Revision,
    ) -> BackendFuture<'a, Branch> {
        Box::pin(self.name_full_disk(repo, self.make_branch(context, repo, branch, from)))
    }

    fn details<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
        most: usize,
    ) -> BackendFuture<'a, PullDetails> {
        Box::pin(self.details_of(repo, pull, most))
    }
}
