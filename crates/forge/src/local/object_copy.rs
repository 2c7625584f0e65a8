//! Copies objects from one repository to another as one pack.
//!
//! A built pack is synced as configured, unlike a fetched one. The objects are collected here, because
//! libgit2 would recurse on the depth of their trees.

use super::errors::OrBroken;
use super::tree::kind;
use crate::{Failure, ItemKind};
use git2::{Odb, Oid, PackBuilder, Repository, Revwalk};
use std::collections::BTreeSet;

const WHAT: &str = "objects could not be copied";

/// The objects that are copied.
pub(super) struct ObjectCopy<'a> {
    from: &'a Repository,
    to: &'a Repository,
    there: Odb<'a>,
    pack: PackBuilder<'a>,
    trees: BTreeSet<Oid>,
}

impl<'a> ObjectCopy<'a> {
    pub(super) fn new(from: &'a Repository, to: &'a Repository) -> Result<Self, Failure> {
        Ok(ObjectCopy {
            from,
            to,
            there: to.odb().or_broken(WHAT)?,
            pack: from.packbuilder().or_broken(WHAT)?,
            trees: BTreeSet::new(),
        })
    }

    /// Adds one object.
    pub(super) fn add(&mut self, id: Oid) -> Result<(), Failure> {
        match self.there.exists(id) {
            true => Ok(()),
            false => self.pack.insert_object(id, None).or_broken(WHAT),
        }
    }

    /// Adds every commit of a walk with its tree.
    pub(super) fn add_commits(&mut self, walk: Revwalk<'_>) -> Result<(), Failure> {
        for id in walk {
            let commit = self.from.find_commit(id.or_broken(WHAT)?);
            let commit = commit.or_broken(WHAT)?;
            self.add(commit.id())?;
            self.add_tree(commit.tree_id())?;
        }
        Ok(())
    }

    /// Adds a tree and everything below it.
    pub(super) fn add_tree(&mut self, root: Oid) -> Result<(), Failure> {
        let mut waiting = vec![root];
        while let Some(id) = waiting.pop() {
            if !self.trees.insert(id) {
                continue;
            }
            self.add(id)?;
            for entry in &self.from.find_tree(id).or_broken(WHAT)? {
                match kind(&entry) {
                    ItemKind::Dir => waiting.push(entry.id()),
                    ItemKind::File | ItemKind::Symlink => self.add(entry.id())?,
                    ItemKind::Submodule => {}
                }
            }
        }
        Ok(())
    }

    /// Writes the pack. Its objects are durable when this returns.
    pub(super) fn write(mut self) -> Result<(), Failure> {
        if self.pack.object_count() > 0 {
            let packs = self.to.path().join("objects/pack");
            self.pack.write(&packs, 0).or_broken(WHAT)?;
            self.there.refresh().or_broken(WHAT)?;
        }
        Ok(())
    }
}
