//! Splits input into lines.

use super::{CHUNK, MAX_LINE};
use std::io::{self, Read};

/// Splits input into lines and never holds more than the limit of one line.
#[derive(Default)]
pub(super) struct LineReader {
    /// Holds input in `start..end`; the rest is free.
    buffer: Vec<u8>,
    start: usize,
    searched: usize,
    end: usize,
    skipping: bool,
}

pub(super) enum InputLine<'a> {
    Whole(&'a [u8]),
    TooLong,
}

impl LineReader {
    /// Reads more input. Returns 0 at its end.
    pub(super) fn fill(&mut self, input: &mut impl Read) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.searched -= self.start;
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < self.end + CHUNK {
            self.buffer.resize(self.end + CHUNK, 0);
        }
        loop {
            match input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.end += read;
                    return Ok(read);
                }
            }
        }
    }

    /// Returns the next complete line; at the end of the input also a last line without a newline.
    pub(super) fn next(&mut self, input_ended: bool) -> Option<InputLine<'_>> {
        loop {
            let newline = memchr::memchr(b'\n', &self.buffer[self.searched..self.end]);
            let (from, until) = match newline {
                Some(step) => (self.start, self.searched + step),
                None if input_ended && self.start < self.end => (self.start, self.end),
                None => return self.handle_unfinished(),
            };
            self.start = (until + 1).min(self.end);
            self.searched = self.start;
            if std::mem::take(&mut self.skipping) {
                // The rest of a line that was refused already.
                continue;
            }
            if until - from > MAX_LINE {
                return Some(InputLine::TooLong);
            }
            return self.buffer.get(from..until).map(InputLine::Whole);
        }
    }

    /// Handles a line whose newline has not arrived: if it is too long already, it is refused and dropped.
    fn handle_unfinished(&mut self) -> Option<InputLine<'_>> {
        self.searched = self.end;
        let too_long = self.end - self.start > MAX_LINE;
        if too_long || self.skipping {
            self.start = self.end;
        }
        if too_long && !std::mem::replace(&mut self.skipping, true) {
            // Releases the memory of the long line.
            self.buffer = Vec::new();
            (self.start, self.searched, self.end) = (0, 0, 0);
            return Some(InputLine::TooLong);
        }
        None
    }
}
