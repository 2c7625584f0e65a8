//! Heads of pull requests: the branch in the repository itself or in a fork, and the ref
//! `refs/pull/N/head` that keeps its objects.

use super::errors::OrBroken;
use super::object_copy::ObjectCopy;
use super::repository_root::{OpenRepository, RepositoryRoot};
use super::stored_pulls::StoredPull;
use crate::{Failure, RepoName};
use git2::Oid;

/// The current head of a pull request.
pub(super) struct PullHead {
    /// The repository of the branch, if it exists.
    pub(super) repo: Option<RepoName>,
    /// The branch's commit, if it exists.
    pub(super) id: Option<Oid>,
    /// The fork, if the branch is in one.
    pub(super) fork: Option<OpenRepository>,
}

impl PullHead {
    pub(super) fn of(
        root: &RepositoryRoot,
        base: &OpenRepository,
        pull: &StoredPull,
    ) -> Result<PullHead, Failure> {
        let Some(owner) = &pull.head_owner else {
            return Ok(PullHead {
                repo: Some(base.location.name.clone()),
                id: base.branch(&pull.head)?,
                fork: None,
            });
        };
        let fork = base.location.name.of(owner).map(|repo| root.open(&repo));
        match fork {
            Some(Ok(fork)) => Ok(PullHead {
                repo: Some(fork.location.name.clone()),
                id: fork.branch(&pull.head)?,
                fork: Some(fork),
            }),
            Some(Err(Failure::Missing(_))) | None => Ok(PullHead {
                repo: None,
                id: None,
                fork: None,
            }),
            Some(Err(failure)) => Err(failure),
        }
    }

    /// Makes the objects of the fork visible in the base while it is open.
    pub(super) fn share_objects(&self, base: &OpenRepository) -> Result<(), Failure> {
        let Some(fork) = &self.fork else {
            return Ok(());
        };
        let objects = fork.git.path().join("objects");
        // Git accepts only UTF-8 paths here.
        let Some(objects) = objects.to_str() else {
            return Ok(());
        };
        let lent = base.odb()?.add_disk_alternate(objects);
        lent.or_broken("the objects of the head could not be opened")
    }

    /// Copies the head's objects into the base and keeps them with a ref.
    pub(super) fn copy_into(
        &self,
        base: &OpenRepository,
        number: u64,
        id: Oid,
    ) -> Result<(), Failure> {
        if let Some(fork) = &self.fork {
            copy(fork, base, id)?;
        }
        keep_head(base, number, id)
    }
}

/// Keeps a commit as the head of a pull request with a ref.
pub(super) fn keep_head(base: &OpenRepository, number: u64, id: Oid) -> Result<(), Failure> {
    let name = format!("refs/pull/{number}/head");
    let kept = base.git.reference(&name, id, true, "pull request");
    kept.or_broken("the head of the pull request could not be kept")?;
    base.sync_ref(&name)
}

/// Copies the objects that the base does not have.
pub(super) fn copy(fork: &OpenRepository, base: &OpenRepository, id: Oid) -> Result<(), Failure> {
    const WHAT: &str = "the objects of the head could not be copied";
    if base.git.find_commit(id).is_ok() {
        return Ok(());
    }
    let mut walk = fork.git.revwalk().or_broken(WHAT)?;
    walk.push(id).or_broken(WHAT)?;
    for (_, known) in base.branch_heads()? {
        if fork.git.find_commit(known).is_ok() {
            walk.hide(known).or_broken(WHAT)?;
        }
    }
    let mut packing = ObjectCopy::new(&fork.git, &base.git)?;
    packing.add_commits(walk)?;
    packing.write()?;
    base.commit_at(id).map(drop)
}
