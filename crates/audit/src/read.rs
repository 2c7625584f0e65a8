//! Reads lines of a log by number or from the end, without reading the rest. A line without a line
//! break is still being written and is left out.

use crate::find_line::{LinePosition, find_line};
use crate::line;
use crate::line_scanner::{LineScanner, ScannedLine};
use crate::log_files::{LogFile, LogFiles, read_range};
use candor_disk::{Disk, DiskFile};
use std::io;

/// The bytes at the end of a file that are read first.
const WINDOW: u64 = 64 * 1024;

/// One line of a log, not verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Its number, or `None` if it is not a line of a log.
    pub seq: Option<u64>,
    /// Its bytes, without the line break.
    pub bytes: Vec<u8>,
}

impl LogLine {
    fn of(bytes: &[u8]) -> LogLine {
        LogLine {
            seq: line::seq(bytes),
            bytes: bytes.to_vec(),
        }
    }
}

/// Consecutive lines of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePage {
    pub lines: Vec<LogLine>,
    /// True if more lines follow.
    pub more: bool,
}

/// The size of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSize {
    pub files: usize,
    pub bytes: u64,
}

/// Returns the size of the log of this name. It has no files if it does not exist.
pub fn log_size<D: Disk>(disk: D, name: &str) -> io::Result<LogSize> {
    let files = LogFiles::new(disk, name);
    let parts = files.list()?;
    let mut bytes = 0;
    for part in &parts {
        bytes += part.with(&files, DiskFile::len)?;
    }
    Ok(LogSize {
        files: parts.len(),
        bytes,
    })
}

/// Reads the lines of the log of this name, starting with number `from`. They are not verified; see
/// [`verify`](crate::verify).
pub fn lines<D: Disk>(disk: D, name: &str, from: u64) -> io::Result<LogLineReader<D>> {
    let files = LogFiles::new(disk, name);
    let parts = files.list()?;
    let start = match from {
        0 | 1 => None,
        _ => find_line(&files, &parts, from)?,
    };
    let LinePosition { file_index, offset } = start.unwrap_or(LinePosition {
        file_index: 0,
        offset: 0,
    });
    let mut parts = parts.into_iter();
    parts.by_ref().take(file_index).for_each(drop);
    Ok(LogLineReader {
        file: None,
        files,
        parts,
        scanner: LineScanner::at(offset),
        from,
    })
}

/// Reads at most `count` lines after number `after`, and at most `bytes` bytes unless the first
/// line alone is longer.
pub fn page<D: Disk>(
    disk: D,
    name: &str,
    after: u64,
    count: usize,
    bytes: usize,
) -> io::Result<LinePage> {
    let mut page = LinePage {
        lines: Vec::new(),
        more: false,
    };
    let mut taken = 0;
    for line in lines(disk, name, after.saturating_add(1))? {
        let line = line?;
        taken += line.bytes.len();
        if page.lines.len() >= count || (taken > bytes && !page.lines.is_empty()) {
            page.more = true;
            break;
        }
        page.lines.push(line);
    }
    Ok(page)
}

/// Iterates over the lines of a log.
#[derive(Debug)]
pub struct LogLineReader<D: Disk> {
    files: LogFiles<D>,
    parts: std::vec::IntoIter<LogFile<D>>,
    file: Option<D::File>,
    scanner: LineScanner,
    /// Lines before this number are skipped.
    from: u64,
}

impl<D: Disk> LogLineReader<D> {
    fn read_next(&mut self) -> io::Result<Option<LogLine>> {
        loop {
            let file = match &self.file {
                Some(file) => file,
                None => match self.parts.next() {
                    None => return Ok(None),
                    Some(part) => self.file.insert(part.open(&self.files)?),
                },
            };
            match self.scanner.next(file)? {
                ScannedLine::Line(bytes) => {
                    if self.from > 0 && line::seq(bytes).is_none_or(|seq| seq < self.from) {
                        continue;
                    }
                    self.from = 0;
                    return Ok(Some(LogLine::of(bytes)));
                }
                ScannedLine::TooLong => {
                    let long = "a line is longer than a line may be";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, long));
                }
                ScannedLine::End { .. } => {
                    self.file = None;
                    self.scanner.restart();
                }
            }
        }
    }
}

impl<D: Disk> Iterator for LogLineReader<D> {
    type Item = io::Result<LogLine>;

    fn next(&mut self) -> Option<io::Result<LogLine>> {
        let next = self.read_next().transpose();
        if let None | Some(Err(_)) = next {
            self.file = None;
            self.parts = Vec::new().into_iter();
        }
        next
    }
}

/// Reads the last lines of the log of this name: at most `count` lines, from at most `bytes` bytes.
pub fn last_lines<D: Disk>(
    disk: D,
    name: &str,
    count: usize,
    bytes: u64,
) -> io::Result<Vec<LogLine>> {
    let files = LogFiles::new(disk, name);
    let mut last: Vec<LogLine> = Vec::new();
    let mut left = bytes;
    for part in files.list()?.into_iter().rev() {
        let file = part.open(&files)?;
        let (mut lines, read) = last_lines_of(&file, count - last.len(), left)?;
        left = left.saturating_sub(read);
        lines.append(&mut last);
        last = lines;
        if last.len() >= count || left == 0 {
            break;
        }
    }
    Ok(last)
}

/// Reads the last lines of a file. Returns them with the number of bytes that were read.
fn last_lines_of(file: &impl DiskFile, count: usize, most: u64) -> io::Result<(Vec<LogLine>, u64)> {
    let length = file.len()?;
    let mut window = WINDOW.min(most);
    loop {
        let start = length.saturating_sub(window);
        let bytes = read_range(file, start, length)?;
        let all = line::lines(&bytes).map(|(text, _)| text);
        // The window starts in the middle of a line.
        let whole: Vec<&[u8]> = all.skip(usize::from(start > 0)).collect();
        if whole.len() >= count || start == 0 || window >= most {
            let first = whole.len().saturating_sub(count);
            let lines = whole[first..]
                .iter()
                .map(|text| LogLine::of(text))
                .collect();
            return Ok((lines, length - start));
        }
        window = (window * 4).min(most);
    }
}
