//! Verification: every line of every file, one after the other, in bounded memory, and whether it is
//! what checkpoints have seen.

use crate::append::AppendReceipt;
use crate::chain::{ChainBreak, ChainEnd};
use crate::checkpoint::Checkpoint;
use crate::find_line::{LinePosition, seek};
use crate::line;
use crate::line_scanner::{LineScanner, ScannedLine};
use crate::log_files::{LogFile, LogFiles};
use candor_disk::{Disk, DiskFile};
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Duration;

/// How long a writer is waited for that seems to be in the middle of a line.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is wrong with a log: the first thing, and behind which line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFlaw {
    /// The line with this number is no line of a log.
    NotALine(u64),
    /// The line with this number is not what its hash says.
    Changed(u64),
    /// The line with this number is missing: another one stands in its place.
    Missing(u64),
    /// The last line, which would have this number, is cut off.
    Torn(u64),
    /// The line with this number is missing at the end: a checkpoint has seen it or a later one.
    Truncated(u64),
    /// The line with this number is not the one that a checkpoint has seen: it was written anew, and
    /// perhaps lines before it were, as far back as the checkpoint before.
    Rewritten(u64),
}

impl LogFlaw {
    /// The number of the first line that is not as it was.
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

/// What a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// How many files were looked at.
    pub files: usize,
    /// How many lines were looked at and are right.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The last line that is right.
    pub last: Option<AppendReceipt>,
    /// What is wrong with the next one.
    pub flaw: Option<LogFlaw>,
}

/// Looks at every line of the log of this name.
pub fn verify<D: Disk>(disk: D, name: &str) -> io::Result<Verification> {
    verify_against(disk, name, &[])
}

/// The same, and at what checkpoints have seen of it.
pub fn verify_against<D: Disk>(
    disk: D,
    name: &str,
    checkpoints: &[Checkpoint],
) -> io::Result<Verification> {
    let files = LogFiles::new(disk, name);
    let parts = files.parts()?;
    Verifier::new(ChainEnd::START, checkpoints).parts(&files, parts, 0)
}

/// The same, by one who has the log's lock.
pub(crate) fn verify_locked<D: Disk>(
    files: &LogFiles<D>,
    checkpoints: &[Checkpoint],
) -> io::Result<Verification> {
    let mut check = Verifier::new(ChainEnd::START, checkpoints);
    check.has_lock = true;
    check.parts(files, files.parts()?, 0)
}

/// Looks at the line that a checkpoint names and at every line after it. What stands before is looked
/// at only where those are not as they were: to say which line is the first.
pub fn verify_from<D: Disk>(
    disk: D,
    name: &str,
    checkpoint: &Checkpoint,
) -> io::Result<Verification> {
    let files = LogFiles::new(disk, name);
    let mut parts = files.parts()?;
    if let Some(spot) = behind(&files, &parts, checkpoint)? {
        parts.drain(..spot.part);
        let AppendReceipt { seq, hash } = checkpoint.receipt();
        let rest = Verifier::new(ChainEnd { seq, hash }, &[]).parts(&files, parts, spot.offset)?;
        if let None | Some(LogFlaw::Torn(_)) = rest.flaw {
            return Ok(rest);
        }
    }
    let whole = Verifier::new(ChainEnd::START, std::slice::from_ref(checkpoint));
    whole.parts(&files, files.parts()?, 0)
}

/// Whether the line that a checkpoint names is there as it was.
pub(crate) fn holds<D: Disk>(files: &LogFiles<D>, checkpoint: &Checkpoint) -> io::Result<bool> {
    Ok(behind(files, &files.parts()?, checkpoint)?.is_some())
}

/// Where the line ends that a checkpoint names; nothing where it is not there as it was.
fn behind<D: Disk>(
    files: &LogFiles<D>,
    parts: &[LogFile<D>],
    checkpoint: &Checkpoint,
) -> io::Result<Option<LinePosition>> {
    let Some(spot) = seek(files, parts, checkpoint.seq)? else {
        return Ok(None);
    };
    let Some(part) = parts.get(spot.part) else {
        return Ok(None);
    };
    let offset = part.with(files, |file| behind_in(file, spot.offset, checkpoint))?;
    Ok(offset.map(|offset| LinePosition { offset, ..spot }))
}

/// The same in one file, from a line at or before it on.
fn behind_in(
    file: &impl DiskFile,
    mut offset: u64,
    checkpoint: &Checkpoint,
) -> io::Result<Option<u64>> {
    let mut stream = LineScanner::at(offset);
    while let ScannedLine::Line(text) = stream.next(file)? {
        offset += text.len() as u64 + 1;
        if line::seq(text).is_some_and(|seq| seq < checkpoint.seq) {
            continue;
        }
        let end = ChainEnd::after(text).ok();
        let same = end.map(|end| (end.seq, end.hash)) == Some((checkpoint.seq, checkpoint.hash));
        return Ok(same.then_some(offset));
    }
    Ok(None)
}

/// How far a verification is.
struct Verifier {
    end: ChainEnd,
    lines: u64,
    bytes: u64,
    /// What checkpoints have seen, the first one last.
    seen: Vec<AppendReceipt>,
    /// Whether whoever checks has the log's lock.
    has_lock: bool,
}

impl Verifier {
    fn new(end: ChainEnd, checkpoints: &[Checkpoint]) -> Verifier {
        let first = |checkpoint: &Checkpoint| AppendReceipt {
            seq: 1,
            hash: checkpoint.chain,
        };
        let seen = checkpoints.iter();
        let mut seen: Vec<_> = seen
            .flat_map(|seen| [first(seen), seen.receipt()])
            .collect();
        seen.sort_unstable_by_key(|receipt| std::cmp::Reverse(receipt.seq));
        Verifier {
            end,
            lines: 0,
            bytes: 0,
            seen,
            has_lock: false,
        }
    }

    fn parts<D: Disk>(
        mut self,
        files: &LogFiles<D>,
        parts: Vec<LogFile<D>>,
        offset: u64,
    ) -> io::Result<Verification> {
        let mut stream = LineScanner::at(offset);
        let (mut looked_at, mut flaw) = (0, None);
        for part in parts {
            looked_at += 1;
            let written = matches!(part, LogFile::Current(_)) && !self.has_lock;
            let file = part.open(files)?;
            flaw = self.file(&mut stream, &file, written.then_some(files))?;
            if flaw.is_some() {
                break;
            }
            stream.restart();
        }
        if let (None | Some(LogFlaw::Torn(_)), false) = (flaw, self.seen.is_empty()) {
            flaw = Some(LogFlaw::Truncated(self.end.seq + 1));
        }
        let ChainEnd { seq, hash } = self.end;
        Ok(Verification {
            files: looked_at,
            lines: self.lines,
            bytes: self.bytes,
            last: (seq > 0).then_some(AppendReceipt { seq, hash }),
            flaw,
        })
    }

    /// Looks at the lines of a file, which may be one that is being written.
    fn file<D: Disk>(
        &mut self,
        stream: &mut LineScanner,
        file: &D::File,
        written: Option<&LogFiles<D>>,
    ) -> io::Result<Option<LogFlaw>> {
        let mut calm: Option<Option<D::File>> = None;
        loop {
            let flaw = match stream.next(file)? {
                ScannedLine::Line(text) => self.line(text),
                ScannedLine::TooLong => Some(LogFlaw::NotALine(self.end.seq + 1)),
                ScannedLine::End { rest: 0 } => return Ok(None),
                ScannedLine::End { .. } => match (written, &calm) {
                    (Some(files), None) => {
                        // Perhaps somebody is writing this line: while the lock is held nobody is.
                        // Who may only read has to take the file as it is.
                        calm = Some(files.calm_within(PATIENCE).ok().flatten());
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

    fn line(&mut self, text: &[u8]) -> Option<LogFlaw> {
        let next = self.end.seq + 1;
        let end = match self.end.then(text) {
            Ok(end) => end,
            Err(ChainBreak::NotALine) => return Some(LogFlaw::NotALine(next)),
            Err(ChainBreak::Changed) => return Some(LogFlaw::Changed(next)),
            Err(ChainBreak::OutOfOrder) => return Some(LogFlaw::Missing(next)),
        };
        while let Some(seen) = self.seen.pop_if(|seen| seen.seq == end.seq) {
            if seen.hash != end.hash {
                return Some(LogFlaw::Rewritten(next));
            }
        }
        self.end = end;
        self.lines += 1;
        self.bytes += text.len() as u64 + 1;
        None
    }
}
