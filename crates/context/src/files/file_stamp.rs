//! Stamps of files: metadata that shows, without reading a file, that it is unchanged.

use crate::format::codec::{ByteReader, CorruptFile};
use candor_fault::Timestamp;
use rustix::fs::Stat;
use std::time::Duration;

/// Size, times and inode of a file. Two equal stamps of one name mean an unchanged file, if the first
/// was taken at least two clock ticks after the last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    size: u64,
    mtime: i64,
    ctime: i64,
    inode: u64,
}

/// The encoded size of a stamp.
pub(crate) const STAMP_BYTES: usize = 32;

/// Two ticks of the slowest clock that Linux stamps files with (100 Hz), in nanoseconds.
const TWO_TICKS: i64 = 20_000_000;

/// The time between two checks whether a file that was just written is settled.
pub(crate) const SETTLING: Duration = Duration::from_millis(3);

/// The number of such checks.
pub(crate) const SETTLING_TRIES: usize = 60;

impl FileStamp {
    pub(crate) fn of(stat: &Stat) -> FileStamp {
        FileStamp {
            size: stat.st_size.unsigned_abs(),
            mtime: nanoseconds(stat.st_mtime, stat.st_mtime_nsec as i64),
            ctime: nanoseconds(stat.st_ctime, stat.st_ctime_nsec as i64),
            inode: stat.st_ino,
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn inode(&self) -> u64 {
        self.inode
    }

    /// Returns true if it is the same file with the same content. The number of links, which changes ctime,
    /// may differ.
    pub(crate) fn is_same_but_for_links(&self, before: &FileStamp) -> bool {
        (self.size, self.mtime, self.inode) == (before.size, before.mtime, before.inode)
    }

    /// Returns true if a change after `now` must change the times.
    pub(crate) fn is_settled(&self, now: Timestamp) -> bool {
        let now = i64::try_from(now.as_nanosecond()).unwrap_or(i64::MAX);
        now.saturating_sub(self.ctime.max(self.mtime)) >= TWO_TICKS
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.size.to_le_bytes());
        out.extend_from_slice(&self.mtime.to_le_bytes());
        out.extend_from_slice(&self.ctime.to_le_bytes());
        out.extend_from_slice(&self.inode.to_le_bytes());
    }

    pub(crate) fn read(reading: &mut ByteReader<'_>) -> Result<FileStamp, CorruptFile> {
        Ok(FileStamp {
            size: reading.u64()?,
            mtime: reading.i64()?,
            ctime: reading.i64()?,
            inode: reading.u64()?,
        })
    }
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_stamp_is_not_settled() {
        let at = |nanoseconds| Timestamp::from_nanosecond(nanoseconds).unwrap();
        let mut stamp = FileStamp {
            size: 1,
            mtime: 0,
            ctime: 1_000_000_000,
            inode: 7,
        };
        assert!(stamp.is_settled(at(1_020_000_000)));
        assert!(!stamp.is_settled(at(1_019_999_999)));
        assert!(!stamp.is_settled(at(500_000_000)));
        // A time of change that was set into the future.
        stamp.mtime = 9_000_000_000;
        assert!(!stamp.is_settled(at(1_020_000_000)));
    }

    #[test]
    fn stamp_round_trips() {
        let stamp = FileStamp {
            size: u64::MAX,
            mtime: -5,
            ctime: i64::MAX,
            inode: 3,
        };
        let mut out = Vec::new();
        stamp.write(&mut out);
        assert_eq!(out.len(), STAMP_BYTES);
        assert_eq!(FileStamp::read(&mut ByteReader(&out)), Ok(stamp));
        assert_eq!(
            FileStamp::read(&mut ByteReader(&out[1..])),
            Err(CorruptFile)
        );
    }
}
