//! Finds the end of a log by reading its last lines only, and detects bytes that a crash left after
//! them.

use crate::chain::{ChainBreak, ChainEnd};
use crate::line::{MAX_LINE, lines};
use crate::log_files::{LogFiles, read_range};
use candor_disk::{Disk, DiskFile};
use std::io;

/// The most bytes that are written at once. Torn bytes are within the last batch.
pub(crate) const MAX_BATCH: usize = 1024 * 1024;

/// The bytes that are read at the end of a file when a log is opened: the last batch, and a
/// complete line before it.
const WINDOW: u64 = (MAX_BATCH + 2 * MAX_LINE) as u64;

/// The end of the complete lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileEnd {
    pub(crate) end: ChainEnd,
    /// The length of the last line in bytes.
    pub(crate) line: u64,
    /// The length of all complete lines in bytes.
    pub(crate) whole: u64,
    /// True if the last line lacks only its line break.
    pub(crate) lacks_line_break: bool,
    /// The length of the file in bytes.
    pub(crate) length: u64,
}

impl FileEnd {
    /// The end of a file that has not been read.
    pub(crate) const UNKNOWN: FileEnd = FileEnd {
        end: ChainEnd::START,
        line: 0,
        whole: 0,
        lacks_line_break: false,
        length: 0,
    };
}

/// Finds the end of a log whose last file may be torn. Returns `Err` with the end of the intact
/// part if the log is broken: a crash tears neither lines before the last batch nor complete lines
/// out of order.
pub(crate) fn find<D: Disk>(
    files: &LogFiles<D>,
    file: &D::File,
) -> io::Result<Result<FileEnd, ChainEnd>> {
    let length = file.len()?;
    let start = length.saturating_sub(WINDOW);
    let bytes = read_range(file, start, length)?;
    // The window starts in the middle of a line.
    let skipped = match start {
        0 => 0,
        _ => memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1),
    };
    let first = match start {
        0 => Some(end_of_full_files(files)?),
        _ => None,
    };
    let Some(walked) = walk(first, &bytes[skipped..]) else {
        return Ok(Err(ChainEnd::START));
    };
    let whole = start + (skipped + walked.whole) as u64;
    if walked.out_of_order || length - whole > MAX_BATCH as u64 {
        return Ok(Err(walked.end));
    }
    let rest = &bytes[skipped + walked.whole..];
    // A line break in it would be detected: strings contain none.
    let (end, line, lacks_line_break) = match walked.end.extend(rest) {
        Ok(end) => (end, rest.len() as u64 + 1, true),
        Err(_) => (walked.end, walked.line, false),
    };
    Ok(Ok(FileEnd {
        end,
        line,
        whole: if lacks_line_break { length } else { whole },
        lacks_line_break,
        length,
    }))
}

/// A run of lines that follow each other.
struct ChainWalk {
    end: ChainEnd,
    line: u64,
    whole: usize,
    /// True if the next line is complete but out of order.
    out_of_order: bool,
}

/// Follows the chain from an end, or from the first line. Returns `None` if the first line is not a
/// line of a log.
fn walk(from: Option<ChainEnd>, bytes: &[u8]) -> Option<ChainWalk> {
    let mut walked = from.map(|end| ChainWalk {
        end,
        line: 0,
        whole: 0,
        out_of_order: false,
    });
    for (text, line_end) in lines(bytes) {
        let next = match &walked {
            None => ChainEnd::from_line(text),
            Some(walked) => walked.end.extend(text),
        };
        let end = match (next, &mut walked) {
            (Ok(end), _) => end,
            (Err(ChainBreak::OutOfOrder), Some(walked)) => {
                walked.out_of_order = true;
                break;
            }
            (Err(_), _) => break,
        };
        walked = Some(ChainWalk {
            end,
            line: text.len() as u64 + 1,
            whole: line_end,
            out_of_order: false,
        });
    }
    walked
}

/// Returns the end of the chain in the full files.
fn end_of_full_files<D: Disk>(files: &LogFiles<D>) -> io::Result<ChainEnd> {
    let Some(last) = files.full_numbers()?.last().copied() else {
        return Ok(ChainEnd::START);
    };
    let file = files.open_full(last)?;
    let length = file.len()?;
    let bytes = read_range(&file, length.saturating_sub(2 * MAX_LINE as u64), length)?;
    let last = lines(&bytes)
        .last()
        .map(|(text, _)| ChainEnd::from_line(text));
    match last {
        Some(Ok(end)) => Ok(end),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a full file of the log does not end with a line",
        )),
    }
}

/// Finds the end of a file whose earlier end was `known` by reading only what other processes have
/// appended since. Returns `None` if the file does not continue from there, or if nothing was
/// known.
pub(crate) fn find_appended<D: Disk>(
    file: &D::File,
    known: &FileEnd,
) -> io::Result<Option<FileEnd>> {
    let length = file.len()?;
    if known.line == 0 || length < known.length || length - known.length > WINDOW {
        return Ok(None);
    }
    let start = known.length - known.line;
    let bytes = read_range(file, start, length)?;
    let same = lines(&bytes)
        .next()
        .map(|(text, _)| ChainEnd::from_line(text))
        == Some(Ok(known.end));
    let walked = walk(None, &bytes).filter(|walked| same && walked.whole == bytes.len());
    Ok(walked.map(|walked| FileEnd {
        end: walked.end,
        line: walked.line,
        whole: length,
        lacks_line_break: false,
        length,
    }))
}
