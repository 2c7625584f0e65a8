//! Finding a line by its number without reading what stands before it: numbers only grow, so halving
//! will do.

use crate::line::{self, MAX_LINE};
use crate::log_files::{LogFile, LogFiles, read_range};
use candor_disk::{Disk, DiskFile};
use memchr::memchr;
use std::io;

/// How close is close enough: from there on lines are read one by one.
const CLOSE: u64 = 64 * 1024;

/// How much is read to find one line, if that is enough.
const LOOK: u64 = 4096;

/// A place at or before a line, where a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinePosition {
    /// Which of the parts.
    pub(crate) part: usize,
    /// Where in it.
    pub(crate) offset: u64,
}

/// A place at or shortly before the line of this number, or before the end where there is none;
/// nothing where something that is no line was met, so that nothing can be said.
pub(crate) fn seek<D: Disk>(
    files: &LogFiles<D>,
    parts: &[LogFile<D>],
    seq: u64,
) -> io::Result<Option<LinePosition>> {
    let (mut first, mut behind) = (0, parts.len());
    while first + 1 < behind {
        let middle = first + (behind - first) / 2;
        let seen = parts[middle].with(files, |file| number_at(file, 0, file.len()?))?;
        match seen {
            NumberAt::Number(number) if number <= seq => first = middle,
            NumberAt::Number(_) | NumberAt::Nothing => behind = middle,
            NumberAt::NotALine => return Ok(None),
        }
    }
    let Some(part) = parts.get(first) else {
        return Ok(Some(LinePosition { part: 0, offset: 0 }));
    };
    let offset = part.with(files, |file| within(file, seq))?;
    Ok(offset.map(|offset| LinePosition {
        part: first,
        offset,
    }))
}

/// The same within one file.
fn within(file: &impl DiskFile, seq: u64) -> io::Result<Option<u64>> {
    let length = file.len()?;
    let (mut before, mut behind) = (0, length);
    while behind - before > CLOSE {
        let middle = before + (behind - before) / 2;
        let Some(begin) = line_after(file, middle, length)? else {
            return Ok(None);
        };
        match number_at(file, begin, length)? {
            NumberAt::Number(number) if number <= seq && begin < behind => before = begin,
            NumberAt::Number(_) | NumberAt::Nothing => behind = middle,
            NumberAt::NotALine => return Ok(None),
        }
    }
    Ok(Some(before))
}

/// Where the first line behind a place begins; the end where none does, nothing where a line would be
/// too long.
fn line_after(file: &impl DiskFile, place: u64, length: u64) -> io::Result<Option<u64>> {
    let found = line_break(file, place, length)?;
    Ok(match found {
        Some((_, at)) => Some(place + at as u64 + 1),
        None if length - place > MAX_LINE as u64 => None,
        None => Some(length),
    })
}

enum NumberAt {
    Number(u64),
    NotALine,
    Nothing,
}

/// The number of the line that begins at a place.
fn number_at(file: &impl DiskFile, place: u64, length: u64) -> io::Result<NumberAt> {
    Ok(match line_break(file, place, length)? {
        Some((bytes, at)) => line::seq(&bytes[..at]).map_or(NumberAt::NotALine, NumberAt::Number),
        None if length - place > MAX_LINE as u64 => NumberAt::NotALine,
        None => NumberAt::Nothing,
    })
}

/// The bytes from a place on up to the first line break and a little more, and where that is.
fn line_break(
    file: &impl DiskFile,
    place: u64,
    length: u64,
) -> io::Result<Option<(Vec<u8>, usize)>> {
    let most = length.min(place + MAX_LINE as u64);
    let mut look = LOOK;
    loop {
        let end = most.min(place + look);
        let bytes = read_range(file, place, end)?;
        if let Some(at) = memchr(b'\n', &bytes) {
            return Ok(Some((bytes, at)));
        }
        if end == most {
            return Ok(None);
        }
        look *= 8;
    }
}
