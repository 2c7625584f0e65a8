//! A simulated disk that loses unsynced data, for tests of durability.
//!
//! The model is a local Linux file system, with every freedom that POSIX leaves it:
//!
//! - Bytes, length and reserved space of a file survive a power failure after `sync_data` or
//!   `sync_all`, its mode after `sync_all`, a name after `sync_dir` of its directory.
//! - Unsynced changes are kept, lost or torn, independently and in any order. A torn write leaves any
//!   prefix or any of its sectors, and the rest is old, zero, garbage or missing.
//! - A rename is atomic. Changes of one name happen in order, and a directory whose creation was lost
//!   contains nothing; other changes of names are independent of each other.
//! - A file moved between directories is durable in each directory when that one is synced: sync the
//!   new directory first, or the file may be in neither.
//! - After a failed sync, an unknown part is on the disk, the rest never will be, and later syncs
//!   succeed all the same.
//! - Synced bytes are never damaged by a later write next to them, and nothing rots.

mod counting_disk;
mod dir_tree;
mod disk_fault;
mod disk_state;
mod file_content;
mod journal;
mod seeded_random;
mod subdirectory;
mod survival;
mod trials;

pub use counting_disk::{CountingDisk, CountingFile, DiskCounts};
pub use disk_fault::DiskFault;
pub use journal::{DiskEvent, DiskOperation};
pub use subdirectory::Subdirectory;
pub use survival::Survival;
pub use trials::{TrialFailure, TrialSummary, Trials, for_every_operation};

use candor_disk::{Disk, DiskFile, Open, names};
use dir_tree::Inode;
use disk_state::DiskState;
use file_content::ContentChange;
use rustix::io::Errno;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A simulated disk. Clones share one disk.
#[derive(Debug, Clone)]
pub struct SimDisk {
    state: Arc<Mutex<DiskState>>,
}

impl SimDisk {
    /// Returns an empty disk; the seed decides everything random.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk::of(DiskState::new(seed))
    }

    fn of(state: DiskState) -> SimDisk {
        let state = Arc::new(Mutex::new(state));
        SimDisk { state }
    }

    fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plans a fault for the operation with this number, counted from 0. A fault that cannot happen
    /// at that operation is ignored.
    pub fn fail_at(&self, number: u64, fault: DiskFault) {
        self.lock().faults.insert(number, fault);
    }

    /// Limits the space of the disk in bytes. It is allocated in blocks of 4096 to files with a
    /// name.
    pub fn set_capacity(&self, bytes: u64) {
        self.lock().capacity = bytes;
    }

    /// Returns the number of operations so far.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Records a mark between the operations, such as an answer that was sent. A dead process
    /// records nothing.
    pub fn mark(&self, text: impl ToString) {
        let mut state = self.lock();
        if !state.dead {
            state.journal.push(DiskEvent::Mark(text.to_string()));
        }
    }

    /// Returns every operation and every mark, in order.
    pub fn journal(&self) -> Vec<DiskEvent> {
        self.lock().journal.clone()
    }

    /// Returns the marks.
    pub fn marks(&self) -> Vec<String> {
        let mark = |event: &DiskEvent| match event {
            DiskEvent::Mark(text) => Some(text.clone()),
            DiskEvent::Operation { .. } => None,
        };
        self.lock().journal.iter().filter_map(mark).collect()
    }

    /// Returns true if a power failure now would lose nothing that has a name.
    pub fn is_synced(&self) -> bool {
        self.lock().is_synced()
    }

    /// Returns true if the process that uses this disk has died.
    pub fn is_dead(&self) -> bool {
        self.lock().dead
    }

    /// Simulates a power failure now. Returns the disk as it is found afterwards, chosen at random.
    pub fn crash(&self) -> SimDisk {
        let mut state = self.lock();
        state.dead = true;
        let seed = state.random.next();
        SimDisk::of(state.after(Survival::Chance(seed)))
    }

    /// Returns the disk as the next process would find it if this one died now. This disk stays
    /// usable.
    pub fn after(&self, survival: Survival) -> SimDisk {
        SimDisk::of(self.lock().after(survival))
    }

    fn perform<T>(
        &self,
        operation: DiskOperation,
        act: impl FnOnce(&mut DiskState, Option<DiskFault>) -> Result<T, Errno>,
    ) -> io::Result<T> {
        Ok(self.lock().perform(operation, act)?)
    }

    fn rename_with(&self, from: &Path, to: &Path, replace: bool) -> io::Result<()> {
        let (old, new) = (names(from)?, names(to)?);
        let (from, to) = (from.to_path_buf(), to.to_path_buf());
        self.perform(DiskOperation::Rename { from, to }, |state, _| {
            let (from, to) = (state.tree.entry_name(&old)?, state.tree.entry_name(&new)?);
            state.tree.rename(from, to, replace)
        })
    }
}

impl Disk for SimDisk {
    type File = SimFile;

    fn open(&self, path: impl AsRef<Path>, how: Open) -> io::Result<SimFile> {
        let names = names(path.as_ref())?;
        let path = path.as_ref().to_path_buf();
        let operation = DiskOperation::Open {
            path: path.clone(),
            how,
        };
        let (inode, handle) = self.perform(operation, |state, _| {
            Ok((state.open(&names, how)?, state.new_handle()))
        })?;
        Ok(SimFile {
            disk: self.clone(),
            path,
            inode,
            handle,
            writable: how != Open::Read,
        })
    }

    fn create_dir(&self, path: impl AsRef<Path>, _mode: u32) -> io::Result<()> {
        let names = names(path.as_ref())?;
        let path = path.as_ref().to_path_buf();
        self.perform(DiskOperation::CreateDir { path }, |state, _| {
            let entry = state.tree.entry_name(&names)?;
            state.create_dir(entry)
        })
    }

    fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        self.rename_with(from.as_ref(), to.as_ref(), true)
    }

    fn rename_new(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        self.rename_with(from.as_ref(), to.as_ref(), false)
    }

    fn exchange(&self, one: impl AsRef<Path>, other: impl AsRef<Path>) -> io::Result<()> {
        let (first, second) = (names(one.as_ref())?, names(other.as_ref())?);
        let (one, other) = (one.as_ref().to_path_buf(), other.as_ref().to_path_buf());
        self.perform(DiskOperation::Exchange { one, other }, |state, _| {
            let first = state.tree.entry_name(&first)?;
            let second = state.tree.entry_name(&second)?;
            state.tree.exchange(first, second)
        })
    }

    fn unlink(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let names = names(path.as_ref())?;
        let path = path.as_ref().to_path_buf();
        self.perform(DiskOperation::Unlink { path }, |state, _| {
            let entry = state.tree.entry_name(&names)?;
            state.tree.unlink(entry)
        })
    }

    fn remove_dir(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let names = names(path.as_ref())?;
        let path = path.as_ref().to_path_buf();
        self.perform(DiskOperation::RemoveDir { path }, |state, _| {
            let entry = state.tree.entry_name(&names)?;
            state.tree.remove_dir(entry)
        })
    }

    fn sync_dir(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let names = names(path.as_ref())?;
        let path = path.as_ref().to_path_buf();
        self.perform(DiskOperation::SyncDir { path }, |state, fault| {
            let dir = state.tree.dir(&names)?;
            state.sync_dir(dir, fault)
        })
    }

    fn list(&self, path: impl AsRef<Path>) -> io::Result<Vec<OsString>> {
        let names = names(path.as_ref())?;
        let path = path.as_ref().to_path_buf();
        self.perform(DiskOperation::List { path }, |state, _| {
            Ok(state.tree.list(state.tree.dir(&names)?))
        })
    }
}

/// A file that is open on a [`SimDisk`].
#[derive(Debug)]
pub struct SimFile {
    disk: SimDisk,
    path: PathBuf,
    inode: Inode,
    handle: u64,
    writable: bool,
}

impl SimFile {
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    fn perform<T>(
        &self,
        operation: DiskOperation,
        act: impl FnOnce(&mut DiskState, Option<DiskFault>) -> Result<T, Errno>,
    ) -> io::Result<T> {
        self.disk.perform(operation, act)
    }

    /// Returns `error` if the file is open for reading only; Linux has EBADF or EINVAL, depending
    /// on the call.
    fn check_writable(&self, error: Errno) -> Result<(), Errno> {
        self.writable.then_some(()).ok_or(error)
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.disk.lock().release(self.inode, self.handle);
    }
}

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.lock().file(self.inode).live.bytes.len() as u64)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let (path, len) = (self.path(), bytes.len());
        self.perform(DiskOperation::Read { path, offset, len }, |state, _| {
            let start = usize::try_from(offset).map_err(|_| Errno::INVAL)?;
            let data = &state.file(self.inode).live.bytes;
            let data = data.get(start..).unwrap_or_default();
            let read = data.len().min(bytes.len());
            let (into, _) = bytes.split_at_mut(read);
            into.copy_from_slice(data.split_at(read).0);
            Ok(read)
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let (path, len) = (self.path(), bytes.len());
        self.perform(
            DiskOperation::Write { path, offset, len },
            |state, fault| {
                self.check_writable(Errno::BADF)?;
                state.write(self.inode, offset, bytes, fault)
            },
        )
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let (path, len) = (self.path(), bytes.len());
        self.perform(DiskOperation::Append { path, len }, |state, fault| {
            self.check_writable(Errno::BADF)?;
            let end = state.file(self.inode).live.bytes.len() as u64;
            state.write(self.inode, end, bytes, fault)
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let path = self.path();
        self.perform(DiskOperation::SetLen { path, len }, |state, _| {
            self.check_writable(Errno::INVAL)?;
            state.set_len(self.inode, len)
        })
    }

    fn reserve(&self, up_to: u64) -> io::Result<()> {
        let path = self.path();
        self.perform(DiskOperation::Reserve { path, up_to }, |state, _| {
            self.check_writable(Errno::BADF)?;
            state.reserve(self.inode, up_to)
        })
    }

    fn mode(&self) -> io::Result<u32> {
        Ok(self.disk.lock().file(self.inode).live.mode)
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        let path = self.path();
        self.perform(DiskOperation::SetMode { path, mode }, |state, _| {
            state
                .file(self.inode)
                .change(ContentChange::Mode(mode & 0o7777));
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        let path = self.path();
        self.perform(DiskOperation::SyncData { path }, |state, fault| {
            state.sync(self.inode, false, fault)
        })
    }

    fn sync_all(&self) -> io::Result<()> {
        let path = self.path();
        self.perform(DiskOperation::SyncAll { path }, |state, fault| {
            state.sync(self.inode, true, fault)
        })
    }

    fn is_named(&self) -> io::Result<bool> {
        Ok(self
            .disk
            .lock()
            .tree
            .files()
            .any(|named| named == self.inode))
    }

    fn unlock(&self) -> io::Result<()> {
        self.disk.lock().release(self.inode, self.handle);
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        Ok(self.disk.lock().try_lock(self.inode, self.handle)?)
    }
}
