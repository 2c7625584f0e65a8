//! Finds a line by its number with a binary search over the files and their bytes.

use crate::line::{self, MAX_LINE};
use crate::log_files::{LogFile, LogFiles, read_range};
use candor_disk::{Disk, DiskFile};
use memchr::memchr;
use std::io;

/// The search ends when this many bytes are left; lines are then read one by one.
const SCAN_BELOW: u64 = 64 * 1024;

/// The bytes that are read at first to find one line.
const FIRST_READ: u64 = 4096;

/// The start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinePosition {
    /// The index of the file.
    pub(crate) file_index: usize,
    pub(crate) offset: u64,
}

/// Returns the start of a line at or shortly before the line with this number. Returns `None` if
/// the search meets bytes that are not a line.
pub(crate) fn find_line<D: Disk>(
    files: &LogFiles<D>,
    parts: &[LogFile<D>],
    seq: u64,
) -> io::Result<Option<LinePosition>> {
    let (mut first, mut end) = (0, parts.len());
    while first + 1 < end {
        let middle = first + (end - first) / 2;
        let seen = parts[middle].with(files, |file| number_at(file, 0, file.len()?))?;
        match seen {
            NumberAt::Number(number) if number <= seq => first = middle,
            NumberAt::Number(_) | NumberAt::Nothing => end = middle,
            NumberAt::NotALine => return Ok(None),
        }
    }
    let Some(part) = parts.get(first) else {
        return Ok(Some(LinePosition {
            file_index: 0,
            offset: 0,
        }));
    };
    let offset = part.with(files, |file| find_in_file(file, seq))?;
    Ok(offset.map(|offset| LinePosition {
        file_index: first,
        offset,
    }))
}

/// Searches within one file.
fn find_in_file(file: &impl DiskFile, seq: u64) -> io::Result<Option<u64>> {
    let length = file.len()?;
    let (mut before, mut end) = (0, length);
    while end - before > SCAN_BELOW {
        let middle = before + (end - before) / 2;
        let Some(begin) = line_after(file, middle, length)? else {
            return Ok(None);
        };
        match number_at(file, begin, length)? {
            NumberAt::Number(number) if number <= seq && begin < end => before = begin,
            NumberAt::Number(_) | NumberAt::Nothing => end = middle,
            NumberAt::NotALine => return Ok(None),
        }
    }
    Ok(Some(before))
}

/// Returns the start of the first line after `offset`, or the end of the file. Returns `None` if a
/// line is too long.
fn line_after(file: &impl DiskFile, offset: u64, length: u64) -> io::Result<Option<u64>> {
    let found = line_break(file, offset, length)?;
    Ok(match found {
        Some((_, at)) => Some(offset + at as u64 + 1),
        None if length - offset > MAX_LINE as u64 => None,
        None => Some(length),
    })
}

enum NumberAt {
    Number(u64),
    NotALine,
    Nothing,
}

/// Reads the number of the line that starts at `offset`.
fn number_at(file: &impl DiskFile, offset: u64, length: u64) -> io::Result<NumberAt> {
    Ok(match line_break(file, offset, length)? {
        Some((bytes, at)) => line::seq(&bytes[..at]).map_or(NumberAt::NotALine, NumberAt::Number),
        None if length - offset > MAX_LINE as u64 => NumberAt::NotALine,
        None => NumberAt::Nothing,
    })
}

/// Reads from `offset` up to the first line break or further. Returns the bytes and the index of
/// that line break.
fn line_break(
    file: &impl DiskFile,
    offset: u64,
    length: u64,
) -> io::Result<Option<(Vec<u8>, usize)>> {
    let most = length.min(offset + MAX_LINE as u64);
    let mut length_read = FIRST_READ;
    loop {
        let end = most.min(offset + length_read);
        let bytes = read_range(file, offset, end)?;
        if let Some(at) = memchr(b'\n', &bytes) {
            return Ok(Some((bytes, at)));
        }
        if end == most {
            return Ok(None);
        }
        length_read *= 8;
    }
}
