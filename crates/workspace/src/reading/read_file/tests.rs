//! Reading files, refusals, and bounds.

use super::super::fixture::{Fixture, json};
use super::*;
use crate::path::PathError;
use proptest::prelude::*;
use std::fs;

fn whole_file(path: &str) -> ReadRequest {
    ReadRequest {
        path: path.to_owned(),
        ..ReadRequest::default()
    }
}

fn lines_of(path: &str, offset: u64, limit: u64) -> ReadRequest {
    ReadRequest {
        offset: Some(offset),
        limit: Some(limit),
        ..whole_file(path)
    }
}

fn base64(path: &str) -> ReadRequest {
    ReadRequest {
        encoding: ContentEncoding::Base64,
        ..whole_file(path)
    }
}

fn read(fixture: &Fixture, request: &ReadRequest) -> String {
    json(fixture.reading().read_file(request))
}

#[test]
fn file_is_read_unchanged() {
    let fixture = Fixture::new();
    fixture.write("src/a.txt", "one\r\ntwo\nthree");
    assert_eq!(
        read(&fixture, &whole_file("src/a.txt")),
        r#"{"path":"src/a.txt","size":14,"hash":"a001fb8bcb239ae11063f9bc9096e8aa395c93249e3d465fd1e24de35ba88f55","total_lines":3,"first_line":1,"lines":3,"more":false,"next_offset":null,"truncated":false,"cut_line":false,"encoding":"utf8","content":"one\r\ntwo\nthree"}"#
    );
    assert_eq!(
        read(&fixture, &lines_of("src/a.txt", 2, 1)),
        r#"{"path":"src/a.txt","size":14,"hash":"a001fb8bcb239ae11063f9bc9096e8aa395c93249e3d465fd1e24de35ba88f55","total_lines":3,"first_line":2,"lines":1,"more":true,"next_offset":3,"truncated":false,"cut_line":false,"encoding":"utf8","content":"two\n"}"#
    );
    fixture.write("empty", "");
    let empty = fixture.reading().read_file(&whole_file("empty")).unwrap();
    assert_eq!(
        (empty.total_lines, empty.lines, empty.more),
        (Some(0), 0, false)
    );
    let past = fixture
        .reading()
        .read_file(&lines_of("src/a.txt", 9, 5))
        .unwrap();
    assert_eq!(
        (past.content.as_str(), past.lines, past.more),
        ("", 0, false)
    );
    fixture.link("link", "src/a.txt");
    let linked = fixture.reading().read_file(&whole_file("link")).unwrap();
    assert_eq!(linked.path, "src/a.txt");
}

#[test]
fn unreadable_paths_are_refused_with_a_reason() {
    let fixture = Fixture::new();
    fixture.write("dir/bad", b"ok\n\xff");
    fixture.write(".env", "A=1");
    fixture.link("innocent", ".env");
    fixture.link(".env.link", "dir/bad");
    fixture.link("out", "../evil/secret");
    fixture.link("environ", "/proc/self/environ");
    fixture.link("dangling", "dir/none");
    fixture.fifo("fifo");
    for (path, expected) in [
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
        assert_eq!(read(&fixture, &whole_file(path)), expected, "{path}");
    }
    let bytes = fixture.reading().read_file(&base64("dir/bad")).unwrap();
    assert_eq!(bytes.content, STANDARD.encode(b"ok\n\xff"));
    // Lines that are text are read from a file that is not.
    let good = fixture
        .reading()
        .read_file(&lines_of("dir/bad", 1, 1))
        .unwrap();
    assert_eq!(good.content, "ok\n");
}

#[test]
fn long_file_is_read_in_parts() {
    let fixture = Fixture::new();
    let line = format!("{}\n", "x".repeat(99));
    let most = MAX_WHOLE_BYTES as usize / 100 + 1;
    fixture.write("long", line.repeat(most));
    let size = most as u64 * 100;
    assert_eq!(
        read(&fixture, &whole_file("long")),
        format!(
            "the file has {size} bytes and 5242880 can be read; ask for fewer lines, or earlier ones, with offset and limit"
        )
    );
    let answer = fixture
        .reading()
        .read_file(&lines_of("long", 3, u64::MAX))
        .unwrap();
    let fit = (MAX_CONTENT_BYTES / 100) as u64;
    assert_eq!(answer.lines, fit);
    assert_eq!(answer.next_offset, Some(3 + fit));
    assert!(answer.truncated && answer.more && !answer.cut_line);
    let last = fixture
        .reading()
        .read_file(&lines_of("long", most as u64, 1))
        .unwrap();
    assert_eq!((last.content, last.more), (line, false));
    assert_eq!(last.hash, answer.hash);
}

#[test]
fn line_longer_than_an_answer_is_cut_between_characters() {
    let fixture = Fixture::new();
    fixture.write("line", format!("a{}\nend", "é".repeat(MAX_CONTENT_BYTES)));
    let answer = fixture.reading().read_file(&whole_file("line")).unwrap();
    assert_eq!(answer.content.len(), MAX_CONTENT_BYTES - 1);
    assert!(answer.truncated && answer.cut_line && answer.more);
    assert_eq!((answer.lines, answer.next_offset), (1, Some(2)));
    let end = fixture
        .reading()
        .read_file(&lines_of("line", 2, 9))
        .unwrap();
    assert_eq!((end.content.as_str(), end.more), ("end", false));
}

#[test]
fn only_the_beginning_of_a_huge_file_is_read() {
    let fixture = Fixture::new();
    let file = fs::File::create(fixture.at("huge")).unwrap();
    std::io::Write::write_all(&mut &file, b"one\ntwo\n").unwrap();
    file.set_len(MAX_SCAN_BYTES * 1000).unwrap();
    let answer = fixture
        .reading()
        .read_file(&lines_of("huge", 2, 1))
        .unwrap();
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
fn stopped_read_returns_an_error() {
    let fixture = Fixture::new();
    fixture.write("a", "x");
    let stopped = fixture.until(&|| true).read_file(&whole_file("a"));
    assert!(matches!(stopped, Err(ReadError::Stopped)));
}

#[test]
fn race_with_a_link_reads_nothing_outside() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let fixture = Fixture::new();
    fixture.write("d/secret", "fine\n");
    fixture.link("e", "../evil");
    let done = AtomicBool::new(false);
    let mut read = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let cwd = rustix::fs::CWD;
            let swap = rustix::fs::RenameFlags::EXCHANGE;
            let (d, e) = (fixture.at("d"), fixture.at("e"));
            while !done.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(cwd, &d, cwd, &e, swap).unwrap();
            }
        });
        for _ in 0..5_000 {
            match fixture.reading().read_file(&whole_file("d/secret")) {
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
    /// Any part of any text agrees with splitting the text into lines.
    #[test]
    fn part_agrees_with_splitting_into_lines(text in "([abé]|\n|\r\n){0,30}", offset in 1u64..12, limit in 0u64..12) {
        let fixture = Fixture::new();
        fixture.write("t", &text);
        let answer = fixture.reading().read_file(&lines_of("t", offset, limit)).unwrap();
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        let some: Vec<&str> =
            all.iter().skip(offset as usize - 1).take(limit as usize).copied().collect();
        prop_assert_eq!(answer.content, some.concat());
        prop_assert_eq!(answer.total_lines, Some(all.len() as u64));
        prop_assert_eq!(answer.lines, some.len() as u64);
        prop_assert_eq!(answer.more, offset as usize - 1 + some.len() < all.len());
    }

    /// The answer does not depend on how the bytes are split.
    #[test]
    fn split_input_gives_the_same_answer(text in "[ab\n]{0,40}", cut in 0usize..40, offset in 1u64..5) {
        let request = lines_of("t", offset, 3);
        let (mut once, mut twice) = (FileScan::new(&request), FileScan::new(&request));
        once.take(text.as_bytes());
        let (left, right) = text.as_bytes().split_at(cut.min(text.len()));
        twice.take(left);
        twice.take(right);
        for scan in [&mut once, &mut twice] {
            scan.ended = true;
        }
        let answers = [once, twice].map(|scan| scan.answer(String::new(), 0, ContentEncoding::Utf8).unwrap());
        prop_assert_eq!(&answers[0], &answers[1]);
    }
}
