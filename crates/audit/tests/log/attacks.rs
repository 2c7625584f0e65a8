//! Attacks on a log: each is detected, with the first line that is not intact.

use crate::fixture::{LogFixture, set, text};
use candor_audit::{LogFlaw, LogOptions, verify, verify_against, verify_from};
use candor_disk::Disk;

/// Returns a log of ten lines, and its text.
fn ten_lines() -> (LogFixture, String) {
    let fixture = LogFixture::new();
    fixture.append(10, "a");
    let text = fixture.text();
    (fixture, text)
}

/// Verifies against both checkpoints, and from the last one.
fn flaw_of(fixture: &LogFixture) -> Option<LogFlaw> {
    let checkpoints = fixture.checkpoints();
    let whole = verify_against(fixture.log.clone(), "log", &checkpoints).unwrap();
    let newest = checkpoints.iter().max_by_key(|checkpoint| checkpoint.seq);
    let short = verify_from(fixture.log.clone(), "log", newest.unwrap()).unwrap();
    if short.flaw.is_some() {
        assert_eq!(short.flaw, whole.flaw);
    }
    whole.flaw
}

fn flaw_of_text(text: &str) -> Option<LogFlaw> {
    let (fixture, _) = ten_lines();
    fixture.set(text);
    flaw_of(&fixture)
}

#[test]
fn edited_line_is_detected() {
    let (_, text) = ten_lines();
    for n in 0..10 {
        let edited = text.replace(&format!("\"n\":{n}"), "\"n\":77");
        assert_eq!(flaw_of_text(&edited), Some(LogFlaw::Changed(n + 1)));
    }
    assert_eq!(
        flaw_of_text(&text.replace("\"seq\":4,", "\"seq\":5,")),
        Some(LogFlaw::Changed(4))
    );
}

#[test]
fn removed_and_swapped_lines_are_detected() {
    let (_, text) = ten_lines();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for gone in 0..10 {
        let mut remaining = lines.clone();
        remaining.remove(gone);
        let expected = match gone {
            9 => LogFlaw::Truncated(10),
            gone => LogFlaw::Missing(gone as u64 + 1),
        };
        assert_eq!(flaw_of_text(&remaining.concat()), Some(expected));
    }
    for index in 0..9 {
        let mut swapped = lines.clone();
        swapped.swap(index, index + 1);
        assert_eq!(
            flaw_of_text(&swapped.concat()),
            Some(LogFlaw::Missing(index as u64 + 1))
        );
    }
}

#[test]
fn truncated_log_is_detected() {
    let (_, text) = ten_lines();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for count in 0..10 {
        let cut = lines[..count].concat();
        assert_eq!(
            flaw_of_text(&cut),
            Some(LogFlaw::Truncated(count as u64 + 1))
        );
        // Also within a line: a crash does not remove a line that a checkpoint names.
        let cut = cut + &lines[count][..20];
        assert_eq!(
            flaw_of_text(&cut),
            Some(LogFlaw::Truncated(count as u64 + 1))
        );
    }
    let (fixture, _) = ten_lines();
    fixture.log.unlink("log").unwrap();
    assert_eq!(flaw_of(&fixture), Some(LogFlaw::Truncated(1)));
}

#[test]
fn rewritten_log_is_detected() {
    for count in [0, 4, 9] {
        let (fixture, text) = ten_lines();
        let first: String = text.split_inclusive('\n').take(count).collect();
        fixture.set(&first);
        fixture.append_with(10 - count as u64, "forged", LogOptions::default());
        assert_eq!(verify(fixture.log.clone(), "log").unwrap().flaw, None);
        // A checkpoint names the first line and the last.
        let expected = LogFlaw::Rewritten(if count == 0 { 1 } else { 10 });
        assert_eq!(flaw_of(&fixture), Some(expected));
        fixture.append_with(5, "more", LogOptions::default());
        assert_eq!(flaw_of(&fixture), Some(expected));
    }
}

#[test]
fn missing_full_file_is_detected() {
    let fixture = LogFixture::new();
    let options = LogOptions {
        rotate_at: 500,
        ..fixture.options()
    };
    fixture.append_with(10, "a", options);
    let full = text(&fixture.log, "log.000002");
    fixture.log.unlink("log.000002").unwrap();
    let Some(LogFlaw::Missing(seq)) = flaw_of(&fixture) else {
        panic!("nothing was found");
    };
    assert!(full.contains(&format!("\"seq\":{seq},")), "{full}");
}

/// The log and one of its two checkpoints are restored from a copy.
#[test]
fn restored_log_is_detected_by_the_other_checkpoint() {
    let (fixture, old) = ten_lines();
    let checkpoint = text(&fixture.near, "checkpoint");
    fixture.append(5, "b");
    fixture.set(&old);
    set(&fixture.near, "checkpoint", &checkpoint);
    let near = &fixture.checkpoints()[..1];
    let unseen = verify_against(fixture.log.clone(), "log", near).unwrap();
    assert_eq!(unseen.flaw, None);
    assert_eq!(flaw_of(&fixture), Some(LogFlaw::Truncated(11)));
}
