//! Measures the entries and the depth of trees. libgit2 recurses on the depth of the trees that it merges
//! and compares, so it only gets trees that were measured here.

use super::errors::OrBroken;
use super::repository_root::OpenRepository;
use crate::Failure;
use candor_fault::Cause;
use git2::{ErrorCode, Odb, Oid};
use std::collections::BTreeMap;

/// The maximum depth of a tree.
pub const MAX_DEPTH: usize = 256;

/// The maximum number of pairs of commits that are measured for one merge.
const MAX_PAIRS: usize = 64;

/// The measured trees. Each is read once, however often it occurs, so the time is bounded by the size of
/// the repository.
#[derive(Default)]
pub(super) struct TreeSizes(BTreeMap<Oid, TreeSize>);

#[derive(Clone, Copy)]
struct TreeSize {
    entries: u64,
    levels: usize,
}

/// A tree that is being measured.
struct UnfinishedTree {
    id: Oid,
    so_far: TreeSize,
    below: Vec<Oid>,
}

const TOO_DEEP: &str = "the tree has more levels than are read";
const TOO_CROSSED: &str = "the histories cross more often than is followed";

/// Returns true if a merge failed because its trees or histories exceed the bounds of this file.
pub(super) fn is_beyond_bounds(failure: &Failure) -> bool {
    matches!(failure, Failure::Broken(TOO_DEEP | TOO_CROSSED, _))
}

pub(super) fn too_deep() -> Failure {
    Failure::Broken(
        TOO_DEEP,
        Cause::Text(format!("more than {MAX_DEPTH} levels of directories")),
    )
}

impl UnfinishedTree {
    fn new(opened: &OpenRepository, odb: &Odb<'_>, id: Oid) -> Result<UnfinishedTree, Failure> {
        let tree = opened.entries(odb, id)?;
        let dirs = tree.iter().filter(|entry| entry.is_directory());
        Ok(UnfinishedTree {
            id,
            below: dirs.map(|entry| entry.id()).collect(),
            so_far: TreeSize {
                entries: tree.len() as u64,
                levels: 1,
            },
        })
    }

    fn add(&mut self, below: TreeSize) {
        self.so_far.entries = self.so_far.entries.saturating_add(below.entries);
        self.so_far.levels = self.so_far.levels.max(below.levels + 1);
    }
}

impl TreeSizes {
    /// Returns the number of entries of a tree. Fails if it is too deep.
    pub(super) fn entries(
        &mut self,
        opened: &OpenRepository,
        odb: &Odb<'_>,
        root: Oid,
    ) -> Result<u64, Failure> {
        Ok(self.size(opened, odb, root)?.entries)
    }

    /// Fails if a tree has more levels than these.
    pub(super) fn require_levels(
        &mut self,
        opened: &OpenRepository,
        odb: &Odb<'_>,
        root: Oid,
        most: usize,
    ) -> Result<(), Failure> {
        match self.size(opened, odb, root)?.levels > most {
            true => Err(too_deep()),
            false => Ok(()),
        }
    }

    fn size(
        &mut self,
        opened: &OpenRepository,
        odb: &Odb<'_>,
        root: Oid,
    ) -> Result<TreeSize, Failure> {
        if let Some(size) = self.0.get(&root) {
            return Ok(*size);
        }
        let mut open = vec![UnfinishedTree::new(opened, odb, root)?];
        while let Some(tree) = open.last_mut() {
            match tree.below.pop() {
                Some(child) => match self.0.get(&child) {
                    Some(size) => tree.add(*size),
                    None => {
                        // Read again after it is measured.
                        tree.below.push(child);
                        if open.len() >= MAX_DEPTH {
                            return Err(too_deep());
                        }
                        open.push(UnfinishedTree::new(opened, odb, child)?);
                    }
                },
                None if tree.so_far.levels > MAX_DEPTH => return Err(too_deep()),
                None => {
                    self.0.insert(tree.id, tree.so_far);
                    open.pop();
                }
            }
        }
        self.0.get(&root).copied().ok_or_else(too_deep)
    }

    fn commit(&mut self, opened: &OpenRepository, odb: &Odb<'_>, id: Oid) -> Result<(), Failure> {
        let tree = opened.commit_at(id)?.tree_id();
        self.size(opened, odb, tree).map(drop)
    }
}

impl OpenRepository {
    /// Fails if a merge of these two would read a tree that is too deep: theirs, or those of their merge
    /// bases, which are merged first if there are several.
    pub(super) fn require_shallow_merge(&self, one: Oid, other: Oid) -> Result<(), Failure> {
        let odb = self.odb()?;
        let mut measured = TreeSizes::default();
        let mut waiting = vec![(one, other)];
        for _ in 0..MAX_PAIRS {
            let Some((one, other)) = waiting.pop() else {
                return Ok(());
            };
            measured.commit(self, &odb, one)?;
            measured.commit(self, &odb, other)?;
            let bases = match self.git.merge_bases(one, other) {
                Ok(bases) => bases.to_vec(),
                Err(error) if error.code() == ErrorCode::NotFound => Vec::new(),
                Err(error) => return Err(error).or_broken("the history could not be read"),
            };
            for base in &bases {
                measured.commit(self, &odb, *base)?;
            }
            let pairs = bases.iter().zip(bases.iter().skip(1));
            waiting.extend(pairs.map(|(one, other)| (*one, *other)));
        }
        match waiting.is_empty() {
            true => Ok(()),
            false => Err(Failure::Broken(
                TOO_CROSSED,
                Cause::Text(format!("more than {MAX_PAIRS} pairs of merge bases")),
            )),
        }
    }
}
