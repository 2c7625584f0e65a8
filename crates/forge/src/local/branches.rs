//! Branches: listed, made, deleted.

use super::LocalForge;
use super::failing::{Or, off};
use super::fork;
use super::history::page;
use super::place::{Home, Opened};
use super::protection::Protections;
use super::pulls;
use super::revision::branch_ref;
use super::swap::locked;
use crate::{Branch, Branches, Failure, Missing, Paging, RepoName, Revision, Turn, Unmet};
use git2::{ErrorCode, Oid};
use std::sync::Arc;

/// How often a deletion is tried while somebody moves the branch.
const TRIES: usize = 4;

impl Opened {
    pub(super) fn branches(
        &self,
        rules: &Protections,
        paging: Paging,
    ) -> Result<Branches, Failure> {
        let (heads, more) = page(self.branch_heads()?.into_iter(), paging);
        let branch = |(name, id): (String, Oid)| Branch {
            protected: rules.of(&name).is_some(),
            name,
            sha: id.to_string(),
        };
        Ok(Branches {
            branches: heads.into_iter().map(branch).collect(),
            default: self.default_branch()?,
            more,
        })
    }

    /// A branch that stands where a new one would: of the same name, or one of them a directory of
    /// the other.
    fn in_the_way(&self, branch: &str) -> Result<Option<String>, Failure> {
        let below = |one: &str, other: &str| {
            let rest = one.strip_prefix(other);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let heads = self.branch_heads()?.into_iter().map(|(name, _)| name);
        let mut heads = heads.filter(|name| below(name, branch) || below(branch, name));
        Ok(heads.next())
    }

    fn make_branch(&self, turn: &Turn, branch: &str, id: Oid) -> Result<(), Failure> {
        if let Some(other) = self.in_the_way(branch)? {
            return Err(Unmet::BranchExists(other).into());
        }
        let name = branch_ref(branch);
        turn.mark.begins()?;
        match self.git.reference(&name, id, false, "branch: created") {
            Ok(_) => {}
            Err(error) => {
                turn.mark.undone();
                return Err(match error.code() {
                    ErrorCode::Exists => Unmet::BranchExists(branch.to_owned()).into(),
                    ErrorCode::Locked => locked(),
                    _ => return Err(error).or_broken("the branch could not be made"),
                });
            }
        }
        self.ref_lasts(&name)?;
        turn.mark.done();
        Ok(())
    }

    /// Takes a branch away; each try deletes only the head that was seen and kept before.
    fn remove_branch(
        &self,
        turn: &Turn,
        branch: &str,
        keep: impl Fn(Oid) -> Result<(), Failure>,
    ) -> Result<Oid, Failure> {
        const WHAT: &str = "the branch could not be deleted";
        let name = branch_ref(branch);
        for _ in 0..TRIES {
            let missing = || Missing::Branch(branch.to_owned());
            let head = self.branch(branch)?.ok_or_else(missing)?;
            let mut reference = self.git.find_reference(&name).or_broken(WHAT)?;
            if reference.target() != Some(head) {
                continue;
            }
            keep(head)?;
            turn.mark.begins()?;
            match reference.delete() {
                Ok(()) => {
                    self.ref_lasts(&name)?;
                    turn.mark.done();
                    return Ok(head);
                }
                Err(error) => {
                    turn.mark.undone();
                    match error.code() {
                        ErrorCode::Modified | ErrorCode::NotFound => {}
                        ErrorCode::Locked => return Err(locked()),
                        _ => return Err(error).or_broken(WHAT),
                    }
                }
            }
        }
        Err(Unmet::BranchMoved(branch.to_owned()).into())
    }
}

impl LocalForge {
    pub(super) async fn make_branch(
        &self,
        turn: &Turn,
        repo: &RepoName,
        branch: &str,
        from: &Revision,
    ) -> Result<Branch, Failure> {
        let home = self.home(repo).await?;
        let rules = self.rules_of(repo).await?;
        let _hold = self.hold(&home).await?;
        let (place, turn) = (Arc::clone(&self.place), turn.clone());
        let (branch, from) = (branch.to_owned(), from.clone());
        off(move || {
            let opened = place.open_home(home)?;
            let id = opened.resolve(&from)?.id;
            opened.make_branch(&turn, &branch, id)?;
            Ok(Branch {
                protected: rules.of(&branch).is_some(),
                name: branch,
                sha: id.to_string(),
            })
        })
        .await
    }

    /// Deletes a branch. What open pull requests bring from it stays as their last head.
    pub(super) async fn remove_branch(
        &self,
        turn: &Turn,
        repo: &RepoName,
        branch: &str,
    ) -> Result<(), Failure> {
        let home = self.home(repo).await?;
        let rules = self.rules_of(repo).await?;
        let _hold = self.hold(&home).await?;
        let mut reading = self.database.read().await?;
        let open = pulls::open_from(&mut reading, repo, branch).await?;
        drop(reading);
        let head = self.delete_ref(turn, home, branch, rules, &open).await?;
        // The branch is gone; a last head that is not on record is still kept as a ref.
        let mut writing = self.database.write().await?;
        for mut pull in open {
            pull.head_sha = head.to_string();
            pulls::change(&mut writing, &pull).await?;
        }
        writing
            .commit()
            .await
            .or_broken("a pull request could not be written")
    }

    async fn delete_ref(
        &self,
        turn: &Turn,
        home: Home,
        branch: &str,
        rules: Protections,
        open: &[pulls::Pull],
    ) -> Result<Oid, Failure> {
        let numbers: Vec<u64> = open.iter().map(|pull| pull.number).collect();
        let (place, turn, branch) = (Arc::clone(&self.place), turn.clone(), branch.to_owned());
        off(move || {
            let opened = place.open_home(home)?;
            if rules.of(&branch).is_some() || opened.default_branch()? == branch {
                let there = opened.branch(&branch)?.is_some();
                return Err(match there {
                    true => Unmet::BranchProtected(branch).into(),
                    false => Missing::Branch(branch).into(),
                });
            }
            let keep = |head| {
                let mut numbers = numbers.iter();
                numbers.try_for_each(|number| fork::keep(&opened, *number, head))
            };
            opened.remove_branch(&turn, &branch, keep)
        })
        .await
    }
}
