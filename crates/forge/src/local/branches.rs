//! Lists, creates and deletes branches.

use super::LocalForge;
use super::branch_swap::locked;
use super::errors::{OrBroken, run_blocking};
use super::history::page;
use super::protection::BranchProtections;
use super::pull_head;
use super::repository_root::{OpenRepository, RepositoryLocation};
use super::revision::branch_ref;
use super::stored_pulls;
use crate::{
    BackendContext, Branch, BranchPage, Failure, MissingItem, Paging, RepoName, Revision,
    UnmetPrecondition,
};
use git2::{ErrorCode, Oid};
use std::sync::Arc;

/// Attempts to delete a branch that other writers move.
const TRIES: usize = 4;

impl OpenRepository {
    pub(super) fn branches(
        &self,
        rules: &BranchProtections,
        paging: Paging,
    ) -> Result<BranchPage, Failure> {
        let (heads, more) = page(self.branch_heads()?.into_iter(), paging);
        let branch = |(name, id): (String, Oid)| Branch {
            protected: rules.of(&name).is_some(),
            name,
            sha: id.to_string(),
        };
        Ok(BranchPage {
            branches: heads.into_iter().map(branch).collect(),
            default: self.default_branch()?,
            more,
        })
    }

    /// Returns a branch that conflicts with a new one: the same name, or one is a directory of the other.
    fn find_conflicting_branch(&self, branch: &str) -> Result<Option<String>, Failure> {
        let below = |one: &str, other: &str| {
            let rest = one.strip_prefix(other);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let heads = self.branch_heads()?.into_iter().map(|(name, _)| name);
        let mut heads = heads.filter(|name| below(name, branch) || below(branch, name));
        Ok(heads.next())
    }

    fn make_branch(&self, context: &BackendContext, branch: &str, id: Oid) -> Result<(), Failure> {
        if let Some(other) = self.find_conflicting_branch(branch)? {
            return Err(UnmetPrecondition::BranchExists(other).into());
        }
        let name = branch_ref(branch);
        context.mark.begins()?;
        match self.git.reference(&name, id, false, "branch: created") {
            Ok(_) => {}
            Err(error) => {
                context.mark.undone();
                return Err(match error.code() {
                    ErrorCode::Exists => UnmetPrecondition::BranchExists(branch.to_owned()).into(),
                    ErrorCode::Locked => locked(),
                    _ => return Err(error).or_broken("the branch could not be made"),
                });
            }
        }
        self.sync_ref(&name)?;
        context.mark.done();
        Ok(())
    }

    /// Deletes a branch. Each attempt deletes only the head that was kept before.
    fn remove_branch(
        &self,
        context: &BackendContext,
        branch: &str,
        keep_head: impl Fn(Oid) -> Result<(), Failure>,
    ) -> Result<Oid, Failure> {
        const WHAT: &str = "the branch could not be deleted";
        let name = branch_ref(branch);
        for _ in 0..TRIES {
            let missing = || MissingItem::Branch(branch.to_owned());
            let head = self.branch(branch)?.ok_or_else(missing)?;
            let mut reference = self.git.find_reference(&name).or_broken(WHAT)?;
            if reference.target() != Some(head) {
                continue;
            }
            keep_head(head)?;
            context.mark.begins()?;
            match reference.delete() {
                Ok(()) => {
                    self.sync_ref(&name)?;
                    context.mark.done();
                    return Ok(head);
                }
                Err(error) => {
                    context.mark.undone();
                    match error.code() {
                        ErrorCode::Modified | ErrorCode::NotFound => {}
                        ErrorCode::Locked => return Err(locked()),
                        _ => return Err(error).or_broken(WHAT),
                    }
                }
            }
        }
        Err(UnmetPrecondition::BranchMoved(branch.to_owned()).into())
    }
}

impl LocalForge {
    pub(super) async fn make_branch(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        branch: &str,
        from: &Revision,
    ) -> Result<Branch, Failure> {
        let location = self.location(repo).await?;
        let rules = self.rules_of(repo).await?;
        let _lock = self.lock(&location).await?;
        let (root, context) = (Arc::clone(&self.root), context.clone());
        let (branch, from) = (branch.to_owned(), from.clone());
        run_blocking(move || {
            let opened = root.open_at(location)?;
            let id = opened.resolve(&from)?.id;
            opened.make_branch(&context, &branch, id)?;
            Ok(Branch {
                protected: rules.of(&branch).is_some(),
                name: branch,
                sha: id.to_string(),
            })
        })
        .await
    }

    /// Deletes a branch and returns its head. Open pull requests keep it as their last head. With `expected`,
    /// another head is refused.
    pub(super) async fn remove_branch(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        branch: &str,
        expected: Option<&str>,
    ) -> Result<String, Failure> {
        let location = self.location(repo).await?;
        let rules = self.rules_of(repo).await?;
        let _lock = self.lock(&location).await?;
        let mut reading = self.database.read().await?;
        let open = stored_pulls::open_from(&mut reading, repo, branch).await?;
        drop(reading);
        let head = self
            .delete_ref(context, location, (branch, expected), rules, &open)
            .await?;
        // The branch is gone. A last head that is not recorded is still kept as a ref.
        let mut writing = self.database.write().await?;
        for mut pull in open {
            pull.head_sha = head.to_string();
            stored_pulls::change(&mut writing, &pull).await?;
        }
        let written = writing.commit("a pull request could not be written").await;
        written.map(|()| head.to_string())
    }

    async fn delete_ref(
        &self,
        context: &BackendContext,
        location: RepositoryLocation,
        (branch, expected): (&str, Option<&str>),
        rules: BranchProtections,
        open: &[stored_pulls::StoredPull],
    ) -> Result<Oid, Failure> {
        let numbers: Vec<u64> = open.iter().map(|pull| pull.number).collect();
        let (root, context, branch) = (Arc::clone(&self.root), context.clone(), branch.to_owned());
        let expected = expected.map(String::from);
        run_blocking(move || {
            let opened = root.open_at(location)?;
            if rules.of(&branch).is_some() || opened.default_branch()? == branch {
                let there = opened.branch(&branch)?.is_some();
                return Err(match there {
                    true => UnmetPrecondition::BranchProtected(branch).into(),
                    false => MissingItem::Branch(branch).into(),
                });
            }
            let keep_head = |head: Oid| {
                let actual = head.to_string();
                if let Some(expected) = expected.as_ref().filter(|one| !actual.starts_with(*one)) {
                    return Err(Failure::BranchHeadMoved {
                        expected: expected.clone(),
                        actual: Some(actual),
                    });
                }
                let mut numbers = numbers.iter();
                numbers.try_for_each(|number| pull_head::keep_head(&opened, *number, head))
            };
            opened.remove_branch(&context, &branch, keep_head)
        })
        .await
    }
}
