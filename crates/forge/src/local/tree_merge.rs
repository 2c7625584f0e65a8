//! Merges trees. Entries that are equal on all sides are left out before git merges the rest, renames
//! included: both ends of a rename differ between the sides. They are put back into the result.
//!
//! So the time grows with the directories that differ and not with the repository, and so does the depth
//! that is measured.

use super::conflicts::of_index;
use super::errors::OrBroken;
use super::repository_root::OpenRepository;
use super::tree_entries::{NamedEntry, TreeEntries};
use super::tree_size::{MAX_DEPTH, TreeSizes, too_deep};
use crate::{Conflict, DamagedItem, Failure, ItemKind};
use candor_fault::Cause;
use git2::{ErrorCode, MergeOptions, ObjectType, Odb, OdbLookupFlags, Oid, Tree};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

const WHAT: &str = "the merge could not be made";

/// The maximum number of merges of merge bases for two commits.
const MAX_RECURSION: u32 = 16;

const DIRECTORY: u32 = 0o040_000;

/// The result of merging trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TreeMerge {
    Tree(Oid),
    /// The conflicts, sorted by path.
    Conflicts(Vec<Conflict>),
}

/// Values of the merge base, of the base branch and of the head, in this order.
type Sides<T> = [T; 3];

/// A directory that all sides have, without the entries that are equal on all of them.
struct ReducedDirectory {
    /// The object of each side. `None` if nothing is left there.
    trees: Sides<Option<Oid>>,
    left_out: LeftOut,
}

/// The entries of a directory that were left out.
#[derive(Default)]
struct LeftOut {
    entries: Vec<OwnedEntry>,
    /// Directories that differ, by name in byte order.
    below: Vec<(Vec<u8>, LeftOut)>,
}

impl LeftOut {
    fn below(&self, name: &[u8]) -> Option<&LeftOut> {
        let found = self
            .below
            .binary_search_by(|(below, _)| (**below).cmp(name));
        found.ok().map(|index| &self.below[index].1)
    }
}

#[derive(Debug, Clone)]
struct OwnedEntry {
    mode: u32,
    name: Vec<u8>,
    id: Oid,
}

impl OwnedEntry {
    fn new(mode: u32, name: &[u8], id: Oid) -> OwnedEntry {
        OwnedEntry {
            mode,
            name: name.to_vec(),
            id,
        }
    }

    fn borrowed(&self) -> NamedEntry<'_> {
        NamedEntry {
            mode: self.mode,
            name: &self.name,
            raw_id: self.id.as_bytes(),
        }
    }
}

/// Returns the options of every merge of this backend.
fn merge_options() -> MergeOptions {
    let mut options = MergeOptions::new();
    options.find_renames(true).recursion_limit(MAX_RECURSION);
    options
}

fn written(entries: &[OwnedEntry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    entries
        .iter()
        .for_each(|entry| entry.borrowed().write(&mut bytes));
    bytes
}

/// Merges trees in the memory of a handle.
pub(super) struct TreeMerger<'a> {
    /// New objects of this handle stay in memory.
    opened: &'a OpenRepository,
    odb: Odb<'a>,
    sizes: TreeSizes,
}

impl<'a> TreeMerger<'a> {
    /// Takes a handle whose new objects stay in memory.
    pub(super) fn new(opened: &'a OpenRepository) -> Result<TreeMerger<'a>, Failure> {
        Ok(TreeMerger {
            opened,
            odb: opened.odb()?,
            sizes: TreeSizes::default(),
        })
    }

    /// Merges two commits.
    pub(super) fn commits(&mut self, base: Oid, head: Oid) -> Result<TreeMerge, Failure> {
        let bases = match self.opened.git.merge_bases(base, head) {
            Ok(bases) => bases.to_vec(),
            Err(error) if error.code() == ErrorCode::NotFound => Vec::new(),
            Err(error) => return Err(error).or_broken("the history could not be read"),
        };
        match bases.as_slice() {
            [] => self.trees([None, Some(base), Some(head)]),
            [one] => self.trees([Some(*one), Some(base), Some(head)]),
            // Their merge bases are merged first, which only git itself can do.
            _ => self.whole_commits(base, head),
        }
    }

    /// Merges whole commits without leaving anything out.
    fn whole_commits(&mut self, base: Oid, head: Oid) -> Result<TreeMerge, Failure> {
        self.opened.require_shallow_merge(base, head)?;
        let (base, head) = (self.opened.commit_at(base)?, self.opened.commit_at(head)?);
        let merged = self
            .opened
            .git
            .merge_commits(&base, &head, Some(&merge_options()));
        let mut index = merged.or_broken(WHAT)?;
        match index.has_conflicts() {
            true => of_index(&index).map(TreeMerge::Conflicts),
            false => {
                let tree = index.write_tree_to(&self.opened.git).or_broken(WHAT)?;
                Ok(TreeMerge::Tree(tree))
            }
        }
    }

    /// Merges the trees of commits; a side without a commit is empty.
    pub(super) fn trees(&mut self, commits: Sides<Option<Oid>>) -> Result<TreeMerge, Failure> {
        let reduced = self.reduce_commits(commits)?;
        let [ancestor, base, head] = reduced.trees;
        let (ancestor, base, head) = (self.read(ancestor)?, self.read(base)?, self.read(head)?);
        let merged = self
            .opened
            .git
            .merge_trees(&ancestor, &base, &head, Some(&merge_options()));
        let mut index = merged.or_broken(WHAT)?;
        if index.has_conflicts() {
            return of_index(&index).map(TreeMerge::Conflicts);
        }
        let merged = index.write_tree_to(&self.opened.git).or_broken(WHAT)?;
        let whole = self.put_back(Some(merged), &reduced.left_out)?;
        let whole = whole.map_or_else(|| self.write(&[]), Ok);
        whole.map(TreeMerge::Tree)
    }

    /// Returns the trees of two commits without the entries that are equal in both. Without a first commit,
    /// its tree is empty.
    pub(super) fn differing_parts(
        &mut self,
        from: Option<Oid>,
        to: Oid,
    ) -> Result<(Tree<'a>, Tree<'a>), Failure> {
        let reduced = self.reduce_commits([from, from, Some(to)])?;
        let [from, _, to] = reduced.trees;
        Ok((self.read(from)?, self.read(to)?))
    }

    fn reduce_commits(&mut self, commits: Sides<Option<Oid>>) -> Result<ReducedDirectory, Failure> {
        let tree = |commit: Option<Oid>| {
            let commit = commit.map(|commit| self.opened.commit_at(commit));
            Ok::<_, Failure>(commit.transpose()?.map(|commit| commit.tree_id()))
        };
        let [ancestor, base, head] = commits;
        let trees = [tree(ancestor)?, tree(base)?, tree(head)?];
        self.reduce(trees, 1)
    }

    /// Reads a reduced tree. One without entries was not written.
    fn read(&self, id: Option<Oid>) -> Result<Tree<'a>, Failure> {
        let id = match id {
            Some(id) => id,
            None => self.write(&[])?,
        };
        self.opened.git.find_tree(id).or_broken(WHAT)
    }

    fn write(&self, entries: &[OwnedEntry]) -> Result<Oid, Failure> {
        let bytes = written(entries);
        self.odb.write(ObjectType::Tree, &bytes).or_broken(WHAT)
    }

    fn write_unless_empty(&self, entries: &[OwnedEntry]) -> Result<Option<Oid>, Failure> {
        match entries.is_empty() {
            true => Ok(None),
            false => self.write(entries).map(Some),
        }
    }

    /// Leaves out what is equal on all sides. The recursion is bounded by the depth of paths.
    fn reduce(
        &mut self,
        trees: Sides<Option<Oid>>,
        level: usize,
    ) -> Result<ReducedDirectory, Failure> {
        if level > MAX_DEPTH {
            return Err(too_deep());
        }
        let mut sides = Vec::with_capacity(trees.len());
        for tree in trees {
            sides.push(match tree {
                Some(id) => self.opened.entries(&self.odb, id)?,
                None => Arc::default(),
            });
        }
        let mut left_out = LeftOut::default();
        let mut kept: Sides<Vec<OwnedEntry>> = Sides::default();
        for entries in joined(&sides) {
            let [ancestor, base, head] = entries;
            match (ancestor, base, head) {
                (Some(one), Some(two), Some(three)) if one == two && two == three => {
                    left_out
                        .entries
                        .push(OwnedEntry::new(one.mode, one.name, one.id()));
                }
                (Some(one), Some(two), Some(three)) if one.is_directory() => {
                    let trees = [one.id(), two.id(), three.id()].map(Some);
                    let below = self.reduce(trees, level + 1)?;
                    for (kept, id) in kept.iter_mut().zip(below.trees) {
                        kept.extend(id.map(|id| OwnedEntry::new(DIRECTORY, one.name, id)));
                    }
                    left_out.below.push((one.name.to_vec(), below.left_out));
                }
                _ => {
                    for (kept, entry) in kept.iter_mut().zip(entries) {
                        let Some(entry) = entry else { continue };
                        if entry.is_directory() {
                            let below = MAX_DEPTH - level;
                            self.sizes
                                .require_levels(self.opened, &self.odb, entry.id(), below)?;
                        }
                        kept.push(OwnedEntry::new(entry.mode, entry.name, entry.id()));
                    }
                }
            }
        }
        left_out
            .below
            .sort_by(|(one, _), (other, _)| one.cmp(other));
        let [ancestor, base, head] = &kept;
        Ok(ReducedDirectory {
            trees: [
                self.write_unless_empty(ancestor)?,
                self.write_unless_empty(base)?,
                self.write_unless_empty(head)?,
            ],
            left_out,
        })
    }

    /// Puts the entries that were left out back into a merged directory. Returns `None` if it is empty.
    fn put_back(&self, merged: Option<Oid>, left_out: &LeftOut) -> Result<Option<Oid>, Failure> {
        let merged = match merged {
            Some(id) => self.opened.entries(&self.odb, id)?,
            None => Arc::default(),
        };
        let mut all = left_out.entries.clone();
        let mut seen = BTreeSet::new();
        for entry in merged.iter() {
            match left_out.below(entry.name) {
                Some(below) if entry.is_directory() => {
                    seen.insert(entry.name);
                    let id = self.put_back(Some(entry.id()), below)?;
                    all.extend(id.map(|id| OwnedEntry::new(DIRECTORY, entry.name, id)));
                }
                _ => all.push(OwnedEntry::new(entry.mode, entry.name, entry.id())),
            }
        }
        for (name, below) in &left_out.below {
            if !seen.contains(name.as_slice()) {
                let id = self.put_back(None, below)?;
                all.extend(id.map(|id| OwnedEntry::new(DIRECTORY, name, id)));
            }
        }
        all.sort_by(|one, other| one.borrowed().order(&other.borrowed()));
        // A file where a directory has entries, or the reverse, cannot come out of a merge.
        let same_name = |pair: &[OwnedEntry]| matches!(pair, [one, two] if one.name == two.name);
        if all.windows(2).any(same_name) {
            let cause = Cause::from("a merged tree has two entries of one name");
            return Err(Failure::Broken(WHAT, cause));
        }
        self.write_unless_empty(&all)
    }
}

/// Returns the entries of three directories side by side, in the order of git. A file and a directory of
/// the same name are different entries.
fn joined(sides: &[Arc<TreeEntries>]) -> Vec<Sides<Option<NamedEntry<'_>>>> {
    let mut next = [0_usize; 3];
    let mut all = Vec::new();
    loop {
        let mut heads: Sides<Option<NamedEntry<'_>>> = [None; 3];
        for (head, (side, next)) in heads.iter_mut().zip(sides.iter().zip(next)) {
            *head = side.get(next);
        }
        let first = heads.iter().flatten();
        let Some(first) = first.min_by(|one, other| one.order(other)).copied() else {
            return all;
        };
        for (head, next) in heads.iter_mut().zip(&mut next) {
            match head {
                Some(entry) if entry.order(&first) == Ordering::Equal => *next += 1,
                _ => *head = None,
            }
        }
        all.push(heads);
    }
}

impl OpenRepository {
    /// Copies a tree and everything below it that another handle of this repository has in memory. Its
    /// objects are written before the trees that name them.
    pub(super) fn keep_tree(&self, memory: &OpenRepository, root: Oid) -> Result<(), Failure> {
        let (from, to) = (memory.odb()?, self.odb()?);
        copy_missing(&from, &to, root, 1)
    }
}

/// Copies a tree that the other object store does not have. The recursion is bounded by the depth of paths.
fn copy_missing(from: &Odb<'_>, to: &Odb<'_>, id: Oid, level: usize) -> Result<(), Failure> {
    if to.exists_ext(id, OdbLookupFlags::NO_REFRESH) {
        return Ok(());
    }
    if level > MAX_DEPTH {
        return Err(too_deep());
    }
    let object = from.read(id).or_broken(WHAT)?;
    if object.kind() == ObjectType::Tree {
        let entries = TreeEntries::parse(object.data()).ok_or_else(|| {
            let cause = Cause::from("the entries of a merged directory cannot be parsed");
            Failure::Damaged(DamagedItem::Object, cause)
        })?;
        for entry in entries.iter() {
            match entry.kind() {
                ItemKind::Submodule => {}
                _ => copy_missing(from, to, entry.id(), level + 1)?,
            }
        }
    }
    to.write(object.kind(), object.data()).or_broken(WHAT)?;
    Ok(())
}
