//! The files of a log: `NAME` is being written, `NAME.000001` and so on are full, `NAME.lock` is held
//! by whoever writes, `NAME.torn.1` and so on hold what a crash left unfinished.

use candor_disk::{Disk, DiskFile, Open};
use std::io;

/// The mode of new files: a log is for its owner.
const MODE: u32 = 0o600;

/// A log's files on a disk.
#[derive(Debug)]
pub(crate) struct Files<D> {
    pub(crate) disk: D,
    name: String,
}

impl<D: Disk> Files<D> {
    pub(crate) fn new(disk: D, name: &str) -> Self {
        Files {
            disk,
            name: name.to_owned(),
        }
    }

    /// The file that is being written; it is made where it is missing.
    pub(crate) fn current(&self) -> io::Result<D::File> {
        let file = match self.disk.open(&self.name, Open::Edit) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.disk.open(&self.name, Open::Create(MODE))?
            }
            opened => opened?,
        };
        if !file.is_empty()? {
            return Ok(file);
        }
        // Whoever made it may have died before its name was on the disk.
        match self.disk.sync_dir("") {
            Ok(()) => Ok(file),
            Err(error) => {
                // A name whose sync failed is never sure again: the next one makes it anew.
                self.disk.unlink(&self.name)?;
                Err(error)
            }
        }
    }

    /// The same, to be read; nothing where it is missing.
    pub(crate) fn to_read(&self) -> io::Result<Option<D::File>> {
        match self.disk.open(&self.name, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// The numbers of the full files, the oldest first.
    pub(crate) fn full(&self) -> io::Result<Vec<u32>> {
        let mut numbers = Vec::new();
        for name in self.disk.list("")? {
            let number = name.to_str().and_then(|name| self.number(name));
            numbers.extend(number);
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn number(&self, name: &str) -> Option<u32> {
        let digits = name.strip_prefix(&self.name)?.strip_prefix('.')?;
        let fine = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| fine)
    }

    pub(crate) fn open_full(&self, number: u32) -> io::Result<D::File> {
        self.disk.open(self.full_name(number), Open::Read)
    }

    fn full_name(&self, number: u32) -> String {
        format!("{}.{number:06}", self.name)
    }

    /// Puts the file that is being written aside as full.
    pub(crate) fn rotate(&self) -> io::Result<()> {
        let next = self.full()?.last().map_or(1, |last| last + 1);
        self.disk.rename_new(&self.name, self.full_name(next))?;
        self.disk.sync_dir("")
    }

    /// The lock of the log, if nobody has it; it is free again when this is dropped.
    pub(crate) fn lock(&self) -> io::Result<Option<D::File>> {
        let file = self
            .disk
            .open(format!("{}.lock", self.name), Open::Create(MODE))?;
        Ok(file.try_lock()?.then_some(file))
    }

    /// Keeps what a crash left, for good.
    pub(crate) fn keep_torn(&self, bytes: &[u8]) -> io::Result<()> {
        for number in 1..u32::MAX {
            let name = format!("{}.torn.{number}", self.name);
            let file = match self.disk.open(name, Open::CreateNew(MODE)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            file.append_all(bytes)?;
            file.sync_all()?;
            return self.disk.sync_dir("");
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// Reads the bytes from one place to another; fewer where the file ends before.
pub(crate) fn read_range(file: &impl DiskFile, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(to.saturating_sub(from)).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match file.read_at(&mut bytes[filled..], from + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
