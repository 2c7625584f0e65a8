//! Iterates over the lines of a file with a buffer of fixed size.

use crate::line::MAX_LINE;
use candor_disk::DiskFile;
use memchr::memchr;
use std::io;

/// Bytes that are read at once.
const CHUNK: usize = 1024 * 1024;

/// The next item of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScannedLine<'a> {
    /// A line, without its line break.
    Line(&'a [u8]),
    /// There are more bytes without a line break than a line may have.
    TooLong,
    /// The end of the file, and the number of bytes after the last line break.
    End { rest: usize },
}

/// Reads a file line by line.
#[derive(Debug)]
pub(crate) struct LineScanner {
    buffer: Vec<u8>,
    begin: usize,
    filled: usize,
    /// The offset of the next read.
    offset: u64,
}

impl LineScanner {
    /// Starts at the line that begins at `offset`.
    pub(crate) fn at(offset: u64) -> LineScanner {
        LineScanner {
            buffer: vec![0; CHUNK + MAX_LINE],
            begin: 0,
            filled: 0,
            offset,
        }
    }

    /// Continues with the first line of another file.
    pub(crate) fn restart(&mut self) {
        (self.begin, self.filled, self.offset) = (0, 0, 0);
    }

    /// Returns the next line. May be called again after the end: the file may have grown.
    pub(crate) fn next(&mut self, file: &impl DiskFile) -> io::Result<ScannedLine<'_>> {
        let mut looked = self.begin;
        loop {
            if let Some(length) = memchr(b'\n', &self.buffer[looked..self.filled]) {
                let line = self.begin..looked + length;
                self.begin = line.end + 1;
                return Ok(ScannedLine::Line(&self.buffer[line]));
            }
            let held = self.filled - self.begin;
            if held >= MAX_LINE {
                return Ok(ScannedLine::TooLong);
            }
            self.buffer.copy_within(self.begin..self.filled, 0);
            (self.begin, self.filled, looked) = (0, held, held);
            let read = match file.read_at(&mut self.buffer[held..held + CHUNK], self.offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                return Ok(ScannedLine::End { rest: held });
            }
            self.offset += read as u64;
            self.filled += read;
        }
    }
}
