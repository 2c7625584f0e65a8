//! The files of a log: `NAME` is being written, `NAME.000001` and so on are full, `NAME.lock` is held
//! by whoever writes, `NAME.torn.1` and so on hold what a crash left unfinished, `NAME.quarantined.1`
//! and so on are logs that a person has put aside.

use crate::line::MAX_LINE;
use candor_disk::{Disk, DiskFile, Open};
use std::io;
use std::time::Duration;

/// The mode of new files: a log is for its owner.
pub(crate) const MODE: u32 = 0o600;

/// How often the lock is asked for.
const ASK_AGAIN: Duration = Duration::from_millis(2);

/// How often the files are listed again because they changed meanwhile.
const LISTINGS: usize = 100;

/// A log's files on a disk.
#[derive(Debug)]
pub(crate) struct LogFiles<D> {
    pub(crate) disk: D,
    pub(crate) name: String,
}

/// A file with lines: a full one, or the one that is being written.
#[derive(Debug)]
pub(crate) enum LogFile<D: Disk> {
    Full(u32),
    Current(D::File),
}

impl<D: Disk> LogFile<D> {
    /// The file, to be read.
    pub(crate) fn open(self, files: &LogFiles<D>) -> io::Result<D::File> {
        match self {
            LogFile::Full(number) => files.open_full(number),
            LogFile::Current(file) => Ok(file),
        }
    }

    /// Looks into the file.
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

    /// Every file with lines, the oldest first, as they stand at one moment.
    pub(crate) fn parts(&self) -> io::Result<Vec<LogFile<D>>> {
        for _ in 0..LISTINGS {
            let full = self.full()?;
            let current = self.to_read()?;
            // A file that became full in between would be there twice, or not at all.
            if self.full()? == full {
                let full = full.into_iter().map(LogFile::Full);
                return Ok(full.chain(current.map(LogFile::Current)).collect());
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
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

    pub(crate) fn full_name(&self, number: u32) -> String {
        format!("{}.{number:06}", self.name)
    }

    /// Puts the file that is being written aside as full.
    pub(crate) fn rotate(&self) -> io::Result<()> {
        let next = self.full()?.last().map_or(1, |last| last + 1);
        self.disk.rename_new(&self.name, self.full_name(next))?;
        self.disk.sync_dir("")
    }

    /// The first line of the log, without its line break; nothing where there is none.
    pub(crate) fn first_line(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(oldest) = self.parts()?.into_iter().next() else {
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

    /// The lock of the log; nothing where somebody else had it for so long. It is free again when this
    /// is dropped.
    pub(crate) fn lock_within(&self, patience: Duration) -> io::Result<Option<D::File>> {
        self.lock_as_within(Open::Create(MODE), patience)
    }

    /// The same for one who only reads: a lock that is not there is nobody's, and is not made.
    pub(crate) fn calm_within(&self, patience: Duration) -> io::Result<Option<D::File>> {
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
            std::thread::sleep(ASK_AGAIN);
            waited += ASK_AGAIN;
        }
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
