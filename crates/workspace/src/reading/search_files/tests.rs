//! Matches, skipped files, and bounds.

use super::super::fixture::{Fixture, json};
use super::*;
use proptest::prelude::*;

fn search_for(pattern: &str) -> SearchRequest {
    SearchRequest {
        pattern: pattern.to_owned(),
        ..SearchRequest::default()
    }
}

fn search_in(pattern: &str, path: &str) -> SearchRequest {
    SearchRequest {
        path: Some(path.to_owned()),
        ..search_for(pattern)
    }
}

fn search(fixture: &Fixture, request: &SearchRequest) -> SearchAnswer {
    fixture.reading().search_files(request).unwrap()
}

/// Returns the positions of the matches in one line.
fn positions(answer: &SearchAnswer) -> String {
    let position = |hit: &LineMatch| format!("{}:{}:{}", hit.path, hit.line, hit.column);
    let positions: Vec<String> = answer.matches.iter().map(position).collect();
    positions.join(" ")
}

#[test]
fn audit_log_is_not_searched() {
    let fixture = Fixture::new();
    for name in [
        "audit-log.jsonl",
        "audit-log.jsonl.000001",
        "sub/audit-log.jsonl",
    ] {
        fixture.write(name, "needle");
    }
    let answer = search(&fixture, &search_for("needle"));
    assert_eq!(positions(&answer), "sub/audit-log.jsonl:1:1");
    assert_eq!((answer.files, answer.skipped.protected), (1, 2));
}

#[test]
fn matches_are_returned_in_order() {
    let fixture = Fixture::new();
    fixture.write("b.rs", "fn one() {}\r\nfn two() {}\r\n");
    fixture.write("a/x.rs", "// é fn two\n\nfn two() { two() }");
    fixture.write("a/y.txt", "fn two");
    fixture.link("out", "../evil/secret");
    fixture.link("again", "b.rs");
    let request = SearchRequest {
        glob: Some("*.rs".to_owned()),
        ..search_for(r"two\(\)|fn two$")
    };
    assert_eq!(
        json(fixture.reading().search_files(&request)),
        concat!(
            r#"{"matches":["#,
            r#"{"path":"a/x.rs","line":1,"column":6,"text":"// é fn two"},"#,
            r#"{"path":"a/x.rs","line":3,"column":4,"text":"fn two() { two() }"},"#,
            r#"{"path":"b.rs","line":2,"column":4,"text":"fn two() {}"}"#,
            r#"],"files":2,"skipped":{"denied":0,"ignored":0,"binary":0,"too_large":0,"long_line":0,"unreadable":0},"truncated":null}"#
        )
    );
    assert_eq!(positions(&search(&fixture, &search_for("SECRET"))), "");
    assert_eq!(
        positions(&search(&fixture, &search_for(r"\{\}$"))),
        "b.rs:1:10 b.rs:2:10"
    );
    let either = SearchRequest {
        ignore_case: true,
        ..search_in("FN ONE", "b.rs")
    };
    assert_eq!(positions(&search(&fixture, &either)), "b.rs:1:1");
    assert_eq!(
        positions(&search(&fixture, &search_in("fn", "again"))),
        "b.rs:1:1 b.rs:2:1"
    );
    assert_eq!(
        positions(&search(&fixture, &search_in("one|fn two$", "a"))),
        "a/x.rs:1:6 a/y.txt:1:1"
    );
}

#[test]
fn skipped_files_are_counted() {
    let fixture = Fixture::new();
    fixture.write(".env", "needle");
    fixture.write("x/server.pem", "needle");
    fixture.write("binary", b"needle\n\0");
    fixture.write("late", format!("needle\n{}\0", "hay\n".repeat(50_000)));
    fixture.write(
        "large",
        "needle\n".repeat(MAX_SEARCHED_FILE as usize / 7 + 1),
    );
    fixture.write(
        "long",
        format!("hay\n{}needle\n", "x".repeat(MAX_SEARCHED_LINE)),
    );
    fixture.write("target/a", "needle");
    fixture.write("x.log", "needle");
    fixture.write(".gitignore", "target/\n*.log\n");
    fixture.write(".git/x", "needle");
    fixture.write("good", "needle");
    fixture.fifo("fifo");
    let answer = search(&fixture, &search_for("needle"));
    assert_eq!(positions(&answer), "good:1:1");
    let skipped = SkippedFiles {
        denied: 2,
        ignored: 2,
        binary: 2,
        too_large: 1,
        long_line: 1,
        unreadable: 0,
        protected: 0,
    };
    assert_eq!(
        (answer.skipped, answer.files, answer.truncated),
        (skipped, 3, None)
    );
    assert_eq!(
        positions(&search(&fixture, &search_in("needle", "target"))),
        "target/a:1:1"
    );
    let denied = fixture.reading().search_files(&search_in("needle", ".env"));
    assert!(matches!(denied, Err(ReadError::Denied { .. })));
}

#[test]
fn full_answer_is_marked_as_truncated() {
    let fixture = Fixture::new();
    fixture.write("a", "x\n".repeat(MAX_MATCHES - 1));
    fixture.write("b", "x\n");
    let full = search(&fixture, &search_for("x"));
    assert_eq!((full.matches.len(), full.truncated), (MAX_MATCHES, None));
    fixture.write("c", "x\nx\n");
    let over = search(&fixture, &search_for("x"));
    assert_eq!(
        (over.matches.len(), over.truncated),
        (MAX_MATCHES, Some(Truncation::Answer))
    );
}

#[test]
fn searched_files_and_bytes_are_bounded() {
    let matcher = matcher(&search_for("x")).unwrap();
    let path = Path::new("f");
    let mut search = Search::new(&matcher, &|| false);
    search.files = MAX_SEARCHED_FILES - 1;
    search.file(path, 1, b"x".as_slice());
    assert_eq!((search.matches.len(), search.cut), (1, None));
    search.file(path, 1, b"x".as_slice());
    assert_eq!(
        (search.matches.len(), search.cut),
        (1, Some(Truncation::Work))
    );
    let mut search = Search::new(&matcher, &|| false);
    search.bytes = MAX_SEARCHED_BYTES - 1;
    search.file(path, 1, b"x".as_slice());
    assert_eq!((search.matches.len(), search.cut), (1, None));
    search.file(path, 1, b"x".as_slice());
    assert_eq!(
        (search.matches.len(), search.cut),
        (1, Some(Truncation::Work))
    );
}

#[test]
fn growing_file_is_searched_up_to_the_limit() {
    let matcher = matcher(&search_for("x")).unwrap();
    let part = format!("{}x\n", " \n".repeat(20_000));
    let endless = part.repeat(1_000);
    let mut search = Search::new(&matcher, &|| false);
    search.file(Path::new("f"), 1, endless.as_bytes());
    let fit = MAX_SEARCHED_FILE as usize / part.len();
    assert_eq!((search.matches.len(), search.cut), (fit, None));
}

#[test]
fn useful_patterns_are_accepted() {
    for pattern in [
        r"(?i)\b(\w+)::(\w+)\s*\(\s*&?mut\s+self",
        r"^\s*(pub(\(\w+\))?\s+)?(async\s+)?fn\s+\w+",
        r"https?://[\w.-]+(:\d+)?/\S*",
        r"\p{Greek}+|\p{Han}{2,4}",
        r"[\w.+-]+@[\w-]+\.[\w.-]+",
        r"\b[0-9a-f]{40}\b|\b[0-9a-f]{64}\b",
    ] {
        assert!(matcher(&search_for(pattern)).is_ok(), "{pattern}");
    }
}

#[test]
fn utf16_text_is_recognised_by_its_mark() {
    let fixture = Fixture::new();
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    fixture.write("wide", wide("\u{feff}one\r\nnaïve\r\n"));
    fixture.write("unmarked", wide("naïve"));
    let answer = search(&fixture, &search_for("ï"));
    assert_eq!(
        (positions(&answer).as_str(), answer.skipped.binary),
        ("wide:2:3", 1)
    );
}

#[test]
fn match_in_a_long_line_is_shown_with_its_surroundings() {
    let fixture = Fixture::new();
    fixture.write(
        "min.js",
        format!("{}needle{}", "é".repeat(5_000), "z".repeat(5_000)),
    );
    let hit = &search(&fixture, &search_for("needle")).matches[0];
    assert_eq!(hit.column, 5_001);
    assert!(hit.cut);
    let expected = format!("{}needle{}", "é".repeat(100), "z".repeat(MATCH_CHARS - 106));
    assert_eq!(hit.text, expected);
    assert_eq!(part(b"abc", 9), (4, "abc".to_owned(), false));
}

#[test]
fn invalid_pattern_is_refused() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    for (pattern, expected) in [
        ("", "the pattern cannot be used: it is empty"),
        (
            r"a\nb",
            "the pattern cannot be used: the literal \"\\n\" is not allowed in a regex",
        ),
        (
            r"\w{5000}",
            "the pattern cannot be used: compiled regex exceeds size limit of 262144",
        ),
        (
            &"x".repeat(MAX_PATTERN_CHARS + 1),
            "the pattern cannot be used: it is longer than 1000 characters",
        ),
    ] {
        let answer = json(fixture.reading().search_files(&search_for(pattern)));
        assert_eq!(answer, expected);
    }
    for pattern in [
        "(",
        "a{2",
        "[z-a]",
        &"(".repeat(100),
        &format!("{}a{}", "(".repeat(65), ")".repeat(65)),
    ] {
        let refused = fixture.reading().search_files(&search_for(pattern));
        match refused {
            Err(ReadError::Pattern(reason)) => assert!(reason.chars().count() <= COMPLAINT_CHARS),
            other => panic!("{pattern}: {other:?}"),
        }
    }
}

#[test]
fn search_stops_within_a_file() {
    let fixture = Fixture::new();
    fixture.write("a", "x\n".repeat(1_000_000));
    let polls = Cell::new(0);
    let stop = || {
        polls.set(polls.get() + 1);
        polls.get() > 4
    };
    let answer = fixture.until(&stop).search_files(&search_for("y")).unwrap();
    assert_eq!(answer.truncated, Some(Truncation::Time));
    assert!(polls.get() < 10);
}

#[test]
fn directory_swapped_for_a_link_is_not_followed() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let fixture = Fixture::new();
    fixture.write("d/secret", "SECRE7\n");
    fixture.link("e", "../evil");
    let done = AtomicBool::new(false);
    let mut count = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let cwd = rustix::fs::CWD;
            let swap = rustix::fs::RenameFlags::EXCHANGE;
            let (d, e) = (fixture.at("d"), fixture.at("e"));
            while !done.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(cwd, &d, cwd, &e, swap).unwrap();
            }
        });
        for _ in 0..1_000 {
            let answer = search(&fixture, &search_for("SECRE"));
            count += answer.matches.len();
            assert!(answer.matches.iter().all(|hit| hit.text == "SECRE7"));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(count > 0);
}

proptest! {
    /// Plain words match at the same lines and columns as a naive search finds.
    #[test]
    fn positions_agree_with_a_naive_search(text in "([abé ]|\n|\r\n){0,40}", word in "[abé]{1,2}") {
        let fixture = Fixture::new();
        fixture.write("t", &text);
        let actual: Vec<(u64, u64, String)> = search(&fixture, &search_for(&word))
            .matches
            .into_iter()
            .map(|hit| (hit.line, hit.column, hit.text))
            .collect();
        let expected: Vec<(u64, u64, String)> = (1..)
            .zip(text.lines())
            .filter_map(|(number, line)| {
                let at = line.find(&word)?;
                Some((number, line[..at].chars().count() as u64 + 1, line.to_owned()))
            })
            .collect();
        prop_assert_eq!(actual, expected);
    }
}
