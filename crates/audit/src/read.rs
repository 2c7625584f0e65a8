//! Reading: the lines of a log as they stand, from a number on or from the end, without a look at the
//! rest. A line that is still being written is none yet.

use crate::find_line::{LinePosition, seek};
use crate::line;
use crate::line_scanner::{LineScanner, ScannedLine};
use crate::log_files::{LogFile, LogFiles, read_range};
use candor_disk::{Disk, DiskFile};
use std::io;

/// How much of a file's end is looked at first.
const WINDOW: u64 = 64 * 1024;

/// A line as it stands in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Its number; nothing where it is no line of a log.
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

/// Some lines of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePage {
    /// The lines, in their order.
    pub lines: Vec<LogLine>,
    /// Whether others follow.
    pub more: bool,
}

/// How large a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSize {
    /// How many files it has.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// How large the log of this name is; no files where there is none.
pub fn log_size<D: Disk>(disk: D, name: &str) -> io::Result<LogSize> {
    let files = LogFiles::new(disk, name);
    let parts = files.parts()?;
    let mut bytes = 0;
    for part in &parts {
        bytes += part.with(&files, DiskFile::len)?;
    }
    Ok(LogSize {
        files: parts.len(),
        bytes,
    })
}

/// The lines of the log of this name from a number on. Nothing is proved about them: that is
/// [`verify`](crate::verify)'s.
pub fn lines<D: Disk>(disk: D, name: &str, from: u64) -> io::Result<LineReader<D>> {
    let files = LogFiles::new(disk, name);
    let parts = files.parts()?;
    let start = match from {
        0 | 1 => None,
        _ => seek(&files, &parts, from)?,
    };
    let LinePosition { part, offset } = start.unwrap_or(LinePosition { part: 0, offset: 0 });
    let mut parts = parts.into_iter();
    parts.by_ref().take(part).for_each(drop);
    Ok(LineReader {
        file: None,
        files,
        parts,
        stream: LineScanner::at(offset),
        from,
    })
}

/// At most so many lines after a number, and no more bytes than these unless one line alone has more.
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

/// The lines of a log, one after the other.
#[derive(Debug)]
pub struct LineReader<D: Disk> {
    files: LogFiles<D>,
    parts: std::vec::IntoIter<LogFile<D>>,
    file: Option<D::File>,
    stream: LineScanner,
    /// Lines before this number are passed over.
    from: u64,
}

impl<D: Disk> LineReader<D> {
    fn step(&mut self) -> io::Result<Option<LogLine>> {
        loop {
            let file = match &self.file {
                Some(file) => file,
                None => match self.parts.next() {
                    None => return Ok(None),
                    Some(part) => self.file.insert(part.open(&self.files)?),
                },
            };
            match self.stream.next(file)? {
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
                    self.stream.restart();
                }
            }
        }
    }
}

impl<D: Disk> Iterator for LineReader<D> {
    type Item = io::Result<LogLine>;

    fn next(&mut self) -> Option<io::Result<LogLine>> {
        let step = self.step().transpose();
        if let None | Some(Err(_)) = step {
            self.file = None;
            self.parts = Vec::new().into_iter();
        }
        step
    }
}

/// The last lines of the log of this name: so many at most, and from so many bytes at most.
pub fn last_lines<D: Disk>(
    disk: D,
    name: &str,
    count: usize,
    bytes: u64,
) -> io::Result<Vec<LogLine>> {
    let files = LogFiles::new(disk, name);
    let mut found: Vec<LogLine> = Vec::new();
    let mut left = bytes;
    for part in files.parts()?.into_iter().rev() {
        let file = part.open(&files)?;
        let (mut lines, read) = last_lines_of(&file, count - found.len(), left)?;
        left = left.saturating_sub(read);
        lines.append(&mut found);
        found = lines;
        if found.len() >= count || left == 0 {
            break;
        }
    }
    Ok(found)
}

/// The last lines of a file, and how many bytes were looked at for them.
fn last_lines_of(file: &impl DiskFile, count: usize, most: u64) -> io::Result<(Vec<LogLine>, u64)> {
    let length = file.len()?;
    let mut window = WINDOW.min(most);
    loop {
        let start = length.saturating_sub(window);
        let bytes = read_range(file, start, length)?;
        let all = line::lines(&bytes).map(|(text, _)| text);
        // The first one is cut off by the window.
        let whole: Vec<&[u8]> = all.skip(usize::from(start > 0)).collect();
        if whole.len() >= count || start == 0 || window >= most {
            let wanted = whole.len().saturating_sub(count);
            let lines = whole[wanted..]
                .iter()
                .map(|text| LogLine::of(text))
                .collect();
            return Ok((lines, length - start));
        }
        window = (window * 4).min(most);
    }
}
