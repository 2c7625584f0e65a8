//! Makes repositories for callers, and deletes branches for them.

use super::LocalForge;
use super::errors::{LocalForgeError, OrBroken, run_blocking};
use super::import::{WHAT, forget};
use super::repository_root::OpenRepository;
use super::revision::branch_ref;
use crate::{
    BackendContext, BackendFuture, CommitFilter, Failure, FilteredCommits, NewFile, NewRepository,
    Paging, RepoName, Repository, RepositoryForge, Revision, UnmetPrecondition,
};
use std::fs;
use std::sync::Arc;

/// The branch of the first commit.
const FIRST_BRANCH: &str = "main";

impl LocalForge {
    async fn make_repository(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        new: &NewRepository,
    ) -> Result<Repository, Failure> {
        match self.location(repo).await {
            Ok(there) => return Err(UnmetPrecondition::RepositoryExists(there.name).into()),
            // Rows of a removed repository of the same name.
            Err(Failure::Missing(_)) => forget(&self.database, repo).await?,
            Err(failure) => return Err(failure),
        }
        let (root, repo, new) = (Arc::clone(&self.root), repo.clone(), new.clone());
        let (by, now, mark) = (self.identity.clone(), self.now(), context.mark.clone());
        run_blocking(move || {
            mark.begins()?;
            let fill = |opened: &OpenRepository| {
                if let Some(description) = &new.description {
                    let path = opened.location.path.join("description");
                    fs::write(path, format!("{description}\n")).or_broken(WHAT)?;
                }
                if !new.init {
                    return Ok(());
                }
                let readme = NewFile {
                    path: String::from("README.md"),
                    bytes: format!("# {}\n", repo.name()).into_bytes(),
                };
                let commit = opened.write_commit(None, &[readme], "Initial commit", &by, now)?;
                let name = branch_ref(FIRST_BRANCH);
                let made = opened.git.reference(&name, commit, true, "created");
                made.or_broken(WHAT).map(drop)
            };
            match root.make(&repo, fill) {
                Ok(location) => {
                    mark.done();
                    root.open_at(location)?.summary()
                }
                Err(error) => {
                    // It appears as a whole or not at all.
                    if matches!(root.find(&repo), Err(Failure::Missing(_))) {
                        mark.undone();
                    }
                    Err(match error {
                        LocalForgeError::Exists(there) => {
                            mark.undone();
                            UnmetPrecondition::RepositoryExists(there).into()
                        }
                        LocalForgeError::Failed(failure) => *failure,
                        other => Failure::Broken(WHAT, other.to_string().as_str().into()),
                    })
                }
            }
        })
        .await
    }

    async fn delete_other_branch(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        branch: &str,
        expected: Option<&str>,
    ) -> Result<String, Failure> {
        let (root, name, wanted) = (Arc::clone(&self.root), repo.clone(), branch.to_owned());
        let is_default = run_blocking(move || {
            root.read(&name, |opened| {
                Ok(opened.default_branch()? == wanted && opened.branch(&wanted)?.is_some())
            })
        });
        if is_default.await? {
            return Err(UnmetPrecondition::DefaultBranch(branch.to_owned()).into());
        }
        self.remove_branch(context, repo, branch, expected).await
    }
}

impl RepositoryForge for LocalForge {
    fn filtered_commits<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        from: &'a Revision,
        filter: &'a CommitFilter,
        paging: Paging,
    ) -> BackendFuture<'a, FilteredCommits> {
        let (root, repo) = (Arc::clone(&self.root), repo.clone());
        let (from, filter) = (from.clone(), filter.clone());
        Box::pin(run_blocking(move || {
            root.read(&repo, |opened| {
                opened.filtered_commits(&from, &filter, paging)
            })
        }))
    }

    fn delete_branch_at<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        branch: &'a str,
        expected: Option<&'a str>,
    ) -> BackendFuture<'a, String> {
        Box::pin(self.delete_other_branch(context, repo, branch, expected))
    }

    fn create_repository<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        new: &'a NewRepository,
    ) -> BackendFuture<'a, Repository> {
        Box::pin(self.make_repository(context, repo, new))
    }
}
