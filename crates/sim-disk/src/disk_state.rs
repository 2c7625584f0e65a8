//! The whole state of a disk: names, contents, free space, locks, planned faults, journal.

use crate::dir_tree::{DirEntry, DirTree, EntryName, Inode};
use crate::disk_fault::DiskFault;
use crate::file_content::{BLOCK, ContentChange, FileContent, blocks};
use crate::journal::{DiskEvent, DiskOperation};
use crate::seeded_random::SeededRandom;
use crate::survival::{Survival, SurvivalChoices};
use candor_disk::Open;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsStr;

/// The error of every operation after a crash. A real process would not exist any more.
const DEAD: Errno = Errno::SHUTDOWN;

/// The longest file in bytes, to protect the memory of the machine.
const LONGEST: u64 = 1 << 28;

/// The umask of the simulated process.
const UMASK: u32 = 0o022;

#[derive(Debug)]
pub(crate) struct DiskState {
    pub(crate) tree: DirTree,
    files: BTreeMap<Inode, FileContent>,
    last_inode: Inode,
    pub(crate) capacity: u64,
    /// The capacity since a fault made the disk full. The next process finds free space again.
    full_at: u64,
    locks: BTreeMap<Inode, u64>,
    last_handle: u64,
    pub(crate) random: SeededRandom,
    pub(crate) faults: BTreeMap<u64, DiskFault>,
    pub(crate) journal: Vec<DiskEvent>,
    pub(crate) operations: u64,
    pub(crate) dead: bool,
}

impl DiskState {
    pub(crate) fn new(seed: u64) -> DiskState {
        DiskState {
            tree: DirTree::default(),
            files: BTreeMap::new(),
            last_inode: 0,
            capacity: u64::MAX,
            full_at: u64::MAX,
            locks: BTreeMap::new(),
            last_handle: 0,
            random: SeededRandom::new(seed),
            faults: BTreeMap::new(),
            journal: Vec::new(),
            operations: 0,
            dead: false,
        }
    }

    /// Returns the disk as the next process finds it.
    pub(crate) fn after(&self, survival: Survival) -> DiskState {
        let seed = match survival {
            Survival::Chance(seed) => seed,
            Survival::Everything | Survival::Synced => 0,
        };
        let mut choices = SurvivalChoices::new(seed);
        let tree = self.tree.after(survival, &mut choices);
        let files = self.files.iter();
        let files = files.map(|(inode, content)| (*inode, content.after(survival, &mut choices)));
        DiskState {
            tree,
            files: files.collect(),
            last_inode: self.last_inode,
            capacity: self.capacity,
            ..DiskState::new(choices.random.next())
        }
    }

    /// Counts an operation, applies its fault, and records the result.
    pub(crate) fn perform<T>(
        &mut self,
        operation: DiskOperation,
        act: impl FnOnce(&mut DiskState, Option<DiskFault>) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        if self.dead {
            return Err(DEAD);
        }
        let number = self.operations;
        self.operations += 1;
        let fault = self.faults.remove(&number);
        let fault = fault.filter(|fault| fault.can_happen_at(&operation));
        let done = match fault {
            // The operation during which the process died is an unsynced change.
            Some(DiskFault::Crash) if operation.syncs() => Err(DEAD),
            Some(DiskFault::Crash) => {
                act(self, None).ok();
                Err(DEAD)
            }
            Some(DiskFault::Full) => {
                self.full_at = self.used();
                act(self, None)
            }
            Some(DiskFault::Eio) if !operation.syncs() && !operation.writes() => Err(Errno::IO),
            Some(DiskFault::Enospc) if !operation.syncs() => Err(Errno::NOSPC),
            other => act(self, other),
        };
        self.dead = fault == Some(DiskFault::Crash);
        let error = done.as_ref().err().map(|errno| errno.raw_os_error());
        self.journal.push(DiskEvent::Operation {
            number,
            operation,
            error,
        });
        done
    }

    pub(crate) fn open(&mut self, names: &[&OsStr], how: Open) -> Result<Inode, Errno> {
        let place = self.tree.entry_name(names)?;
        match (self.tree.get(&place), how) {
            (Some(_), Open::CreateNew(_)) => Err(Errno::EXIST),
            (Some(DirEntry::Dir(_)), _) => Err(Errno::ISDIR),
            (Some(DirEntry::File(inode)), _) => Ok(inode),
            (None, Open::Read | Open::Edit) => Err(Errno::NOENT),
            (None, Open::Create(mode) | Open::CreateNew(mode)) => {
                let inode = self.new_inode();
                self.files.insert(inode, FileContent::new(mode & !UMASK));
                self.tree.link(place, DirEntry::File(inode));
                Ok(inode)
            }
        }
    }

    pub(crate) fn create_dir(&mut self, place: EntryName) -> Result<(), Errno> {
        if self.tree.get(&place).is_some() {
            return Err(Errno::EXIST);
        }
        let inode = self.new_inode();
        self.tree.link(place, DirEntry::Dir(inode));
        Ok(())
    }

    fn new_inode(&mut self) -> Inode {
        self.last_inode += 1;
        self.last_inode
    }

    pub(crate) fn new_handle(&mut self) -> u64 {
        self.last_handle += 1;
        self.last_handle
    }

    pub(crate) fn file(&mut self, inode: Inode) -> &mut FileContent {
        self.files.entry(inode).or_default()
    }

    /// Writes what fits and what the fault permits. Returns how many bytes that is.
    pub(crate) fn write(
        &mut self,
        inode: Inode,
        offset: u64,
        bytes: &[u8],
        fault: Option<DiskFault>,
    ) -> Result<usize, Errno> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if offset.saturating_add(bytes.len() as u64) > LONGEST {
            return Err(Errno::FBIG);
        }
        let fits = match fault {
            Some(DiskFault::Short) => 1 + self.random.below(bytes.len() - 1),
            Some(DiskFault::Eio) => self.random.below(bytes.len() + 1),
            _ => self.fits(inode, offset, bytes.len() as u64) as usize,
        };
        if fits > 0 {
            let bytes = bytes.get(..fits).unwrap_or(bytes).to_vec();
            let offset = offset as usize;
            self.file(inode)
                .change(ContentChange::Write { offset, bytes });
        }
        match (fault, fits) {
            (Some(DiskFault::Eio), _) => Err(Errno::IO),
            (_, 0) => Err(Errno::NOSPC),
            (_, fits) => Ok(fits),
        }
    }

    pub(crate) fn set_len(&mut self, inode: Inode, len: u64) -> Result<(), Errno> {
        if len > LONGEST {
            return Err(Errno::FBIG);
        }
        self.file(inode).change(ContentChange::SetLen(len as usize));
        Ok(())
    }

    pub(crate) fn reserve(&mut self, inode: Inode, up_to: u64) -> Result<(), Errno> {
        match up_to {
            0 => Err(Errno::INVAL),
            up_to if up_to > LONGEST => Err(Errno::FBIG),
            up_to if self.fits(inode, 0, up_to) < up_to => Err(Errno::NOSPC),
            up_to => {
                self.file(inode).change(ContentChange::Reserve(up_to));
                Ok(())
            }
        }
    }

    pub(crate) fn sync(
        &mut self,
        inode: Inode,
        mode_too: bool,
        fault: Option<DiskFault>,
    ) -> Result<(), Errno> {
        let content = self.files.entry(inode).or_default();
        match sync_error(fault) {
            None => content.sync(mode_too),
            Some(_) => content.fail_sync(&mut self.random),
        }
        sync_error(fault).map_or(Ok(()), Err)
    }

    pub(crate) fn sync_dir(&mut self, dir: Inode, fault: Option<DiskFault>) -> Result<(), Errno> {
        match sync_error(fault) {
            None => self.tree.sync(dir),
            Some(_) => self.tree.fail_sync(dir, &mut self.random),
        }
        sync_error(fault).map_or(Ok(()), Err)
    }

    /// Returns the space that all files with a name use.
    fn used(&self) -> u64 {
        let rooms = self.tree.files().filter_map(|inode| self.files.get(&inode));
        rooms.map(|content| content.live.room).sum()
    }

    /// Returns how many of the bytes from `offset` have space or can get it.
    fn fits(&self, inode: Inode, offset: u64, len: u64) -> u64 {
        let room = self
            .files
            .get(&inode)
            .map_or(0, |content| content.live.room);
        let capacity = self.capacity.min(self.full_at);
        let free = capacity.saturating_sub(self.used()) / BLOCK * BLOCK;
        let end = blocks(offset + len).min(room.saturating_add(free));
        end.saturating_sub(offset).min(len)
    }

    pub(crate) fn is_synced(&self) -> bool {
        let mut named = self.tree.files().filter_map(|inode| self.files.get(&inode));
        self.tree.is_synced() && named.all(FileContent::is_synced)
    }

    pub(crate) fn try_lock(&mut self, inode: Inode, handle: u64) -> Result<bool, Errno> {
        match self.dead {
            true => Err(DEAD),
            false => Ok(*self.locks.entry(inode).or_insert(handle) == handle),
        }
    }

    pub(crate) fn release(&mut self, inode: Inode, handle: u64) {
        if self.locks.get(&inode) == Some(&handle) {
            self.locks.remove(&inode);
        }
    }
}

/// Returns the error with which a fault ends a sync.
fn sync_error(fault: Option<DiskFault>) -> Option<Errno> {
    match fault {
        Some(DiskFault::Eio) => Some(Errno::IO),
        Some(DiskFault::Enospc) => Some(Errno::NOSPC),
        _ => None,
    }
}
