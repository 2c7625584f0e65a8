//! Verification: every line of every file, one after the other, in bounded memory, and whether it is
//! what checkpoints have seen.

use crate::append::Receipt;
use crate::chain::{Break, End};
use crate::checkpoint::Checkpoint;
use crate::files::{Files, Part};
use crate::line;
use crate::seek::{Spot, seek};
use crate::stream::{Step, Stream};
use candor_disk::{Disk, DiskFile};
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Duration;

/// How long a writer is waited for that seems to be in the middle of a line.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is wrong with a log: the first thing, and behind which line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flaw {
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

impl Flaw {
    /// The number of the first line that is not as it was.
    pub fn seq(self) -> u64 {
        match self {
            Flaw::NotALine(seq)
            | Flaw::Changed(seq)
            | Flaw::Missing(seq)
            | Flaw::Torn(seq)
            | Flaw::Truncated(seq)
            | Flaw::Rewritten(seq) => seq,
        }
    }
}

/// What a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// How many files were looked at.
    pub files: usize,
    /// How many lines were looked at and are right.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The last line that is right.
    pub last: Option<Receipt>,
    /// What is wrong with the next one.
    pub flaw: Option<Flaw>,
}

/// Looks at every line of the log of this name.
pub fn verify<D: Disk>(disk: D, name: &str) -> io::Result<Verified> {
    verify_against(disk, name, &[])
}

/// The same, and at what checkpoints have seen of it.
pub fn verify_against<D: Disk>(
    disk: D,
    name: &str,
    checkpoints: &[Checkpoint],
) -> io::Result<Verified> {
    let files = Files::new(disk, name);
    let parts = files.parts()?;
    Check::new(End::START, checkpoints).parts(&files, parts, 0)
}

/// The same, by one who has the log's lock.
pub(crate) fn verify_locked<D: Disk>(
    files: &Files<D>,
    checkpoints: &[Checkpoint],
) -> io::Result<Verified> {
    let mut check = Check::new(End::START, checkpoints);
    check.has_lock = true;
    check.parts(files, files.parts()?, 0)
}

/// Looks at the line that a checkpoint names and at every line after it. What stands before is looked
/// at only where those are not as they were: to say which line is the first.
pub fn verify_from<D: Disk>(disk: D, name: &str, checkpoint: &Checkpoint) -> io::Result<Verified> {
    let files = Files::new(disk, name);
    let mut parts = files.parts()?;
    if let Some(spot) = behind(&files, &parts, checkpoint)? {
        parts.drain(..spot.part);
        let Receipt { seq, hash } = checkpoint.receipt();
        let rest = Check::new(End { seq, hash }, &[]).parts(&files, parts, spot.offset)?;
        if let None | Some(Flaw::Torn(_)) = rest.flaw {
            return Ok(rest);
        }
    }
    let whole = Check::new(End::START, std::slice::from_ref(checkpoint));
    whole.parts(&files, files.parts()?, 0)
}

/// Whether the line that a checkpoint names is there as it was.
pub(crate) fn holds<D: Disk>(files: &Files<D>, checkpoint: &Checkpoint) -> io::Result<bool> {
    Ok(behind(files, &files.parts()?, checkpoint)?.is_some())
}

/// Where the line ends that a checkpoint names; nothing where it is not there as it was.
fn behind<D: Disk>(
    files: &Files<D>,
    parts: &[Part<D>],
    checkpoint: &Checkpoint,
) -> io::Result<Option<Spot>> {
    let Some(spot) = seek(files, parts, checkpoint.seq)? else {
        return Ok(None);
    };
    let Some(part) = parts.get(spot.part) else {
        return Ok(None);
    };
    let offset = part.with(files, |file| behind_in(file, spot.offset, checkpoint))?;
    Ok(offset.map(|offset| Spot { offset, ..spot }))
}

/// The same in one file, from a line at or before it on.
fn behind_in(
    file: &impl DiskFile,
    mut offset: u64,
    checkpoint: &Checkpoint,
) -> io::Result<Option<u64>> {
    let mut stream = Stream::at(offset);
    while let Step::Line(text) = stream.next(file)? {
        offset += text.len() as u64 + 1;
        if line::seq(text).is_some_and(|seq| seq < checkpoint.seq) {
            continue;
        }
        let end = End::after(text).ok();
        let same = end.map(|end| (end.seq, end.hash)) == Some((checkpoint.seq, checkpoint.hash));
        return Ok(same.then_some(offset));
    }
    Ok(None)
}

/// How far a verification is.
struct Check {
    end: End,
    lines: u64,
    bytes: u64,
    /// What checkpoints have seen, the first one last.
    seen: Vec<Receipt>,
    /// Whether whoever checks has the log's lock.
    has_lock: bool,
}

impl Check {
    fn new(end: End, checkpoints: &[Checkpoint]) -> Check {
        let first = |checkpoint: &Checkpoint| Receipt {
            seq: 1,
            hash: checkpoint.chain,
        };
        let seen = checkpoints.iter();
        let mut seen: Vec<_> = seen
            .flat_map(|seen| [first(seen), seen.receipt()])
            .collect();
        seen.sort_unstable_by_key(|receipt| std::cmp::Reverse(receipt.seq));
        Check {
            end,
            lines: 0,
            bytes: 0,
            seen,
            has_lock: false,
        }
    }

    fn parts<D: Disk>(
        mut self,
        files: &Files<D>,
        parts: Vec<Part<D>>,
        offset: u64,
    ) -> io::Result<Verified> {
        let mut stream = Stream::at(offset);
        let (mut looked_at, mut flaw) = (0, None);
        for part in parts {
            looked_at += 1;
            let written = matches!(part, Part::Current(_)) && !self.has_lock;
            let file = part.open(files)?;
            flaw = self.file(&mut stream, &file, written.then_some(files))?;
            if flaw.is_some() {
                break;
            }
            stream.restart();
        }
        if let (None | Some(Flaw::Torn(_)), false) = (flaw, self.seen.is_empty()) {
            flaw = Some(Flaw::Truncated(self.end.seq + 1));
        }
        let End { seq, hash } = self.end;
        Ok(Verified {
            files: looked_at,
            lines: self.lines,
            bytes: self.bytes,
            last: (seq > 0).then_some(Receipt { seq, hash }),
            flaw,
        })
    }

    /// Looks at the lines of a file, which may be one that is being written.
    fn file<D: Disk>(
        &mut self,
        stream: &mut Stream,
        file: &D::File,
        written: Option<&Files<D>>,
    ) -> io::Result<Option<Flaw>> {
        let mut calm: Option<Option<D::File>> = None;
        loop {
            let flaw = match stream.next(file)? {
                Step::Line(text) => self.line(text),
                Step::TooLong => Some(Flaw::NotALine(self.end.seq + 1)),
                Step::End { rest: 0 } => return Ok(None),
                Step::End { .. } => match (written, &calm) {
                    (Some(files), None) => {
                        // Perhaps somebody is writing this line: while the lock is held nobody is.
                        // Who may only read has to take the file as it is.
                        calm = Some(files.calm_within(PATIENCE).ok().flatten());
                        None
                    }
                    _ => Some(Flaw::Torn(self.end.seq + 1)),
                },
            };
            if flaw.is_some() {
                return Ok(flaw);
            }
        }
    }

    fn line(&mut self, text: &[u8]) -> Option<Flaw> {
        let next = self.end.seq + 1;
        let end = match self.end.then(text) {
            Ok(end) => end,
            Err(Break::NotALine) => return Some(Flaw::NotALine(next)),
            Err(Break::Changed) => return Some(Flaw::Changed(next)),
            Err(Break::Elsewhere) => return Some(Flaw::Missing(next)),
        };
        while let Some(seen) = self.seen.pop_if(|seen| seen.seq == end.seq) {
            if seen.hash != end.hash {
                return Some(Flaw::Rewritten(next));
            }
        }
        self.end = end;
        self.lines += 1;
        self.bytes += text.len() as u64 + 1;
        None
    }
}
