//! Lines of a log by number and from its end, across files.

use crate::fixture::{LogFixture, set};
use candor_audit::{LogLine, LogOptions, last_lines, lines, page};
use candor_sim_disk::{DiskEvent, DiskOperation};

fn numbers(lines: &[LogLine]) -> Vec<u64> {
    lines.iter().map(|line| line.seq.unwrap()).collect()
}

/// Returns a log of 3000 lines in several files.
fn long_log() -> LogFixture {
    let fixture = LogFixture::new();
    let options = LogOptions {
        rotate_at: 200_000,
        ..fixture.options()
    };
    fixture.append_with(3000, &"x".repeat(60), options);
    fixture
}

#[test]
fn lines_are_found_by_number_without_reading_the_rest() {
    let fixture = long_log();
    let read = || {
        let journal = fixture.log.journal();
        let bytes = journal.iter().map(|event| match event {
            DiskEvent::Operation {
                operation: DiskOperation::Read { len, .. },
                ..
            } if *len < 1 << 20 => *len as u64,
            _ => 0,
        });
        bytes.sum::<u64>()
    };
    for from in [0, 1, 2, 500, 1499, 2999, 3000] {
        let before = read();
        let mut all = lines(fixture.log.clone(), "log", from).unwrap();
        let first = all.next().unwrap().unwrap();
        assert_eq!(first.seq, Some(from.max(1)));
        assert!(read() - before < 100_000, "{from}");
        let rest: Vec<LogLine> = all.map(Result::unwrap).collect();
        assert_eq!(rest.len() as u64, 3000 - from.max(1));
        assert!(
            rest.iter()
                .map(|line| line.seq.unwrap())
                .eq(from.max(1) + 1..=3000)
        );
    }
    assert!(
        lines(fixture.log.clone(), "log", 3001)
            .unwrap()
            .next()
            .is_none()
    );
    assert!(
        lines(fixture.log.clone(), "other", 1)
            .unwrap()
            .next()
            .is_none()
    );
}

#[test]
fn page_is_bounded_in_lines_and_bytes() {
    let fixture = long_log();
    let few = page(fixture.log.clone(), "log", 10, 3, 1 << 20).unwrap();
    assert_eq!((numbers(&few.lines), few.more), (vec![11, 12, 13], true));
    let last = page(fixture.log.clone(), "log", 2998, 3, 1 << 20).unwrap();
    assert_eq!((numbers(&last.lines), last.more), (vec![2999, 3000], false));
    let length = few.lines[0].bytes.len();
    let short = page(fixture.log.clone(), "log", 10, 9, 2 * length).unwrap();
    assert_eq!((numbers(&short.lines), short.more), (vec![11, 12], true));
    let one = page(fixture.log.clone(), "log", 10, 9, 1).unwrap();
    assert_eq!((numbers(&one.lines), one.more), (vec![11], true));
    let none = page(fixture.log.clone(), "log", u64::MAX, 9, 1).unwrap();
    assert_eq!((numbers(&none.lines), none.more), (vec![], false));
}

#[test]
fn last_lines_come_from_several_files() {
    let fixture = long_log();
    for count in [0, 1, 2, 700, 1500, 3000, 9999] {
        let last = last_lines(fixture.log.clone(), "log", count, 1 << 24).unwrap();
        let first = 3001 - (count as u64).min(3000);
        assert!(numbers(&last).into_iter().eq(first..=3000), "{count}");
    }
    let bounded = last_lines(fixture.log.clone(), "log", 9999, 1000).unwrap();
    assert!(!bounded.is_empty() && bounded.len() < 5);
    assert_eq!(bounded.last().unwrap().seq, Some(3000));
}

/// A broken log can still be read; an incomplete line at its end is left out.
#[test]
fn broken_lines_are_returned_unchanged() {
    let fixture = LogFixture::new();
    fixture.append(3, "a");
    let text = fixture
        .text()
        .replacen('{', "what?", 2)
        .replacen("what?", "{", 1)
        + "{\"half";
    set(&fixture.log, "log", &text);
    let all: Vec<LogLine> = lines(fixture.log.clone(), "log", 0)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let seqs: Vec<_> = all.iter().map(|line| line.seq).collect();
    assert_eq!(seqs, [Some(1), None, Some(3)]);
    assert!(all[1].bytes.starts_with(b"what?"));
    assert_eq!(
        last_lines(fixture.log.clone(), "log", 2, 9999).unwrap(),
        all[1..]
    );
    let third = page(fixture.log.clone(), "log", 2, 9, 9999).unwrap();
    assert_eq!(numbers(&third.lines), [3]);
}
