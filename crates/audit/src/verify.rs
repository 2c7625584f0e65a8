//! Verification: every line of every file, one after the other, in bounded memory.

use crate::append::Receipt;
use crate::chain::{Break, End};
use crate::files::Files;
use crate::line::MAX_LINE;
use candor_disk::{Disk, DiskFile};
use memchr::memchr;
use serde::Serialize;
use std::io;

/// How much is read at once.
const CHUNK: usize = 1024 * 1024;

/// What is wrong with a log: the first thing, and behind which line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
}

/// What a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// How many files it has.
    pub files: usize,
    /// How many of its lines are right, from the first.
    pub lines: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The last of them.
    pub last: Option<Receipt>,
    /// What is wrong with the next one.
    pub flaw: Option<Flaw>,
}

/// Looks at every line of the log of this name.
pub fn verify<D: Disk>(disk: D, name: &str) -> io::Result<Verified> {
    let files = Files::new(disk, name);
    let mut check = Check {
        end: End::START,
        bytes: 0,
    };
    let mut seen = 0;
    let mut flaw = None;
    for number in files.full()? {
        seen += 1;
        flaw = check.file(&files.open_full(number)?)?;
        if flaw.is_some() {
            break;
        }
    }
    if let (None, Some(current)) = (flaw, files.to_read()?) {
        seen += 1;
        flaw = check.file(&current)?;
    }
    let End { seq, hash } = check.end;
    Ok(Verified {
        files: seen,
        lines: seq,
        bytes: check.bytes,
        last: (seq > 0).then_some(Receipt { seq, hash }),
        flaw,
    })
}

/// How far a verification is.
struct Check {
    end: End,
    bytes: u64,
}

impl Check {
    fn file(&mut self, file: &impl DiskFile) -> io::Result<Option<Flaw>> {
        let mut buffer = vec![0; CHUNK + MAX_LINE];
        let (mut held, mut place) = (0, 0);
        loop {
            let read = match file.read_at(&mut buffer[held..held + CHUNK], place) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                let next = self.end.seq + 1;
                return Ok((held > 0).then_some(Flaw::Torn(next)));
            }
            place += read as u64;
            let filled = held + read;
            let mut begin = 0;
            while let Some(length) = memchr(b'\n', &buffer[begin..filled]) {
                if let Some(flaw) = self.line(&buffer[begin..begin + length]) {
                    return Ok(Some(flaw));
                }
                begin += length + 1;
            }
            held = filled - begin;
            if held >= MAX_LINE {
                return Ok(Some(Flaw::NotALine(self.end.seq + 1)));
            }
            buffer.copy_within(begin..filled, 0);
        }
    }

    fn line(&mut self, text: &[u8]) -> Option<Flaw> {
        let next = self.end.seq + 1;
        match self.end.then(text) {
            Ok(end) => {
                self.end = end;
                self.bytes += text.len() as u64 + 1;
                None
            }
            Err(Break::NotALine) => Some(Flaw::NotALine(next)),
            Err(Break::Changed) => Some(Flaw::Changed(next)),
            Err(Break::Elsewhere) => Some(Flaw::Missing(next)),
        }
    }
}
