//! The end of a log, found by looking at its last lines alone, and what a crash left behind it.

use crate::chain::{ChainBreak, ChainEnd};
use crate::line::{MAX_LINE, lines};
use crate::log_files::{LogFiles, read_range};
use candor_disk::{Disk, DiskFile};
use std::io;

/// How many bytes are written at once. Whatever is torn is within the last of them.
pub(crate) const MAX_BATCH: usize = 1024 * 1024;

/// How much of a file's end is looked at when it is opened: the last batch, and a whole line before it.
const WINDOW: u64 = (MAX_BATCH + 2 * MAX_LINE) as u64;

/// Where a file's lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileEnd {
    pub(crate) end: ChainEnd,
    /// The length of the last of them.
    pub(crate) line: u64,
    /// The length of the whole lines.
    pub(crate) whole: u64,
    /// Whether the last of them lacks nothing but its line break.
    pub(crate) unended: bool,
    /// The length of the file.
    pub(crate) length: u64,
}

impl FileEnd {
    /// Nothing is known yet.
    pub(crate) const UNKNOWN: FileEnd = FileEnd {
        end: ChainEnd::START,
        line: 0,
        whole: 0,
        unended: false,
        length: 0,
    };
}

/// The end of a log whose last file may have been left torn. A line that is broken before the last
/// batch was not torn by a crash, and neither was one that is whole and of another place: the log is
/// broken, and its end says how far it can be trusted.
pub(crate) fn find<D: Disk>(
    files: &LogFiles<D>,
    file: &D::File,
) -> io::Result<Result<FileEnd, ChainEnd>> {
    let length = file.len()?;
    let start = length.saturating_sub(WINDOW);
    let bytes = read_range(file, start, length)?;
    // The first line is cut off by the window.
    let skipped = match start {
        0 => 0,
        _ => memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1),
    };
    let first = match start {
        0 => Some(before(files)?),
        _ => None,
    };
    let Some(walked) = walk(first, &bytes[skipped..]) else {
        return Ok(Err(ChainEnd::START));
    };
    let whole = start + (skipped + walked.whole) as u64;
    if walked.elsewhere || length - whole > MAX_BATCH as u64 {
        return Ok(Err(walked.end));
    }
    let rest = &bytes[skipped + walked.whole..];
    // A line break in it would be noticed: no string of a line has one.
    let (end, line, unended) = match walked.end.then(rest) {
        Ok(end) => (end, rest.len() as u64 + 1, true),
        Err(_) => (walked.end, walked.line, false),
    };
    Ok(Ok(FileEnd {
        end,
        line,
        whole: if unended { length } else { whole },
        unended,
        length,
    }))
}

/// How far lines follow each other.
struct ChainWalk {
    end: ChainEnd,
    line: u64,
    whole: usize,
    /// Whether a whole line of another place is next.
    elsewhere: bool,
}

/// Follows lines from an end on, or from the first of them; nothing where not even that is one.
fn walk(from: Option<ChainEnd>, bytes: &[u8]) -> Option<ChainWalk> {
    let mut walked = from.map(|end| ChainWalk {
        end,
        line: 0,
        whole: 0,
        elsewhere: false,
    });
    for (text, behind) in lines(bytes) {
        let next = match &walked {
            None => ChainEnd::after(text),
            Some(walked) => walked.end.then(text),
        };
        let end = match (next, &mut walked) {
            (Ok(end), _) => end,
            (Err(ChainBreak::OutOfOrder), Some(walked)) => {
                walked.elsewhere = true;
                break;
            }
            (Err(_), _) => break,
        };
        walked = Some(ChainWalk {
            end,
            line: text.len() as u64 + 1,
            whole: behind,
            elsewhere: false,
        });
    }
    walked
}

/// The end of the chain in the full files.
fn before<D: Disk>(files: &LogFiles<D>) -> io::Result<ChainEnd> {
    let Some(last) = files.full()?.last().copied() else {
        return Ok(ChainEnd::START);
    };
    let file = files.open_full(last)?;
    let length = file.len()?;
    let bytes = read_range(&file, length.saturating_sub(2 * MAX_LINE as u64), length)?;
    let last = lines(&bytes).last().map(|(text, _)| ChainEnd::after(text));
    match last {
        Some(Ok(end)) => Ok(end),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a full file of the log does not end with a line",
        )),
    }
}

/// The end of a file whose end was `known`: whatever others have appended since follows it. Nothing
/// where that is not so, or where nothing was known. Reads the last known line and what came after it,
/// however long the file is.
pub(crate) fn glance<D: Disk>(file: &D::File, known: &FileEnd) -> io::Result<Option<FileEnd>> {
    let length = file.len()?;
    if known.line == 0 || length < known.length || length - known.length > WINDOW {
        return Ok(None);
    }
    let start = known.length - known.line;
    let bytes = read_range(file, start, length)?;
    let same = lines(&bytes).next().map(|(text, _)| ChainEnd::after(text)) == Some(Ok(known.end));
    let walked = walk(None, &bytes).filter(|walked| same && walked.whole == bytes.len());
    Ok(walked.map(|walked| FileEnd {
        end: walked.end,
        line: walked.line,
        whole: length,
        unended: false,
        length,
    }))
}
