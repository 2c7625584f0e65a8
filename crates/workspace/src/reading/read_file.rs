//! Reading one file: whole, or some of its lines.
//!
//! The file is read once from its beginning to its end, in bounded memory: the hash and the number of
//! lines are always those of the very bytes that the content is from.

use super::{ReadError, Reading, said};
use crate::path::Typed;
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

/// How far into a file is looked: for a line, for the hash and for the number of lines.
pub const MAX_SCAN_BYTES: u64 = 1024 * 1024 * 1024;

const CHUNK: usize = 64 * 1024;

/// What to read.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ReadRequest {
    /// The file.
    pub path: String,
    /// The first line, counted from one; none is the first.
    #[serde(default)]
    pub offset: Option<u64>,
    /// How many lines at most; none is all.
    #[serde(default)]
    pub limit: Option<u64>,
    /// How the content is written.
    #[serde(default)]
    pub encoding: Encoding,
}

/// How content is written in an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// As text; what is not UTF-8 is an error.
    #[default]
    Utf8,
    /// As base64 of the bytes.
    Base64,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadAnswer {
    /// Where the file really is, from the root.
    pub path: String,
    /// Bytes of the whole file.
    pub size: u64,
    /// SHA-256 of the whole file, in hex; none where it is longer than [`MAX_SCAN_BYTES`].
    pub hash: Option<String>,
    /// Lines of the whole file; none where it is longer than [`MAX_SCAN_BYTES`].
    pub total_lines: Option<u64>,
    /// The number of the first line in `content`.
    pub first_line: u64,
    /// How many lines are in `content`.
    pub lines: u64,
    /// Whether the file goes on after `content`.
    pub more: bool,
    /// The line to go on with; none at the end.
    pub next_offset: Option<u64>,
    /// Whether `content` is shorter than asked, because answers are bounded.
    pub truncated: bool,
    /// Whether the one line in `content` is longer than an answer, so that its end is left out.
    pub cut_line: bool,
    /// How `content` is written.
    pub encoding: Encoding,
    /// The lines, with their endings as they are.
    pub content: String,
}

impl Reading<'_> {
    /// Reads a file, or some of its lines.
    pub fn read_file(&self, request: &ReadRequest) -> Result<ReadAnswer, ReadError> {
        let typed = Typed::read(&request.path, self.root)?;
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
        let mut scan = Scan::new(request);
        self.scan(&file, size, &mut scan)?;
        // It may have grown meanwhile.
        if whole && scan.read > MAX_WHOLE_BYTES {
            return Err(too_large(scan.read));
        }
        scan.answer(said(&path).0, size, request.encoding)
    }

    fn scan(&self, file: &RealFile, size: u64, scan: &mut Scan) -> Result<(), ReadError> {
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

/// What is known of a file as far as it has been read.
struct Scan {
    hash: Sha256,
    /// Bytes so far.
    read: u64,
    /// Whether that is all.
    ended: bool,
    /// The number of the line that the next byte belongs to.
    line: u64,
    /// Whether that line has a byte already.
    begun: bool,
    first: u64,
    /// The first line that is not wanted any more.
    end: u64,
    kept: Vec<u8>,
    /// Where in the file the kept bytes begin.
    kept_at: u64,
    /// More was wanted than an answer holds.
    full: bool,
}

impl Scan {
    fn new(request: &ReadRequest) -> Scan {
        let first = request.offset.unwrap_or(1).max(1);
        Scan {
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

    /// Whether everything that was wanted has been seen.
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
        encoding: Encoding,
    ) -> Result<ReadAnswer, ReadError> {
        let mut cut_line = false;
        if self.full {
            match memrchr(b'\n', &self.kept) {
                Some(last) => self.kept.truncate(last + 1),
                None => cut_line = true,
            }
        }
        if encoding == Encoding::Utf8 {
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
                Encoding::Base64 => STANDARD.encode(&self.kept),
                Encoding::Utf8 => String::from_utf8_lossy(&self.kept).into_owned(),
            },
        })
    }

    /// Makes sure that what is kept is text; a character that the cut went through is left out.
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

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::place::{Place, json};
    use super::*;
    use crate::path::PathError;
    use proptest::prelude::*;
    use std::fs;

    fn whole(path: &str) -> ReadRequest {
        ReadRequest {
            path: path.to_owned(),
            ..ReadRequest::default()
        }
    }

    fn part(path: &str, offset: u64, limit: u64) -> ReadRequest {
        ReadRequest {
            offset: Some(offset),
            limit: Some(limit),
            ..whole(path)
        }
    }

    fn base64(path: &str) -> ReadRequest {
        ReadRequest {
            encoding: Encoding::Base64,
            ..whole(path)
        }
    }

    fn read(place: &Place, request: &ReadRequest) -> String {
        json(place.reading().read_file(request))
    }

    #[test]
    fn a_file_is_read_as_it_is() {
        let place = Place::new();
        place.write("src/a.txt", "one\r\ntwo\nthree");
        assert_eq!(
            read(&place, &whole("src/a.txt")),
            r#"{"path":"src/a.txt","size":14,"hash":"a001fb8bcb239ae11063f9bc9096e8aa395c93249e3d465fd1e24de35ba88f55","total_lines":3,"first_line":1,"lines":3,"more":false,"next_offset":null,"truncated":false,"cut_line":false,"encoding":"utf8","content":"one\r\ntwo\nthree"}"#
        );
        assert_eq!(
            read(&place, &part("src/a.txt", 2, 1)),
            r#"{"path":"src/a.txt","size":14,"hash":"a001fb8bcb239ae11063f9bc9096e8aa395c93249e3d465fd1e24de35ba88f55","total_lines":3,"first_line":2,"lines":1,"more":true,"next_offset":3,"truncated":false,"cut_line":false,"encoding":"utf8","content":"two\n"}"#
        );
        place.write("empty", "");
        let empty = place.reading().read_file(&whole("empty")).unwrap();
        assert_eq!(
            (empty.total_lines, empty.lines, empty.more),
            (Some(0), 0, false)
        );
        let past = place.reading().read_file(&part("src/a.txt", 9, 5)).unwrap();
        assert_eq!(
            (past.content.as_str(), past.lines, past.more),
            ("", 0, false)
        );
        place.link("link", "src/a.txt");
        let linked = place.reading().read_file(&whole("link")).unwrap();
        assert_eq!(linked.path, "src/a.txt");
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let place = Place::new();
        place.write("dir/bad", b"ok\n\xff");
        place.write(".env", "A=1");
        place.link("innocent", ".env");
        place.link(".env.link", "dir/bad");
        place.link("out", "../evil/secret");
        place.link("environ", "/proc/self/environ");
        place.link("dangling", "dir/none");
        place.fifo("fifo");
        for (path, said) in [
            ("none", "none does not exist"),
            ("dangling", "dir/none does not exist"),
            ("none/x", "the directory none does not exist"),
            ("dir", "dir is a directory; list_files shows what is in it"),
            (
                "dir/bad",
                "the file is not UTF-8 at byte 3; ask for it with encoding base64",
            ),
            (
                ".env",
                ".env is not to be read here; a person can permit it in .candor/deny_read",
            ),
            (
                "innocent",
                ".env is not to be read here; a person can permit it in .candor/deny_read",
            ),
            (
                ".env.link",
                "dir/bad is not to be read here; a person can permit it in .candor/deny_read",
            ),
            ("out", "a link on the way leads out of the workspace"),
            ("environ", "a link on the way leads out of the workspace"),
            (
                "fifo",
                "the path names a named pipe, and only ordinary files can be used",
            ),
        ] {
            assert_eq!(read(&place, &whole(path)), said, "{path}");
        }
        let bytes = place.reading().read_file(&base64("dir/bad")).unwrap();
        assert_eq!(bytes.content, STANDARD.encode(b"ok\n\xff"));
        // Lines that are text are read from a file that is not.
        let good = place.reading().read_file(&part("dir/bad", 1, 1)).unwrap();
        assert_eq!(good.content, "ok\n");
    }

    #[test]
    fn a_long_file_is_read_in_parts() {
        let place = Place::new();
        let line = format!("{}\n", "x".repeat(99));
        let most = MAX_WHOLE_BYTES as usize / 100 + 1;
        place.write("long", line.repeat(most));
        let size = most as u64 * 100;
        assert_eq!(
            read(&place, &whole("long")),
            format!(
                "the file has {size} bytes and 5242880 can be read; ask for fewer lines, or earlier ones, with offset and limit"
            )
        );
        let answer = place
            .reading()
            .read_file(&part("long", 3, u64::MAX))
            .unwrap();
        let fit = (MAX_CONTENT_BYTES / 100) as u64;
        assert_eq!(answer.lines, fit);
        assert_eq!(answer.next_offset, Some(3 + fit));
        assert!(answer.truncated && answer.more && !answer.cut_line);
        let last = place
            .reading()
            .read_file(&part("long", most as u64, 1))
            .unwrap();
        assert_eq!((last.content, last.more), (line, false));
        assert_eq!(last.hash, answer.hash);
    }

    #[test]
    fn a_line_longer_than_an_answer_is_cut_between_characters() {
        let place = Place::new();
        place.write("line", format!("a{}\nend", "é".repeat(MAX_CONTENT_BYTES)));
        let answer = place.reading().read_file(&whole("line")).unwrap();
        assert_eq!(answer.content.len(), MAX_CONTENT_BYTES - 1);
        assert!(answer.truncated && answer.cut_line && answer.more);
        assert_eq!((answer.lines, answer.next_offset), (1, Some(2)));
        let end = place.reading().read_file(&part("line", 2, 9)).unwrap();
        assert_eq!((end.content.as_str(), end.more), ("end", false));
    }

    #[test]
    fn of_a_huge_file_the_beginning_is_read() {
        let place = Place::new();
        let file = fs::File::create(place.at("huge")).unwrap();
        std::io::Write::write_all(&mut &file, b"one\ntwo\n").unwrap();
        file.set_len(MAX_SCAN_BYTES * 1000).unwrap();
        let answer = place.reading().read_file(&part("huge", 2, 1)).unwrap();
        assert_eq!(
            (answer.content.as_str(), answer.size),
            ("two\n", MAX_SCAN_BYTES * 1000)
        );
        assert_eq!(
            (answer.hash, answer.total_lines, answer.next_offset),
            (None, None, Some(3))
        );
    }

    #[test]
    fn whoever_says_stop_is_heard() {
        let place = Place::new();
        place.write("a", "x");
        let stopped = place.until(&|| true).read_file(&whole("a"));
        assert!(matches!(stopped, Err(ReadError::Stopped)));
    }

    #[test]
    fn a_race_reads_nothing_outside() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let place = Place::new();
        place.write("d/secret", "fine\n");
        place.link("e", "../evil");
        let done = AtomicBool::new(false);
        let mut read = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let cwd = rustix::fs::CWD;
                let swap = rustix::fs::RenameFlags::EXCHANGE;
                let (d, e) = (place.at("d"), place.at("e"));
                while !done.load(Ordering::Relaxed) {
                    rustix::fs::renameat_with(cwd, &d, cwd, &e, swap).unwrap();
                }
            });
            for _ in 0..5_000 {
                match place.reading().read_file(&whole("d/secret")) {
                    Ok(answer) => {
                        assert_eq!(answer.content, "fine\n");
                        read += 1;
                    }
                    Err(ReadError::Path(PathError::Outside { typed: false })) => {}
                    Err(ReadError::NotFound { .. }) => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        assert!(read > 0);
    }

    proptest! {
        /// Any part of any text is what splitting the text into lines says it is.
        #[test]
        fn a_part_is_those_lines(text in "([abé]|\n|\r\n){0,30}", offset in 1u64..12, limit in 0u64..12) {
            let place = Place::new();
            place.write("t", &text);
            let answer = place.reading().read_file(&part("t", offset, limit)).unwrap();
            let all: Vec<&str> = text.split_inclusive('\n').collect();
            let some: Vec<&str> =
                all.iter().skip(offset as usize - 1).take(limit as usize).copied().collect();
            prop_assert_eq!(answer.content, some.concat());
            prop_assert_eq!(answer.total_lines, Some(all.len() as u64));
            prop_assert_eq!(answer.lines, some.len() as u64);
            prop_assert_eq!(answer.more, offset as usize - 1 + some.len() < all.len());
        }

        /// However the bytes arrive, the same is kept.
        #[test]
        fn pieces_make_no_difference(text in "[ab\n]{0,40}", cut in 0usize..40, offset in 1u64..5) {
            let request = part("t", offset, 3);
            let (mut once, mut twice) = (Scan::new(&request), Scan::new(&request));
            once.take(text.as_bytes());
            let (left, right) = text.as_bytes().split_at(cut.min(text.len()));
            twice.take(left);
            twice.take(right);
            for scan in [&mut once, &mut twice] {
                scan.ended = true;
            }
            let answers = [once, twice].map(|scan| scan.answer(String::new(), 0, Encoding::Utf8).unwrap());
            prop_assert_eq!(&answers[0], &answers[1]);
        }
    }
}
