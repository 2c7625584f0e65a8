//! Makes one commit with all changes or none: files are written, edited, deleted, moved, or made
//! executable. An empty repository gets its first commit.

use super::branch_swap::{SwapOutcome, locked};
use super::errors::{IntoFailure as _, OrBroken, run_blocking};
use super::merge_commits::{message, signature};
use super::repository_root::OpenRepository;
use super::revision::branch_ref;
use super::tree::{child, kind};
use super::tree_size::MAX_DEPTH;
use super::{ChangePoint, Identity, LocalForge, url};
use crate::change_plan::{
    ChangePlan, FoundEntry, ParentTree, PathState, PlannedContent, editable, edited, paths,
};
use crate::{
    BackendContext, BackendFuture, ChangeForge, CommitInstruction, CommittedChanges,
    ConflictReport, Failure, ItemKind, MAX_TEXT_BYTES, MissingItem, PullRequest, RepoName,
    RevertInstruction, UnmetPrecondition, UpdatedBranch,
};
use candor_fault::{Cause, Timestamp};
use candor_street::EffectMark;
use git2::{ErrorClass, ErrorCode, Odb, Oid, Tree};
use std::collections::BTreeMap;
use std::sync::Arc;

const WHAT: &str = "the commit could not be made";
const DIRECTORY: i32 = 0o040_000;

/// A change of a directory's entry.
enum EntryChange {
    Write(Oid, i32),
    Remove,
    Dir(DirChange),
}

type DirChange = BTreeMap<String, EntryChange>;

/// Adds the change of a path to the changes of the root.
fn insert(root: &mut DirChange, path: &str, change: EntryChange) -> Result<(), Failure> {
    if path.split('/').count() > MAX_DEPTH {
        let levels = Cause::Text(format!("more than {MAX_DEPTH} levels of directories"));
        return Err(Failure::Broken(
            "a path has more levels than are written",
            levels,
        ));
    }
    let (parents, name) = match path.rsplit_once('/') {
        Some((parents, name)) => (Some(parents), name),
        None => (None, path),
    };
    let mut dir = root;
    for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
        let below = dir.entry(part.to_owned());
        match below.or_insert_with(|| EntryChange::Dir(DirChange::new())) {
            EntryChange::Dir(below) => dir = below,
            // The plan has no path below another.
            EntryChange::Write(..) | EntryChange::Remove => {
                return Err(UnmetPrecondition::PathConflict(path.to_owned()).into());
            }
        }
    }
    dir.insert(name.to_owned(), change);
    Ok(())
}

impl OpenRepository {
    /// Returns the state of a path in a tree.
    fn path_state(
        &self,
        odb: &Odb<'_>,
        root: Option<Oid>,
        path: &str,
        must_exist: bool,
    ) -> Result<PathState, Failure> {
        let missing = || MissingItem::Path(path.to_owned());
        let Some(root) = root else {
            return Ok(PathState::Missing(missing()));
        };
        let mut parts = path.split('/').peekable();
        let mut tree = self.tree_at(odb, root)?;
        while let Some(part) = parts.next() {
            let Some(entry) = child(&tree, part).map(|entry| entry.to_owned()) else {
                let similar = must_exist.then(|| self.missing_path(odb, root, path));
                return Ok(PathState::Missing(match similar.transpose()? {
                    Some(Failure::Missing(missing)) => missing,
                    _ => missing(),
                }));
            };
            match (parts.peek(), kind(&entry)) {
                (None, kind) => {
                    return Ok(PathState::Found(FoundEntry {
                        kind,
                        mode: u32::try_from(entry.filemode()).unwrap_or_default(),
                        id: entry.id().to_string(),
                    }));
                }
                (Some(_), ItemKind::Dir) => tree = self.tree_at(odb, entry.id())?,
                (Some(_), _) => return Ok(PathState::BelowFile),
            }
        }
        Ok(PathState::Missing(missing()))
    }

    /// Plans the changes on top of a tree.
    fn plan_changes(
        &self,
        odb: &Odb<'_>,
        root: Option<Oid>,
        order: &CommitInstruction,
    ) -> Result<ChangePlan, Failure> {
        let mut parent = ParentTree {
            states: BTreeMap::new(),
            contents: BTreeMap::new(),
        };
        for (path, must_exist) in paths(&order.changes) {
            let state = self.path_state(odb, root, path, must_exist)?;
            parent.states.insert(path, state);
        }
        for path in edited(&order.changes) {
            let Some(state) = parent.states.get(path) else {
                continue;
            };
            // A path that cannot be edited is refused by the plan, in the order of the changes.
            let Ok(entry) = editable(path, state) else {
                continue;
            };
            let id = Oid::from_str(&entry.id).or_broken(WHAT)?;
            let bytes = self.blob(odb, id, path, MAX_TEXT_BYTES)?;
            parent.contents.insert(path, bytes);
        }
        parent.plan(&order.changes)
    }

    /// Writes the tree of a plan and returns its id.
    fn write_plan(
        &self,
        odb: &Odb<'_>,
        root: Option<Oid>,
        plan: ChangePlan,
    ) -> Result<Oid, Failure> {
        let mut changes = DirChange::new();
        for (path, _) in &plan.removed {
            insert(&mut changes, path, EntryChange::Remove)?;
        }
        for entry in plan.written {
            let id = match &entry.content {
                PlannedContent::Bytes(bytes) => self.git.blob(bytes),
                PlannedContent::Object(id) => Oid::from_str(id),
            };
            let mode = i32::try_from(entry.mode).unwrap_or_default();
            let change = EntryChange::Write(id.or_broken(WHAT)?, mode);
            insert(&mut changes, &entry.path, change)?;
        }
        let before = root.map(|root| self.tree_at(odb, root)).transpose()?;
        match self.write_directory(odb, before.as_ref(), &changes, "")? {
            Some(tree) => Ok(tree),
            // A commit may have no files.
            None => {
                let empty = self.git.treebuilder(None).or_broken(WHAT)?;
                empty.write().or_broken(WHAT)
            }
        }
    }

    /// Writes a directory. Returns `None` if nothing is left in it. The recursion is bounded by the depth
    /// of paths.
    fn write_directory(
        &self,
        odb: &Odb<'_>,
        before: Option<&Tree<'_>>,
        changes: &DirChange,
        at: &str,
    ) -> Result<Option<Oid>, Failure> {
        let mut builder = self.git.treebuilder(before).or_broken(WHAT)?;
        for (name, change) in changes {
            let path = match at {
                "" => name.clone(),
                _ => format!("{at}/{name}"),
            };
            let there = before.and_then(|tree| child(tree, name));
            let entry = match change {
                EntryChange::Write(id, mode) => Some((*id, *mode)),
                EntryChange::Remove => None,
                EntryChange::Dir(below) => {
                    let is_dir = |entry: &git2::TreeEntry<'_>| kind(entry) == ItemKind::Dir;
                    let tree = there.as_ref().filter(|entry| is_dir(entry));
                    let tree = tree
                        .map(|entry| self.tree_at(odb, entry.id()))
                        .transpose()?;
                    let written = self.write_directory(odb, tree.as_ref(), below, &path)?;
                    written.map(|id| (id, DIRECTORY))
                }
            };
            let Some((id, mode)) = entry else {
                if there.is_some() {
                    builder.remove(name).or_broken(WHAT)?;
                }
                continue;
            };
            if let Err(error) = builder.insert(name, id, mode) {
                return Err(match error.class() {
                    // Git has its own rules for names: `git~1` is `.git` on some systems.
                    ErrorClass::Tree => UnmetPrecondition::PathRefused(path).into(),
                    _ => error.broken(WHAT),
                });
            }
        }
        match builder.is_empty() {
            true => Ok(None),
            false => builder.write().map(Some).or_broken(WHAT),
        }
    }

    /// Writes the commit of an instruction on top of a parent.
    fn write_changes(
        &self,
        parent: Option<Oid>,
        order: &CommitInstruction,
        by: &Identity,
        now: Timestamp,
    ) -> Result<Oid, Failure> {
        let odb = self.odb()?;
        let parent = parent.map(|parent| self.commit_at(parent)).transpose()?;
        let root = parent.as_ref().map(|parent| parent.tree_id());
        let plan = self.plan_changes(&odb, root, order)?;
        let tree = self.write_plan(&odb, root, plan)?;
        if root == Some(tree) {
            return Err(UnmetPrecondition::NothingToCommit.into());
        }
        let tree = self.tree_at(&odb, tree)?;
        let by = signature(by, now)?;
        let parents: Vec<_> = parent.iter().collect();
        let text = message(&order.message);
        let commit = self.git.commit(None, &by, &by, &text, &tree, &parents);
        commit.or_broken(WHAT)
    }

    /// Creates the first branch of a repository and points HEAD to it. HEAD is moved first: without a
    /// commit it names a branch that does not exist anyway.
    fn start_branch(
        &self,
        branch: &str,
        id: Oid,
        mark: &EffectMark,
    ) -> Result<SwapOutcome, Failure> {
        const WHAT: &str = "the branch could not be made";
        let name = branch_ref(branch);
        let before = self.default_branch()?;
        let started = self.sync_objects().and_then(|()| {
            self.git.set_head(&name).or_broken(WHAT)?;
            match self.git.reference(&name, id, false, "commit (initial)") {
                Ok(_) => Ok(SwapOutcome::Done),
                Err(error) => match error.code() {
                    ErrorCode::Exists => Ok(SwapOutcome::Moved),
                    ErrorCode::Locked => Ok(SwapOutcome::Locked),
                    _ => Err(error).or_broken(WHAT),
                },
            }
        });
        match started {
            Ok(SwapOutcome::Done) => {
                self.sync_ref(&name)?;
                self.sync_ref("HEAD")?;
                Ok(SwapOutcome::Done)
            }
            other => {
                // Another name of the branch that does not exist does no harm.
                drop(self.git.set_head(&branch_ref(&before)));
                if other.is_err() && matches!(self.branch(branch), Ok(None)) {
                    mark.undone();
                }
                other
            }
        }
    }
}

/// Returns the failure for a branch whose head is not the expected one.
fn head_moved(expected: &str, actual: Option<Oid>) -> Failure {
    Failure::BranchHeadMoved {
        expected: expected.to_owned(),
        actual: actual.map(|id| id.to_string()),
    }
}

/// Returns the head of the branch, `None` in an empty repository.
fn parent_of(opened: &OpenRepository, order: &CommitInstruction) -> Result<Option<Oid>, Failure> {
    let parent = match opened.branch(&order.branch)? {
        Some(parent) => Some(parent),
        None => match opened.missing_branch(&order.branch) {
            Failure::Empty => None,
            failure => return Err(failure),
        },
    };
    let is_expected = |expected: &&String| {
        parent.is_some_and(|parent| parent.to_string().starts_with(expected.as_str()))
    };
    match order.expected_head.as_ref().filter(|one| !is_expected(one)) {
        Some(expected) => Err(head_moved(expected, parent)),
        None => Ok(parent),
    }
}

impl LocalForge {
    async fn commit_all(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        order: &CommitInstruction,
    ) -> Result<CommittedChanges, Failure> {
        let location = self.location(repo).await?;
        let rules = self.rules_of(repo).await?;
        let _lock = self.lock(&location).await?;
        let (root, at, instruction) = (Arc::clone(&self.root), location.clone(), order.clone());
        let (by, now) = (self.identity.clone(), self.now());
        let forbidden = rules.forbid_commit(&order.branch);
        let (parent, commit) = run_blocking(move || {
            let opened = root.open_at(at)?;
            let parent = parent_of(&opened, &instruction)?;
            if forbidden {
                return Err(UnmetPrecondition::BranchProtected(instruction.branch).into());
            }
            let commit = opened.write_changes(parent, &instruction, &by, now)?;
            Ok((parent, commit))
        })
        .await?;
        self.check_probe(ChangePoint::CommitBuilt)?;
        context.mark.begins()?;
        let (root, at, branch) = (
            Arc::clone(&self.root),
            location.clone(),
            order.branch.clone(),
        );
        let (mark, expected) = (context.mark.clone(), order.expected_head.clone());
        run_blocking(move || {
            let opened = root.open_at(at)?;
            let swapped = match parent {
                Some(parent) => opened.swap_marked(&branch, parent, commit, &mark)?,
                None => opened.start_branch(&branch, commit, &mark)?,
            };
            if swapped != SwapOutcome::Done {
                mark.undone();
            }
            match (swapped, expected) {
                (SwapOutcome::Done, _) => Ok(()),
                (SwapOutcome::Locked, _) => Err(locked()),
                (SwapOutcome::Moved, Some(expected)) => {
                    Err(head_moved(&expected, opened.branch(&branch)?))
                }
                (SwapOutcome::Moved, None) => Err(UnmetPrecondition::BranchMoved(branch).into()),
            }
        })
        .await?;
        context.mark.done();
        let sha = commit.to_string();
        Ok(CommittedChanges {
            url: url::commit(&location.name, &sha),
            sha,
            parent: parent.map(|parent| parent.to_string()),
        })
    }
}

impl ChangeForge for LocalForge {
    fn commit_changes<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        order: &'a CommitInstruction,
    ) -> BackendFuture<'a, CommittedChanges> {
        let made = self.name_full_disk(repo, self.commit_all(context, repo, order));
        Box::pin(self.then_merge_what_is_ready(repo, made))
    }

    fn conflicts<'a>(
        &'a self,
        _: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
    ) -> BackendFuture<'a, ConflictReport> {
        Box::pin(self.conflicts_of(repo, pull))
    }

    fn update_pull_branch<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        pull: &'a PullRequest,
    ) -> BackendFuture<'a, UpdatedBranch> {
        let made = self.name_full_disk(repo, self.update_branch(context, repo, pull));
        Box::pin(self.then_merge_what_is_ready(repo, made))
    }

    fn revert_pull<'a>(
        &'a self,
        context: &'a BackendContext,
        repo: &'a RepoName,
        order: &'a RevertInstruction,
    ) -> BackendFuture<'a, PullRequest> {
        Box::pin(self.name_full_disk(repo, self.revert(context, repo, order)))
    }
}
