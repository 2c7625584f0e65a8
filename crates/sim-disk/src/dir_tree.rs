//! The names of a disk: as readers see them, as they are on the platter, and the pending changes.

use crate::seeded_random::SeededRandom;
use crate::survival::{ChangeOutcome, Survival, SurvivalChoices};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

pub(crate) type Inode = u64;

const ROOT: Inode = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirEntry {
    File(Inode),
    Dir(Inode),
}

/// The name of an entry in a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryName {
    dir: Inode,
    name: OsString,
}

type Names = BTreeMap<EntryName, DirEntry>;

/// The changes of names by one operation. After a crash all of them survive, or none.
#[derive(Debug, Clone)]
struct NameChange {
    names: Vec<EntryName>,
    /// The changes that are not durable yet.
    left: Vec<(EntryName, Option<DirEntry>)>,
}

impl NameChange {
    /// Returns true if this change cannot become durable before `earlier`: both change one name, or
    /// the earlier one creates the directory of this one.
    fn needs(&self, earlier: &NameChange) -> bool {
        let mut pairs = earlier.left.iter().flat_map(|(place, node)| {
            let mine = self.names.iter();
            mine.map(move |mine| mine == place || *node == Some(DirEntry::Dir(mine.dir)))
        });
        pairs.any(|needed| needed)
    }

    fn is_in(&self, dirs: &[Inode]) -> bool {
        self.names.iter().any(|place| dirs.contains(&place.dir))
    }

    fn moves_dir(&self) -> bool {
        let is_dir =
            |(_, node): &(EntryName, Option<DirEntry>)| matches!(node, Some(DirEntry::Dir(_)));
        self.names.len() > 1 && self.left.iter().any(is_dir)
    }

    /// Makes the changes in these directories durable, or drops them if `durable` is absent.
    fn settle(&mut self, dirs: &[Inode], durable: Option<&mut Names>) {
        let (settled, left) = std::mem::take(&mut self.left)
            .into_iter()
            .partition(|(place, _)| dirs.contains(&place.dir));
        self.left = left;
        if let Some(durable) = durable {
            apply(durable, &settled);
        }
    }
}

fn apply(names: &mut Names, entries: &[(EntryName, Option<DirEntry>)]) {
    for (place, node) in entries {
        match node {
            Some(node) => names.insert(place.clone(), *node),
            None => names.remove(place),
        };
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct DirTree {
    live: Names,
    durable: Names,
    pending: Vec<NameChange>,
}

impl DirTree {
    /// Returns the directory at the end of these names.
    pub(crate) fn dir(&self, names: &[&OsStr]) -> Result<Inode, Errno> {
        names.iter().try_fold(ROOT, |dir, name| {
            let name = name.to_os_string();
            match self.get(&EntryName { dir, name }) {
                Some(DirEntry::Dir(dir)) => Ok(dir),
                Some(DirEntry::File(_)) => Err(Errno::NOTDIR),
                None => Err(Errno::NOENT),
            }
        })
    }

    /// Returns the entry name of the last of these names, taken or not.
    pub(crate) fn entry_name(&self, names: &[&OsStr]) -> Result<EntryName, Errno> {
        let (last, parents) = names.split_last().ok_or(Errno::INVAL)?;
        let (dir, name) = (self.dir(parents)?, last.to_os_string());
        Ok(EntryName { dir, name })
    }

    pub(crate) fn get(&self, place: &EntryName) -> Option<DirEntry> {
        self.live.get(place).copied()
    }

    pub(crate) fn list(&self, dir: Inode) -> Vec<OsString> {
        let inside = self.live.keys().filter(|place| place.dir == dir);
        inside.map(|place| place.name.clone()).collect()
    }

    /// Iterates over the files that have a name.
    pub(crate) fn files(&self) -> impl Iterator<Item = Inode> {
        self.live.values().filter_map(|node| match node {
            DirEntry::File(inode) => Some(*inode),
            DirEntry::Dir(_) => None,
        })
    }

    pub(crate) fn is_synced(&self) -> bool {
        self.pending.is_empty()
    }

    pub(crate) fn link(&mut self, place: EntryName, node: DirEntry) {
        self.change(vec![(place, Some(node))]);
    }

    pub(crate) fn unlink(&mut self, place: EntryName) -> Result<(), Errno> {
        match self.get(&place).ok_or(Errno::NOENT)? {
            DirEntry::Dir(_) => Err(Errno::ISDIR),
            DirEntry::File(_) => {
                self.change(vec![(place, None)]);
                Ok(())
            }
        }
    }

    pub(crate) fn remove_dir(&mut self, place: EntryName) -> Result<(), Errno> {
        match self.get(&place).ok_or(Errno::NOENT)? {
            DirEntry::File(_) => Err(Errno::NOTDIR),
            DirEntry::Dir(dir) if !self.list(dir).is_empty() => Err(Errno::NOTEMPTY),
            DirEntry::Dir(_) => {
                self.change(vec![(place, None)]);
                Ok(())
            }
        }
    }

    /// The rules and their order are those of rename(2).
    pub(crate) fn rename(
        &mut self,
        from: EntryName,
        to: EntryName,
        replace: bool,
    ) -> Result<(), Errno> {
        let node = self.get(&from).ok_or(Errno::NOENT)?;
        let replaced = self.get(&to);
        if replaced.is_some() && !replace {
            return Err(Errno::EXIST);
        }
        if self.is_within(to.dir, node) {
            return Err(Errno::INVAL);
        }
        if replaced.is_some_and(|replaced| self.is_within(from.dir, replaced)) {
            return Err(Errno::NOTEMPTY);
        }
        match (node, replaced) {
            (node, Some(same)) if node == same => return Ok(()),
            (DirEntry::Dir(_), Some(DirEntry::File(_))) => return Err(Errno::NOTDIR),
            (DirEntry::File(_), Some(DirEntry::Dir(_))) => return Err(Errno::ISDIR),
            (_, Some(DirEntry::Dir(dir))) if !self.list(dir).is_empty() => {
                return Err(Errno::NOTEMPTY);
            }
            _ => {}
        }
        self.change(vec![(from, None), (to, Some(node))]);
        Ok(())
    }

    /// The rules are those of renameat2(2) with RENAME_EXCHANGE.
    pub(crate) fn exchange(&mut self, one: EntryName, other: EntryName) -> Result<(), Errno> {
        let first = self.get(&one).ok_or(Errno::NOENT)?;
        let second = self.get(&other).ok_or(Errno::NOENT)?;
        if self.is_within(other.dir, first) || self.is_within(one.dir, second) {
            return Err(Errno::INVAL);
        }
        if first != second {
            self.change(vec![(one, Some(second)), (other, Some(first))]);
        }
        Ok(())
    }

    /// Returns true if a directory is this entry or below it.
    fn is_within(&self, mut dir: Inode, node: DirEntry) -> bool {
        loop {
            let this = DirEntry::Dir(dir);
            if this == node {
                return true;
            }
            match self.live.iter().find(|(_, child)| **child == this) {
                Some((place, _)) => dir = place.dir,
                None => return false,
            }
        }
    }

    fn change(&mut self, left: Vec<(EntryName, Option<DirEntry>)>) {
        apply(&mut self.live, &left);
        let names = left.iter().map(|(place, _)| place.clone()).collect();
        self.pending.push(NameChange { names, left });
    }

    /// Returns the directories that are synced with this one. A file that is moved between two
    /// directories is synced in each separately; a directory is one inode with one parent and moves
    /// at once.
    fn synced_with(&self, dir: Inode) -> Vec<Inode> {
        let mut dirs = vec![dir];
        loop {
            let moves = self.pending.iter().filter(|change| change.moves_dir());
            let with = moves.filter(|change| change.is_in(&dirs));
            let with = with.flat_map(|change| change.names.iter().map(|place| place.dir));
            match with.into_iter().find(|dir| !dirs.contains(dir)) {
                Some(other) => dirs.push(other),
                None => return dirs,
            }
        }
    }

    pub(crate) fn sync(&mut self, dir: Inode) {
        let dirs = self.synced_with(dir);
        for change in &mut self.pending {
            change.settle(&dirs, Some(&mut self.durable));
        }
        self.drop_settled();
    }

    /// Simulates a failed sync: some changes have reached the platter, the others never will,
    /// although readers see them until the next start.
    pub(crate) fn fail_sync(&mut self, dir: Inode, random: &mut SeededRandom) {
        let dirs = self.synced_with(dir);
        for change in &mut self.pending {
            let reached = random.coin().then_some(&mut self.durable);
            change.settle(&dirs, reached);
        }
        self.drop_settled();
    }

    /// Drops changes that are complete, also those in a directory that has been removed.
    fn drop_settled(&mut self) {
        let DirTree {
            live,
            durable,
            pending,
        } = self;
        let exists = |dir: Inode| {
            let mut nodes = live.values().chain(durable.values());
            dir == ROOT || nodes.any(|node| *node == DirEntry::Dir(dir))
        };
        for change in pending.iter_mut() {
            change.left.retain(|(place, _)| exists(place.dir));
        }
        pending.retain(|change| !change.left.is_empty());
    }

    pub(crate) fn after(&self, survival: Survival, choices: &mut SurvivalChoices) -> DirTree {
        let mut names = self.durable.clone();
        match survival {
            Survival::Everything => return self.clone(),
            Survival::Synced => {}
            Survival::Chance(_) => {
                let mut lost: Vec<&NameChange> = Vec::new();
                for change in &self.pending {
                    let possible = !lost.iter().any(|earlier| change.needs(earlier));
                    if possible && choices.fate() == ChangeOutcome::Kept {
                        apply(&mut names, &change.left);
                    } else {
                        lost.push(change);
                    }
                }
            }
        }
        DirTree {
            live: names.clone(),
            durable: names,
            pending: Vec::new(),
        }
    }
}
