//! Reads one file: whole, or some of its lines.
//!
//! The file is read once from its beginning to its end, in bounded memory: the hash and the number
//! of lines are always those of the bytes that the content comes from.

use super::{ReadError, WorkspaceReader, display_path};
use crate::hex::hex;
use crate::path::TypedPath;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use candor_disk::{DiskFile, RealFile};
use memchr::{memchr, memchr_iter, memrchr};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The longest file that is read without saying which lines.
pub const MAX_WHOLE_BYTES: u64 = 5 * 1024 * 1024;

/// The most bytes of a file in one answer.
pub const MAX_CONTENT_BYTES: usize = 1024 * 1024;

/// The maximum number of bytes of a file that are scanned for a line, the hash and the number of lines.
pub const MAX_SCAN_BYTES: u64 = 1024 * 1024 * 1024;

const CHUNK: usize = 64 * 1024;

/// The arguments of `read_file`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ReadRequest {
    /// The file.
    pub path: String,
    /// The first line, counted from one; the default is one.
    #[serde(default)]
    pub offset: Option<u64>,
    /// The maximum number of lines; all if absent.
    #[serde(default)]
    pub limit: Option<u64>,
    #[serde(default)]
    pub encoding: ContentEncoding,
}

/// The encoding of content in an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentEncoding {
    /// As text; bytes that are not UTF-8 are an error.
    #[default]
    Utf8,
    /// As base64 of the bytes.
    Base64,
}

/// The answer of `read_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadAnswer {
    /// The real path, relative to the root.
    pub path: String,
    /// Bytes of the whole file.
    pub size: u64,
    /// SHA-256 of the whole file, in hex; `None` if it is longer than [`MAX_SCAN_BYTES`].
    pub hash: Option<String>,
    /// Lines of the whole file; `None` if it is longer than [`MAX_SCAN_BYTES`].
    pub total_lines: Option<u64>,
    /// The number of the first line in `content`.
    pub first_line: u64,
    /// The number of lines in `content`.
    pub lines: u64,
    /// True if the file goes on after `content`.
    pub more: bool,
    /// The line to continue with; `None` at the end.
    pub next_offset: Option<u64>,
    /// True if `content` is shorter than requested, because answers are bounded.
    pub truncated: bool,
    /// True if the one line in `content` is longer than an answer, so that its end is left out.
    pub cut_line: bool,
    /// The encoding of `content`.
    pub encoding: ContentEncoding,
    /// The lines, with their endings as they are.
    pub content: String,
}

impl WorkspaceReader<'_> {
    /// Reads a file, or some of its lines.
    pub fn read_file(&self, request: &ReadRequest) -> Result<ReadAnswer, ReadError> {
        let typed = TypedPath::read(&request.path, self.root)?;
        let (file, path) = self.open(&typed)?;
        let whole = request.offset.is_none() && request.limit.is_none();
        let size = file.len()?;
        let too_large = |size| ReadError::TooLarge {
            size,
            limit: MAX_WHOLE_BYTES,
        };
        if whole && size > MAX_WHOLE_BYTES {
            return Err(too_large(size));
        }
        let mut scan = FileScan::new(request);
        self.scan(&file, size, &mut scan)?;
        // It may have grown meanwhile.
        if whole && scan.read > MAX_WHOLE_BYTES {
            return Err(too_large(scan.read));
        }
        scan.answer(display_path(&path).0, size, request.encoding)
    }

    fn scan(&self, file: &RealFile, size: u64, scan: &mut FileScan) -> Result<(), ReadError> {
        let mut chunk = vec![0; CHUNK];
        loop {
            if (self.stop)() {
                return Err(ReadError::Stopped);
            }
            let is_far = size > MAX_SCAN_BYTES || scan.read >= MAX_SCAN_BYTES;
            if is_far && scan.is_done() {
                return Ok(());
            }
            if scan.read >= MAX_SCAN_BYTES {
                return Err(ReadError::TooLarge {
                    size,
                    limit: MAX_SCAN_BYTES,
                });
            }
            match file.read_at(&mut chunk, scan.read) {
                Ok(0) => {
                    scan.ended = true;
                    return Ok(());
                }
                Ok(count) => scan.take(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The state of reading a file.
struct FileScan {
    hash: Sha256,
    /// Bytes so far.
    read: u64,
    /// True if that is all.
    ended: bool,
    /// The number of the line that the next byte belongs to.
    line: u64,
    /// True if that line has a byte already.
    begun: bool,
    first: u64,
    /// The first line that is not wanted any more.
    end: u64,
    kept: Vec<u8>,
    /// The offset of the selected bytes in the file.
    kept_at: u64,
    /// True if the request is for more than the maximum of an answer.
    full: bool,
}

impl FileScan {
    fn new(request: &ReadRequest) -> FileScan {
        let first = request.offset.unwrap_or(1).max(1);
        FileScan {
            hash: Sha256::new(),
            read: 0,
            ended: false,
            line: 1,
            begun: false,
            first,
            end: first.saturating_add(request.limit.unwrap_or(u64::MAX)),
            kept: Vec::new(),
            kept_at: 0,
            full: false,
        }
    }

    /// Returns true if everything that was wanted has been seen.
    fn is_done(&self) -> bool {
        self.full || self.line >= self.end
    }

    fn take(&mut self, mut bytes: &[u8]) {
        self.hash.update(bytes);
        while !bytes.is_empty() {
            let newline = memchr(b'\n', bytes);
            let (piece, rest) = bytes.split_at(newline.map_or(bytes.len(), |at| at + 1));
            if self.line >= self.first && !self.is_done() {
                self.keep(piece);
            }
            self.read += piece.len() as u64;
            self.begun = newline.is_none();
            self.line += u64::from(newline.is_some());
            bytes = rest;
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.kept.is_empty() {
            self.kept_at = self.read;
        }
        let room = MAX_CONTENT_BYTES - self.kept.len();
        self.full = piece.len() > room;
        self.kept.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn answer(
        mut self,
        path: String,
        size: u64,
        encoding: ContentEncoding,
    ) -> Result<ReadAnswer, ReadError> {
        let mut cut_line = false;
        if self.full {
            match memrchr(b'\n', &self.kept) {
                Some(last) => self.kept.truncate(last + 1),
                None => cut_line = true,
            }
        }
        if encoding == ContentEncoding::Utf8 {
            self.check_text(cut_line)?;
        }
        let newlines = memchr_iter(b'\n', &self.kept).count() as u64;
        let is_open = self.kept.last().is_some_and(|last| *last != b'\n');
        let lines = newlines + u64::from(is_open);
        let next = self.first.saturating_add(lines);
        let total = self.line - u64::from(!self.begun);
        let goes_on = match self.ended {
            true => next <= total,
            false => true,
        };
        Ok(ReadAnswer {
            path,
            size: if self.ended { self.read } else { size },
            hash: self.ended.then(|| hex(&self.hash.finalize())),
            total_lines: self.ended.then_some(total),
            first_line: self.first,
            lines,
            more: goes_on || cut_line,
            next_offset: goes_on.then_some(next),
            truncated: self.full,
            cut_line,
            encoding,
            content: match encoding {
                ContentEncoding::Base64 => STANDARD.encode(&self.kept),
                ContentEncoding::Utf8 => String::from_utf8_lossy(&self.kept).into_owned(),
            },
        })
    }

    /// Checks that the selected bytes are text. Drops a character that the cut divided.
    fn check_text(&mut self, cut_line: bool) -> Result<(), ReadError> {
        let Err(error) = std::str::from_utf8(&self.kept) else {
            return Ok(());
        };
        let good = error.valid_up_to();
        if cut_line && error.error_len().is_none() {
            self.kept.truncate(good);
            return Ok(());
        }
        Err(ReadError::NotText {
            at: self.kept_at + good as u64,
        })
    }
}

#[cfg(test)]
mod tests;
