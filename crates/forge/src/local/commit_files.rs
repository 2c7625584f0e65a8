//! Creates one commit on a branch with new files and new contents: all or none.
//!
//! An existing file keeps its mode. A symbolic link stays a link, with the new content as its target. A
//! commit that would change nothing is refused: most likely it was made already.

use super::branch_swap::{SwapOutcome, locked};
use super::errors::{IntoFailure as _, OrBroken, run_blocking};
use super::merge_commits::{message, signature};
use super::repository_root::OpenRepository;
use super::tree::{child, kind};
use super::tree_size::MAX_DEPTH;
use super::{ChangePoint, Identity, LocalForge, url};
use crate::{
    BackendContext, CreatedCommit, Failure, ItemKind, NewFile, RepoName, UnmetPrecondition,
};
use candor_fault::{Cause, Timestamp};
use git2::{ErrorClass, Odb, Oid, Tree};
use std::collections::BTreeMap;
use std::sync::Arc;

const WHAT: &str = "the commit could not be made";
const PLAIN: i32 = 0o100_644;
const DIRECTORY: i32 = 0o040_000;

/// A file or directory to write.
enum Node<'a> {
    File(&'a NewFile),
    Dir(Dir<'a>),
}

type Dir<'a> = BTreeMap<&'a str, Node<'a>>;

/// Arranges files as directories. Fails if one file is a directory of another.
fn directories(files: &[NewFile]) -> Result<Dir<'_>, Failure> {
    let mut root = Dir::new();
    for file in files {
        let conflict = || Failure::Unmet(UnmetPrecondition::PathConflict(file.path.clone()));
        if file.path.split('/').count() > MAX_DEPTH {
            let levels = Cause::Text(format!("more than {MAX_DEPTH} levels of directories"));
            return Err(Failure::Broken(
                "a path has more levels than are written",
                levels,
            ));
        }
        let mut dir = &mut root;
        let (parents, name) = match file.path.rsplit_once('/') {
            Some((parents, name)) => (Some(parents), name),
            None => (None, file.path.as_str()),
        };
        for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
            match dir.entry(part).or_insert_with(|| Node::Dir(Dir::new())) {
                Node::Dir(below) => dir = below,
                Node::File(_) => return Err(conflict()),
            }
        }
        if dir.insert(name, Node::File(file)).is_some() {
            return Err(conflict());
        }
    }
    Ok(root)
}

impl OpenRepository {
    /// Writes a directory with new files. The recursion is bounded by the depth of paths.
    fn write_tree(
        &self,
        odb: &Odb<'_>,
        before: Option<&Tree<'_>>,
        dir: &Dir<'_>,
        at: &str,
    ) -> Result<Oid, Failure> {
        let mut builder = self.git.treebuilder(before).or_broken(WHAT)?;
        for (name, node) in dir {
            let path = match at {
                "" => (*name).to_owned(),
                _ => format!("{at}/{name}"),
            };
            let there = before.and_then(|tree| child(tree, name));
            let conflict = || Failure::Unmet(UnmetPrecondition::PathConflict(path.clone()));
            let (id, mode) = match (node, there.as_ref().map(|entry| (kind(entry), entry))) {
                (Node::File(file), None) => (self.write_blob(file)?, PLAIN),
                (Node::File(file), Some((ItemKind::File | ItemKind::Symlink, entry))) => {
                    (self.write_blob(file)?, entry.filemode())
                }
                (Node::Dir(below), None) => (self.write_tree(odb, None, below, &path)?, DIRECTORY),
                (Node::Dir(below), Some((ItemKind::Dir, entry))) => {
                    let tree = self.tree_at(odb, entry.id())?;
                    (self.write_tree(odb, Some(&tree), below, &path)?, DIRECTORY)
                }
                (Node::File(_) | Node::Dir(_), Some(_)) => return Err(conflict()),
            };
            if let Err(error) = builder.insert(*name, id, mode) {
                return Err(match error.class() {
                    // Git has its own rules for names: `git~1` is `.git` on some systems.
                    ErrorClass::Tree => UnmetPrecondition::PathRefused(path).into(),
                    _ => error.broken(WHAT),
                });
            }
        }
        builder.write().or_broken(WHAT)
    }

    fn write_blob(&self, file: &NewFile) -> Result<Oid, Failure> {
        self.git.blob(&file.bytes).or_broken(WHAT)
    }

    /// Writes a commit on top of a parent.
    pub(super) fn write_commit(
        &self,
        parent: Option<Oid>,
        files: &[NewFile],
        text: &str,
        by: &Identity,
        now: Timestamp,
    ) -> Result<Oid, Failure> {
        let dir = directories(files)?;
        let odb = self.odb()?;
        let parent = parent.map(|parent| self.commit_at(parent)).transpose()?;
        let before = match &parent {
            Some(parent) => Some(self.tree_at(&odb, parent.tree_id())?),
            None => None,
        };
        let tree = self.write_tree(&odb, before.as_ref(), &dir, "")?;
        if before.is_some_and(|before| before.id() == tree) {
            return Err(UnmetPrecondition::NothingToCommit.into());
        }
        let tree = self.tree_at(&odb, tree)?;
        let by = signature(by, now)?;
        let parents: Vec<_> = parent.iter().collect();
        let commit = self
            .git
            .commit(None, &by, &by, &message(text), &tree, &parents);
        commit.or_broken(WHAT)
    }
}

/// A commit whose branch is not moved yet.
struct PreparedCommit {
    parent: Oid,
    commit: Oid,
}

impl LocalForge {
    pub(super) async fn commit_on(
        &self,
        context: &BackendContext,
        repo: &RepoName,
        branch: &str,
        text: &str,
        files: &[NewFile],
    ) -> Result<CreatedCommit, Failure> {
        let location = self.location(repo).await?;
        let rules = self.rules_of(repo).await?;
        let _lock = self.lock(&location).await?;
        let (root, at, name) = (Arc::clone(&self.root), location.clone(), branch.to_owned());
        let (text, files) = (text.to_owned(), files.to_vec());
        let (by, now) = (self.identity.clone(), self.now());
        let forbidden = rules.forbid_commit(branch);
        let ready = run_blocking(move || {
            root.build(&at, |opened| {
                let parent = opened.branch(&name)?;
                let parent = parent.ok_or_else(|| opened.missing_branch(&name))?;
                if forbidden {
                    return Err(UnmetPrecondition::BranchProtected(name.clone()).into());
                }
                let commit = opened.write_commit(Some(parent), &files, &text, &by, now)?;
                Ok(PreparedCommit { parent, commit })
            })
        })
        .await?;
        self.check_probe(ChangePoint::CommitBuilt)?;
        context.mark.begins()?;
        let (root, at, name) = (Arc::clone(&self.root), location.clone(), branch.to_owned());
        let (from, to, mark) = (ready.parent, ready.commit, context.mark.clone());
        let swap = move || root.open_at(at)?.swap_marked(&name, from, to, &mark);
        let swapped = run_blocking(swap).await?;
        if swapped != SwapOutcome::Done {
            context.mark.undone();
            return Err(match swapped {
                SwapOutcome::Locked => locked(),
                SwapOutcome::Done | SwapOutcome::Moved => {
                    UnmetPrecondition::BranchMoved(branch.to_owned()).into()
                }
            });
        }
        context.mark.done();
        let sha = ready.commit.to_string();
        Ok(CreatedCommit {
            url: url::commit(&location.name, &sha),
            sha,
            parent: ready.parent.to_string(),
        })
    }
}
