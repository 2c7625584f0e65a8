//! The real disk with counters, for tests and measurements of the costs of durable code.

use candor_disk::{Disk, DiskFile, Open, RealDisk, RealFile};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

#[derive(Debug, Default)]
pub struct DiskCounts {
    syncs: AtomicU64,
    bytes_read: AtomicU64,
    data_syncs_held: AtomicBool,
    data_sync_waits: AtomicBool,
}

impl DiskCounts {
    pub fn syncs(&self) -> u64 {
        self.syncs.load(SeqCst)
    }

    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(SeqCst)
    }

    /// While they are held, no `sync_data` returns.
    pub fn hold_data_syncs(&self, hold: bool) {
        self.data_syncs_held.store(hold, SeqCst);
    }

    /// Returns true if a `sync_data` has begun and is held.
    pub fn is_data_sync_waiting(&self) -> bool {
        self.data_sync_waits.load(SeqCst)
    }

    fn count_sync(&self) {
        self.syncs.fetch_add(1, SeqCst);
    }

    fn wait_while_held(&self) {
        while self.data_syncs_held.load(SeqCst) {
            self.data_sync_waits.store(true, SeqCst);
            std::thread::yield_now();
        }
        self.data_sync_waits.store(false, SeqCst);
    }
}

/// The real disk with counters. Clones share them.
#[derive(Debug, Clone)]
pub struct CountingDisk {
    disk: RealDisk,
    counts: Arc<DiskCounts>,
}

impl CountingDisk {
    pub fn at(path: impl AsRef<Path>) -> io::Result<CountingDisk> {
        Ok(CountingDisk {
            disk: RealDisk::at(path)?,
            counts: Arc::default(),
        })
    }

    pub fn counts(&self) -> &Arc<DiskCounts> {
        &self.counts
    }
}

impl Disk for CountingDisk {
    type File = CountingFile;

    fn open(&self, path: impl AsRef<Path>, how: Open) -> io::Result<CountingFile> {
        Ok(CountingFile {
            file: self.disk.open(path, how)?,
            counts: Arc::clone(&self.counts),
        })
    }

    fn create_dir(&self, path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
        self.disk.create_dir(path, mode)
    }

    fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn rename_new(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        self.disk.rename_new(from, to)
    }

    fn exchange(&self, one: impl AsRef<Path>, other: impl AsRef<Path>) -> io::Result<()> {
        self.disk.exchange(one, other)
    }

    fn unlink(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.disk.unlink(path)
    }

    fn remove_dir(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.disk.remove_dir(path)
    }

    fn sync_dir(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.counts.count_sync();
        self.disk.sync_dir(path)
    }

    fn list(&self, path: impl AsRef<Path>) -> io::Result<Vec<OsString>> {
        self.disk.list(path)
    }
}

#[derive(Debug)]
pub struct CountingFile {
    file: RealFile,
    counts: Arc<DiskCounts>,
}

impl DiskFile for CountingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.file.read_at(bytes, offset)?;
        self.counts.bytes_read.fetch_add(read as u64, SeqCst);
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        self.file.append(bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn reserve(&self, up_to: u64) -> io::Result<()> {
        self.file.reserve(up_to)
    }

    fn mode(&self) -> io::Result<u32> {
        self.file.mode()
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.file.set_mode(mode)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.counts.count_sync();
        self.counts.wait_while_held();
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.counts.count_sync();
        self.file.sync_all()
    }

    fn is_named(&self) -> io::Result<bool> {
        self.file.is_named()
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }
}
