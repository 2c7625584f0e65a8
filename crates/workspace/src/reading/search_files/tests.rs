//! Matches, skipped files, and bounds.

use super::super::fixture::{Fixture, json};
use super::*;
use proptest::prelude::*;

fn ask(pattern: &str) -> SearchRequest {
    SearchRequest {
        pattern: pattern.to_owned(),
        ..SearchRequest::default()
    }
}

fn within(pattern: &str, path: &str) -> SearchRequest {
    SearchRequest {
        path: Some(path.to_owned()),
        ..ask(pattern)
    }
}

fn search(fixture: &Fixture, request: &SearchRequest) -> SearchAnswer {
    fixture.reading().search_files(request).unwrap()
}

/// Returns the positions of the matches in one line.
fn places(answer: &SearchAnswer) -> String {
    let fixture = |found: &LineMatch| format!("{}:{}:{}", found.path, found.line, found.column);
    let places: Vec<String> = answer.matches.iter().map(fixture).collect();
    places.join(" ")
}

#[test]
fn lines_are_found_in_order() {
    let fixture = Fixture::new();
    fixture.write("b.rs", "fn one() {}\r\nfn two() {}\r\n");
    fixture.write("a/x.rs", "// é fn two\n\nfn two() { two() }");
    fixture.write("a/y.txt", "fn two");
    fixture.link("out", "../evil/secret");
    fixture.link("again", "b.rs");
    let request = SearchRequest {
        glob: Some("*.rs".to_owned()),
        ..ask(r"two\(\)|fn two$")
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
    assert_eq!(places(&search(&fixture, &ask("SECRET"))), "");
    assert_eq!(
        places(&search(&fixture, &ask(r"\{\}$"))),
        "b.rs:1:10 b.rs:2:10"
    );
    let either = SearchRequest {
        ignore_case: true,
        ..within("FN ONE", "b.rs")
    };
    assert_eq!(places(&search(&fixture, &either)), "b.rs:1:1");
    assert_eq!(
        places(&search(&fixture, &within("fn", "again"))),
        "b.rs:1:1 b.rs:2:1"
    );
    assert_eq!(
        places(&search(&fixture, &within("one|fn two$", "a"))),
        "a/x.rs:1:6 a/y.txt:1:1"
    );
}

#[test]
fn what_is_skipped_is_counted() {
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
    let answer = search(&fixture, &ask("needle"));
    assert_eq!(places(&answer), "good:1:1");
    let skipped = SkippedFiles {
        denied: 2,
        ignored: 2,
        binary: 2,
        too_large: 1,
        long_line: 1,
        unreadable: 0,
    };
    assert_eq!(
        (answer.skipped, answer.files, answer.truncated),
        (skipped, 3, None)
    );
    assert_eq!(
        places(&search(&fixture, &within("needle", "target"))),
        "target/a:1:1"
    );
    let denied = fixture.reading().search_files(&within("needle", ".env"));
    assert!(matches!(denied, Err(ReadError::Denied { .. })));
}

#[test]
fn a_full_answer_says_so() {
    let fixture = Fixture::new();
    fixture.write("a", "x\n".repeat(MAX_MATCHES - 1));
    fixture.write("b", "x\n");
    let full = search(&fixture, &ask("x"));
    assert_eq!((full.matches.len(), full.truncated), (MAX_MATCHES, None));
    fixture.write("c", "x\nx\n");
    let over = search(&fixture, &ask("x"));
    assert_eq!(
        (over.matches.len(), over.truncated),
        (MAX_MATCHES, Some(Truncation::Answer))
    );
}

#[test]
fn a_call_searches_a_bounded_number_of_files_and_bytes() {
    let matcher = matcher(&ask("x")).unwrap();
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
fn a_file_that_grows_is_searched_as_far_as_it_may_be() {
    let matcher = matcher(&ask("x")).unwrap();
    let part = format!("{}x\n", " \n".repeat(20_000));
    let endless = part.repeat(1_000);
    let mut search = Search::new(&matcher, &|| false);
    search.file(Path::new("f"), 1, endless.as_bytes());
    let fit = MAX_SEARCHED_FILE as usize / part.len();
    assert_eq!((search.matches.len(), search.cut), (fit, None));
}

#[test]
fn useful_patterns_are_small_enough() {
    for pattern in [
        r"(?i)\b(\w+)::(\w+)\s*\(\s*&?mut\s+self",
        r"^\s*(pub(\(\w+\))?\s+)?(async\s+)?fn\s+\w+",
        r"https?://[\w.-]+(:\d+)?/\S*",
        r"\p{Greek}+|\p{Han}{2,4}",
        r"[\w.+-]+@[\w-]+\.[\w.-]+",
        r"\b[0-9a-f]{40}\b|\b[0-9a-f]{64}\b",
    ] {
        assert!(matcher(&ask(pattern)).is_ok(), "{pattern}");
    }
}

#[test]
fn text_in_sixteen_bits_is_read_by_its_mark() {
    let fixture = Fixture::new();
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    fixture.write("wide", wide("\u{feff}one\r\nnaïve\r\n"));
    fixture.write("unmarked", wide("naïve"));
    let answer = search(&fixture, &ask("ï"));
    assert_eq!(
        (places(&answer).as_str(), answer.skipped.binary),
        ("wide:2:3", 1)
    );
}

#[test]
fn of_a_long_line_the_part_around_the_match_is_shown() {
    let fixture = Fixture::new();
    fixture.write(
        "min.js",
        format!("{}needle{}", "é".repeat(5_000), "z".repeat(5_000)),
    );
    let found = &search(&fixture, &ask("needle")).matches[0];
    assert_eq!(found.column, 5_001);
    assert!(found.cut);
    let expected = format!("{}needle{}", "é".repeat(100), "z".repeat(MATCH_CHARS - 106));
    assert_eq!(found.text, expected);
    assert_eq!(part(b"abc", 9), (4, "abc".to_owned(), false));
}

#[test]
fn a_pattern_that_cannot_be_used_is_refused() {
    let fixture = Fixture::new();
    fixture.write("a", "a");
    for (pattern, display_path) in [
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
        let answer = json(fixture.reading().search_files(&ask(pattern)));
        assert_eq!(answer, display_path);
    }
    for pattern in [
        "(",
        "a{2",
        "[z-a]",
        &"(".repeat(100),
        &format!("{}a{}", "(".repeat(65), ")".repeat(65)),
    ] {
        let refused = fixture.reading().search_files(&ask(pattern));
        match refused {
            Err(ReadError::Pattern(why)) => assert!(why.chars().count() <= COMPLAINT_CHARS),
            other => panic!("{pattern}: {other:?}"),
        }
    }
}

#[test]
fn whoever_says_stop_is_heard_within_a_file() {
    let fixture = Fixture::new();
    fixture.write("a", "x\n".repeat(1_000_000));
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 4
    };
    let answer = fixture.until(&stop).search_files(&ask("y")).unwrap();
    assert_eq!(answer.truncated, Some(Truncation::Time));
    assert!(asked.get() < 10);
}

#[test]
fn a_directory_that_is_swapped_for_a_link_is_not_followed() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let fixture = Fixture::new();
    fixture.write("d/secret", "SECRE7\n");
    fixture.link("e", "../evil");
    let done = AtomicBool::new(false);
    let mut found = 0;
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
            let answer = search(&fixture, &ask("SECRE"));
            found += answer.matches.len();
            assert!(answer.matches.iter().all(|found| found.text == "SECRE7"));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(found > 0);
}

proptest! {
    /// Plain words match at the same lines and columns as a naive search finds.
    #[test]
    fn words_are_where_they_are(text in "([abé ]|\n|\r\n){0,40}", word in "[abé]{1,2}") {
        let fixture = Fixture::new();
        fixture.write("t", &text);
        let found: Vec<(u64, u64, String)> = search(&fixture, &ask(&word))
            .matches
            .into_iter()
            .map(|found| (found.line, found.column, found.text))
            .collect();
        let expected: Vec<(u64, u64, String)> = (1..)
            .zip(text.lines())
            .filter_map(|(number, line)| {
                let at = line.find(&word)?;
                Some((number, line[..at].chars().count() as u64 + 1, line.to_owned()))
            })
            .collect();
        prop_assert_eq!(found, expected);
    }
}
