//! Builds the commits of a merge, squash or rebase without a working tree.

use super::Identity;
use super::errors::OrBroken;
use super::repository_root::OpenRepository;
use super::tree_merge::{TreeMerge, TreeMerger};
use crate::{Failure, MergeMethod};
use candor_fault::Timestamp;
use git2::{Commit, ErrorCode, Oid, Repository, Signature, Sort, Time};
use std::cell::Cell;

const WHAT: &str = "the merge could not be made";

/// The maximum number of commits of a rebase, and in the message of a squash.
pub const MAX_COMMITS: usize = 1000;

/// The priority of the object store in memory: before all others.
const MEMORY_FIRST: i32 = 1000;

/// The result of building a merge.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MergeBuild {
    /// The new commit of the base, or the base itself if it contains the head already.
    Commit(Oid),
    /// One of the commits conflicts, or there are too many.
    Conflict,
}

/// The inputs of a merge.
pub(super) struct MergeInputs<'a> {
    pub(super) base: Oid,
    pub(super) head: Oid,
    pub(super) method: MergeMethod,
    /// A rebase keeps the messages of its commits.
    pub(super) message: &'a str,
    pub(super) by: &'a Identity,
    pub(super) now: Timestamp,
}

/// Returns the signature of a commit.
pub(super) fn signature(by: &Identity, now: Timestamp) -> Result<Signature<'static>, Failure> {
    let at = Time::new(now.as_second(), 0);
    let signature = Signature::new(&by.name, &by.email, &at);
    signature.or_broken("the name or the address of who commits is none for git")
}

/// Replaces NUL, which git cannot store in a message.
pub(super) fn message(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

impl OpenRepository {
    /// Returns true if a commit is the other or has it in its history.
    pub(super) fn contains(&self, commit: Oid, ancestor: Oid) -> Result<bool, Failure> {
        if commit == ancestor {
            return Ok(true);
        }
        let below = self.git.graph_descendant_of(commit, ancestor);
        below.or_broken("the history could not be read")
    }

    /// Returns the merge base of two commits.
    pub(super) fn merge_base(&self, one: Oid, other: Oid) -> Result<Option<Oid>, Failure> {
        match self.git.merge_base(one, other) {
            Ok(base) => Ok(Some(base)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error).or_broken("the history could not be read"),
        }
    }

    /// Keeps new objects of this handle in memory from now on.
    pub(super) fn write_to_memory(&self) -> Result<(), Failure> {
        let odb = self.odb()?;
        let memory = odb.add_new_mempack_backend(MEMORY_FIRST);
        memory.map(drop).or_broken(WHAT)
    }

    /// Opens the repository once more, with new objects in memory.
    pub(super) fn in_memory(&self) -> Result<OpenRepository, Failure> {
        let git = Repository::open_bare(&self.location.path).or_broken(WHAT)?;
        let config = self.git.config().or_broken(WHAT)?;
        git.set_config(&config).or_broken(WHAT)?;
        let opened = OpenRepository {
            location: self.location.clone(),
            git,
            objects: None,
            is_spent: Cell::new(false),
            is_cached_only: false,
        };
        opened.write_to_memory()?;
        Ok(opened)
    }

    /// Returns true if a head conflicts with a base. Commits without a common history conflict. New objects of
    /// this handle must stay in memory.
    pub(super) fn conflicts(&self, base: Oid, head: Oid) -> Result<bool, Failure> {
        if self.contains(base, head)? {
            return Ok(false);
        }
        if self.merge_base(base, head)?.is_none() {
            return Ok(true);
        }
        let merged = TreeMerger::new(self)?.commits(base, head)?;
        Ok(matches!(merged, TreeMerge::Conflicts(_)))
    }

    pub(super) fn build(&self, order: &MergeInputs<'_>) -> Result<MergeBuild, Failure> {
        if self.contains(order.base, order.head)? {
            return Ok(MergeBuild::Commit(order.base));
        }
        match order.method {
            MergeMethod::Merge => self.merge_or_squash(order, true),
            MergeMethod::Squash => self.merge_or_squash(order, false),
            MergeMethod::Rebase => self.rebase(order),
        }
    }

    fn merge_or_squash(&self, order: &MergeInputs<'_>, both: bool) -> Result<MergeBuild, Failure> {
        let (base, head) = (self.commit_at(order.base)?, self.commit_at(order.head)?);
        let memory = self.in_memory()?;
        let merged = TreeMerger::new(&memory)?.commits(order.base, order.head)?;
        let TreeMerge::Tree(tree) = merged else {
            return Ok(MergeBuild::Conflict);
        };
        self.keep_tree(&memory, tree)?;
        let tree = self.git.find_tree(tree).or_broken(WHAT)?;
        let by = signature(order.by, order.now)?;
        let parents = match both {
            true => vec![&base, &head],
            false => vec![&base],
        };
        let text = message(order.message);
        let commit = self.git.commit(None, &by, &by, &text, &tree, &parents);
        commit.map(MergeBuild::Commit).or_broken(WHAT)
    }

    /// Returns the first commits of a head that a base does not have, oldest first and without merges, and
    /// whether there are more.
    pub(super) fn between(&self, base: Oid, head: Oid) -> Result<(Vec<Commit<'_>>, bool), Failure> {
        let mut walk = self.git.revwalk().or_broken(WHAT)?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)
            .or_broken(WHAT)?;
        walk.push(head).or_broken(WHAT)?;
        walk.hide(base).or_broken(WHAT)?;
        let mut commits = Vec::new();
        for id in walk {
            let commit = self.commit_at(id.or_broken(WHAT)?)?;
            match commit.parent_count() {
                2.. => {}
                _ if commits.len() == MAX_COMMITS => return Ok((commits, true)),
                _ => commits.push(commit),
            }
        }
        Ok((commits, false))
    }

    /// Repeats every commit with its author. Drops a commit that has become empty, keeps one that was empty.
    fn rebase(&self, order: &MergeInputs<'_>) -> Result<MergeBuild, Failure> {
        let committer = signature(order.by, order.now)?;
        let mut onto = self.commit_at(order.base)?;
        let (commits, more) = self.between(order.base, order.head)?;
        if more {
            return Ok(MergeBuild::Conflict);
        }
        let memory = self.in_memory()?;
        let mut merger = TreeMerger::new(&memory)?;
        for commit in commits {
            let parent = commit.parent_ids().next();
            // The commits before this one are on the disk, and the other handle finds them there.
            let merged = merger.trees([parent, Some(onto.id()), Some(commit.id())])?;
            let TreeMerge::Tree(tree) = merged else {
                return Ok(MergeBuild::Conflict);
            };
            let was_empty = commit
                .parent(0)
                .is_ok_and(|parent| parent.tree_id() == commit.tree_id());
            if tree == onto.tree_id() && !was_empty {
                continue;
            }
            self.keep_tree(&memory, tree)?;
            let tree = self.git.find_tree(tree).or_broken(WHAT)?;
            let text = String::from_utf8_lossy(commit.message_raw_bytes());
            let author = commit.author();
            let again = self
                .git
                .commit(None, &author, &committer, &text, &tree, &[&onto]);
            onto = self.commit_at(again.or_broken(WHAT)?)?;
        }
        Ok(MergeBuild::Commit(onto.id()))
    }
}
