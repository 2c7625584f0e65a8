//! Verifies every line of every file in bounded memory, and compares the log with its checkpoints.

use crate::append::AppendReceipt;
use crate::chain::{ChainBreak, ChainEnd};
use crate::checkpoint::Checkpoint;
use crate::find_line::{LinePosition, find_line};
use crate::line;
use crate::line_scanner::{LineScanner, ScannedLine};
use crate::log_files::{LogFile, LogFiles};
use crate::retire::LogAnchor;
use candor_disk::{Disk, DiskFile};
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Duration;

/// The longest time to wait for a writer that may be in the middle of a line.
const PATIENCE: Duration = Duration::from_secs(5);

/// The first flaw of a log, with the number of the affected line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFlaw {
    /// The bytes are not a line of a log.
    NotALine(u64),
    /// The content of the line does not match its hash.
    Changed(u64),
    /// The line is missing: another one is in its position.
    Missing(u64),
    /// The last line is incomplete.
    Torn(u64),
    /// The line is missing at the end: a checkpoint names it or a later one.
    Truncated(u64),
    /// The line is not the one that a checkpoint names. Lines before it, as far back as the
    /// previous checkpoint, may have been rewritten too.
    Rewritten(u64),
}

impl LogFlaw {
    /// Returns the number of the first line that is not intact.
    pub fn seq(self) -> u64 {
        match self {
            LogFlaw::NotALine(seq)
            | LogFlaw::Changed(seq)
            | LogFlaw::Missing(seq)
            | LogFlaw::Torn(seq)
            | LogFlaw::Truncated(seq)
            | LogFlaw::Rewritten(seq) => seq,
        }
    }
}

/// The result of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// The number of files that were read.
    pub files: usize,
    /// The number of intact lines that were read.
    pub lines: u64,
    pub bytes: u64,
    /// The last intact line.
    pub last: Option<AppendReceipt>,
    /// The flaw of the line after it.
    pub flaw: Option<LogFlaw>,
}

/// Verifies the log of this name.
pub fn verify<D: Disk>(disk: D, name: &str) -> io::Result<Verification> {
    verify_against(disk, name, &[])
}

/// As [`verify`], also against checkpoints.
pub fn verify_against<D: Disk>(
    disk: D,
    name: &str,
    checkpoints: &[Checkpoint],
) -> io::Result<Verification> {
    verify_after(disk, name, checkpoints, None)
}

/// As [`verify_against`], for a log whose lines up to the anchor were moved away.
pub(crate) fn verify_after<D: Disk>(
    disk: D,
    name: &str,
    checkpoints: &[Checkpoint],
    anchor: Option<&LogAnchor>,
) -> io::Result<Verification> {
    let files = LogFiles::new(disk, name);
    let parts = files.list_after(anchor)?;
    let end = anchor.map_or(ChainEnd::START, LogAnchor::end);
    let mut verifier = Verifier::new(end, checkpoints);
    verifier.named.retain(|named| named.seq > end.seq);
    verifier.verify_files(&files, parts, 0)
}

/// Verifies the files of a log that were moved to this disk: they must contain every line up to the
/// anchor.
pub fn verify_retired<D: Disk>(
    disk: D,
    name: &str,
    anchor: &LogAnchor,
    checkpoints: &[Checkpoint],
) -> io::Result<Verification> {
    let files = LogFiles::new(disk, name);
    let parts = files.list()?;
    let mut verifier = Verifier::new(ChainEnd::START, checkpoints);
    let (seq, hash) = (anchor.seq, anchor.hash);
    verifier.named.retain(|named| named.seq <= seq);
    let first = AppendReceipt {
        seq: 1,
        hash: anchor.chain,
    };
    verifier.named.extend([first, AppendReceipt { seq, hash }]);
    verifier
        .named
        .sort_unstable_by_key(|receipt| std::cmp::Reverse(receipt.seq));
    verifier.verify_files(&files, parts, 0)
}

/// As [`verify_against`], by the holder of the log's lock.
pub(crate) fn verify_locked<D: Disk>(
    files: &LogFiles<D>,
    checkpoints: &[Checkpoint],
) -> io::Result<Verification> {
    let mut verifier = Verifier::new(ChainEnd::START, checkpoints);
    verifier.has_lock = true;
    verifier.verify_files(files, files.list()?, 0)
}

/// Verifies the line that a checkpoint names and every line after it. Earlier lines are read only
/// if there is a flaw, to find the first one.
pub fn verify_from<D: Disk>(
    disk: D,
    name: &str,
    checkpoint: &Checkpoint,
) -> io::Result<Verification> {
    let files = LogFiles::new(disk, name);
    let mut parts = files.list()?;
    if let Some(position) = end_of_checkpoint(&files, &parts, checkpoint)? {
        parts.drain(..position.file_index);
        let AppendReceipt { seq, hash } = checkpoint.receipt();
        let rest = Verifier::new(ChainEnd { seq, hash }, &[]).verify_files(
            &files,
            parts,
            position.offset,
        )?;
        if let None | Some(LogFlaw::Torn(_)) = rest.flaw {
            return Ok(rest);
        }
    }
    let whole = Verifier::new(ChainEnd::START, std::slice::from_ref(checkpoint));
    whole.verify_files(&files, files.list()?, 0)
}

/// Returns true if the log contains the line that a checkpoint names.
pub(crate) fn contains_checkpoint<D: Disk>(
    files: &LogFiles<D>,
    checkpoint: &Checkpoint,
) -> io::Result<bool> {
    Ok(end_of_checkpoint(files, &files.list()?, checkpoint)?.is_some())
}

/// Returns the end of the line that a checkpoint names, or `None` if the log does not contain it.
fn end_of_checkpoint<D: Disk>(
    files: &LogFiles<D>,
    parts: &[LogFile<D>],
    checkpoint: &Checkpoint,
) -> io::Result<Option<LinePosition>> {
    let Some(position) = find_line(files, parts, checkpoint.seq)? else {
        return Ok(None);
    };
    let Some(part) = parts.get(position.file_index) else {
        return Ok(None);
    };
    let offset = part.with(files, |file| {
        end_of_checkpoint_in(file, position.offset, checkpoint)
    })?;
    Ok(offset.map(|offset| LinePosition { offset, ..position }))
}

/// As [`end_of_checkpoint`], in one file, starting at a line at or before it.
fn end_of_checkpoint_in(
    file: &impl DiskFile,
    mut offset: u64,
    checkpoint: &Checkpoint,
) -> io::Result<Option<u64>> {
    let mut scanner = LineScanner::at(offset);
    while let ScannedLine::Line(text) = scanner.next(file)? {
        offset += text.len() as u64 + 1;
        if line::seq(text).is_some_and(|seq| seq < checkpoint.seq) {
            continue;
        }
        let end = ChainEnd::from_line(text).ok();
        let same = end.map(|end| (end.seq, end.hash)) == Some((checkpoint.seq, checkpoint.hash));
        return Ok(same.then_some(offset));
    }
    Ok(None)
}

/// The state of a verification.
struct Verifier {
    end: ChainEnd,
    lines: u64,
    bytes: u64,
    /// The lines that checkpoints name, sorted by descending number.
    named: Vec<AppendReceipt>,
    /// True if the caller holds the log's lock.
    has_lock: bool,
}

impl Verifier {
    fn new(end: ChainEnd, checkpoints: &[Checkpoint]) -> Verifier {
        let first = |checkpoint: &Checkpoint| AppendReceipt {
            seq: 1,
            hash: checkpoint.chain,
        };
        let named = checkpoints.iter();
        let mut named: Vec<_> = named
            .flat_map(|named| [first(named), named.receipt()])
            .collect();
        named.sort_unstable_by_key(|receipt| std::cmp::Reverse(receipt.seq));
        Verifier {
            end,
            lines: 0,
            bytes: 0,
            named,
            has_lock: false,
        }
    }

    fn verify_files<D: Disk>(
        mut self,
        files: &LogFiles<D>,
        parts: Vec<LogFile<D>>,
        offset: u64,
    ) -> io::Result<Verification> {
        let mut scanner = LineScanner::at(offset);
        let (mut files_read, mut flaw) = (0, None);
        for part in parts {
            files_read += 1;
            let written = matches!(part, LogFile::Current(_)) && !self.has_lock;
            let file = part.open(files)?;
            flaw = self.verify_file(&mut scanner, &file, written.then_some(files))?;
            if flaw.is_some() {
                break;
            }
            scanner.restart();
        }
        if let (None | Some(LogFlaw::Torn(_)), false) = (flaw, self.named.is_empty()) {
            flaw = Some(LogFlaw::Truncated(self.end.seq + 1));
        }
        let ChainEnd { seq, hash } = self.end;
        Ok(Verification {
            files: files_read,
            lines: self.lines,
            bytes: self.bytes,
            last: (seq > 0).then_some(AppendReceipt { seq, hash }),
            flaw,
        })
    }

    /// Verifies the lines of a file. `written` is given if another process may be appending to it.
    fn verify_file<D: Disk>(
        &mut self,
        scanner: &mut LineScanner,
        file: &D::File,
        written: Option<&LogFiles<D>>,
    ) -> io::Result<Option<LogFlaw>> {
        let mut lock: Option<Option<D::File>> = None;
        loop {
            let flaw = match scanner.next(file)? {
                ScannedLine::Line(text) => self.verify_line(text),
                ScannedLine::TooLong => Some(LogFlaw::NotALine(self.end.seq + 1)),
                ScannedLine::End { rest: 0 } => return Ok(None),
                ScannedLine::End { .. } => match (written, &lock) {
                    (Some(files), None) => {
                        // The line may be half written: under the lock nobody writes. A reader
                        // without permission to lock takes the file as it is.
                        lock = Some(files.lock_for_reading_within(PATIENCE).ok().flatten());
                        None
                    }
                    _ => Some(LogFlaw::Torn(self.end.seq + 1)),
                },
            };
            if flaw.is_some() {
                return Ok(flaw);
            }
        }
    }

    fn verify_line(&mut self, text: &[u8]) -> Option<LogFlaw> {
        let next = self.end.seq + 1;
        let end = match self.end.extend(text) {
            Ok(end) => end,
            Err(ChainBreak::NotALine) => return Some(LogFlaw::NotALine(next)),
            Err(ChainBreak::Changed) => return Some(LogFlaw::Changed(next)),
            Err(ChainBreak::OutOfOrder) => return Some(LogFlaw::Missing(next)),
        };
        while let Some(named) = self.named.pop_if(|named| named.seq == end.seq) {
            if named.hash != end.hash {
                return Some(LogFlaw::Rewritten(next));
            }
        }
        self.end = end;
        self.lines += 1;
        self.bytes += text.len() as u64 + 1;
        None
    }
}
