//! The files of a log: `NAME` is the current file, `NAME.000001` and so on are full, `NAME.lock` is
//! locked by the writer, `NAME.torn.1` and so on contain bytes torn by a crash,
//! `NAME.quarantined.1` and so on are logs that the owner has quarantined.

use crate::line::MAX_LINE;
use candor_disk::{Disk, DiskFile, Open};
use std::io;
use std::time::Duration;

/// The mode of new files: only the owner reads a log.
pub(crate) const MODE: u32 = 0o600;

/// The time between two attempts to get the lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// The maximum number of listings of files that change while they are listed.
const LISTINGS: usize = 100;

/// The files of one log.
#[derive(Debug)]
pub(crate) struct LogFiles<D> {
    pub(crate) disk: D,
    pub(crate) name: String,
}

/// A file with lines.
#[derive(Debug)]
pub(crate) enum LogFile<D: Disk> {
    Full(u32),
    Current(D::File),
}

impl<D: Disk> LogFile<D> {
    /// Opens the file for reading.
    pub(crate) fn open(self, files: &LogFiles<D>) -> io::Result<D::File> {
        match self {
            LogFile::Full(number) => files.open_full(number),
            LogFile::Current(file) => Ok(file),
        }
    }

    /// Calls `look` with the file, opened for reading.
    pub(crate) fn with<T>(
        &self,
        files: &LogFiles<D>,
        look: impl FnOnce(&D::File) -> io::Result<T>,
    ) -> io::Result<T> {
        match self {
            LogFile::Full(number) => look(&files.open_full(*number)?),
            LogFile::Current(file) => look(file),
        }
    }
}

impl<D: Disk> LogFiles<D> {
    pub(crate) fn new(disk: D, name: &str) -> Self {
        LogFiles {
            disk,
            name: name.to_owned(),
        }
    }

    /// Opens the current file for writing. Creates it if it is missing.
    pub(crate) fn open_current(&self) -> io::Result<D::File> {
        let file = match self.disk.open(&self.name, Open::Edit) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.disk.open(&self.name, Open::Create(MODE))?
            }
            opened => opened?,
        };
        if !file.is_empty()? {
            return Ok(file);
        }
        // The process that created it may have died before its name was durable.
        match self.disk.sync_dir("") {
            Ok(()) => Ok(file),
            Err(error) => {
                // A name whose sync failed is never certain to be durable: the next call creates it
                // again.
                self.disk.unlink(&self.name)?;
                Err(error)
            }
        }
    }

    /// Opens the current file for reading. Returns `None` if it is missing.
    pub(crate) fn open_current_for_reading(&self) -> io::Result<Option<D::File>> {
        match self.disk.open(&self.name, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Lists every file with lines, the oldest first, as of one moment.
    pub(crate) fn list(&self) -> io::Result<Vec<LogFile<D>>> {
        for _ in 0..LISTINGS {
            let full = self.full_numbers()?;
            let current = self.open_current_for_reading()?;
            // A file that became full in between would be listed twice, or not at all.
            if self.full_numbers()? == full {
                let full = full.into_iter().map(LogFile::Full);
                return Ok(full.chain(current.map(LogFile::Current)).collect());
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Returns the numbers of the full files, the oldest first.
    pub(crate) fn full_numbers(&self) -> io::Result<Vec<u32>> {
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
        let is_number = digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| is_number)
    }

    pub(crate) fn open_full(&self, number: u32) -> io::Result<D::File> {
        self.disk.open(self.full_name(number), Open::Read)
    }

    pub(crate) fn full_name(&self, number: u32) -> String {
        format!("{}.{number:06}", self.name)
    }

    /// Renames the current file to the next full one.
    pub(crate) fn rotate(&self) -> io::Result<()> {
        let next = self.full_numbers()?.last().map_or(1, |last| last + 1);
        self.disk.rename_new(&self.name, self.full_name(next))?;
        self.disk.sync_dir("")
    }

    /// Returns the first line of the log without its line break, or `None` if there is none.
    pub(crate) fn first_line(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(oldest) = self.list()?.into_iter().next() else {
            return Ok(None);
        };
        let bytes = oldest.with(self, |file| read_range(file, 0, MAX_LINE as u64))?;
        let end = memchr::memchr(b'\n', &bytes);
        Ok(end.map(|end| bytes[..end].to_vec()))
    }

    fn lock_as(&self, how: Open) -> io::Result<Option<D::File>> {
        let file = self.disk.open(format!("{}.lock", self.name), how)?;
        Ok(file.try_lock()?.then_some(file))
    }

    /// Locks the log. Returns `None` if another process holds the lock for longer than `patience`.
    /// Dropping the file releases the lock.
    pub(crate) fn lock_within(&self, patience: Duration) -> io::Result<Option<D::File>> {
        self.lock_as_within(Open::Create(MODE), patience)
    }

    /// As [`LogFiles::lock_within`], for readers: a missing lock file is an error and is not
    /// created.
    pub(crate) fn lock_for_reading_within(
        &self,
        patience: Duration,
    ) -> io::Result<Option<D::File>> {
        self.lock_as_within(Open::Edit, patience)
    }

    fn lock_as_within(&self, how: Open, patience: Duration) -> io::Result<Option<D::File>> {
        let mut waited = Duration::ZERO;
        loop {
            if let Some(lock) = self.lock_as(how)? {
                return Ok(Some(lock));
            }
            if waited >= patience {
                return Ok(None);
            }
            std::thread::sleep(RETRY_INTERVAL);
            waited += RETRY_INTERVAL;
        }
    }

    /// Stores torn bytes durably in a file of their own.
    pub(crate) fn store_torn(&self, bytes: &[u8]) -> io::Result<()> {
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

/// Reads the bytes from `from` to `to`; fewer if the file ends before.
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
