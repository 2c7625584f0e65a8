//! The lines of a file, one after the other, through a buffer of one size.

use crate::line::MAX_LINE;
use candor_disk::DiskFile;
use memchr::memchr;
use std::io;

/// How much is read at once.
const CHUNK: usize = 1024 * 1024;

/// What comes next in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScannedLine<'a> {
    /// A line, without its line break.
    Line(&'a [u8]),
    /// More bytes without a line break than a line may have.
    TooLong,
    /// The end, and how many bytes stand behind the last line break.
    End { rest: usize },
}

/// A way through a file.
#[derive(Debug)]
pub(crate) struct LineScanner {
    buffer: Vec<u8>,
    begin: usize,
    filled: usize,
    /// Where in the file the next bytes are read.
    place: u64,
}

impl LineScanner {
    /// From the line that begins here on.
    pub(crate) fn at(place: u64) -> LineScanner {
        LineScanner {
            buffer: vec![0; CHUNK + MAX_LINE],
            begin: 0,
            filled: 0,
            place,
        }
    }

    /// Goes on with the first line of another file.
    pub(crate) fn restart(&mut self) {
        (self.begin, self.filled, self.place) = (0, 0, 0);
    }

    /// The next line. After an end it may be asked again: the file may have grown.
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
            let read = match file.read_at(&mut self.buffer[held..held + CHUNK], self.place) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                return Ok(ScannedLine::End { rest: held });
            }
            self.place += read as u64;
            self.filled += read;
        }
    }
}
