//! What somebody could do to a log, and that each is found with the first line that is not as it was.

use crate::ground::{Ground, set, text};
use candor_audit::{LogFlaw, LogOptions, verify, verify_against, verify_from};
use candor_disk::Disk;

/// A log of ten lines, and its text.
fn victim() -> (Ground, String) {
    let ground = Ground::new();
    ground.append(10, "a");
    let text = ground.text();
    (ground, text)
}

/// What is found against both checkpoints, and from the last one on.
fn found(ground: &Ground) -> Option<LogFlaw> {
    let checkpoints = ground.checkpoints();
    let whole = verify_against(ground.log.clone(), "log", &checkpoints).unwrap();
    let newest = checkpoints.iter().max_by_key(|checkpoint| checkpoint.seq);
    let short = verify_from(ground.log.clone(), "log", newest.unwrap()).unwrap();
    if short.flaw.is_some() {
        assert_eq!(short.flaw, whole.flaw);
    }
    whole.flaw
}

fn found_in(text: &str) -> Option<LogFlaw> {
    let (ground, _) = victim();
    ground.set(text);
    found(&ground)
}

#[test]
fn an_edited_line_is_found() {
    let (_, text) = victim();
    for n in 0..10 {
        let edited = text.replace(&format!("\"n\":{n}"), "\"n\":77");
        assert_eq!(found_in(&edited), Some(LogFlaw::Changed(n + 1)));
    }
    assert_eq!(
        found_in(&text.replace("\"seq\":4,", "\"seq\":5,")),
        Some(LogFlaw::Changed(4))
    );
}

#[test]
fn lines_that_were_taken_out_or_swapped_are_found() {
    let (_, text) = victim();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for gone in 0..10 {
        let mut left = lines.clone();
        left.remove(gone);
        let wanted = match gone {
            9 => LogFlaw::Truncated(10),
            gone => LogFlaw::Missing(gone as u64 + 1),
        };
        assert_eq!(found_in(&left.concat()), Some(wanted));
    }
    for place in 0..9 {
        let mut swapped = lines.clone();
        swapped.swap(place, place + 1);
        assert_eq!(
            found_in(&swapped.concat()),
            Some(LogFlaw::Missing(place as u64 + 1))
        );
    }
}

#[test]
fn a_log_that_was_cut_short_is_found() {
    let (_, text) = victim();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for kept in 0..10 {
        let cut = lines[..kept].concat();
        assert_eq!(found_in(&cut), Some(LogFlaw::Truncated(kept as u64 + 1)));
        // In the middle of a line too: no crash takes what a checkpoint has seen.
        let cut = cut + &lines[kept][..20];
        assert_eq!(found_in(&cut), Some(LogFlaw::Truncated(kept as u64 + 1)));
    }
    let (ground, _) = victim();
    ground.log.unlink("log").unwrap();
    assert_eq!(found(&ground), Some(LogFlaw::Truncated(1)));
}

/// A chain that is right in itself, written anew from a line on, or from the first.
#[test]
fn a_log_that_was_written_anew_is_found() {
    for kept in [0, 4, 9] {
        let (ground, text) = victim();
        let first: String = text.split_inclusive('\n').take(kept).collect();
        ground.set(&first);
        ground.append_with(10 - kept as u64, "forged", LogOptions::default());
        assert_eq!(verify(ground.log.clone(), "log").unwrap().flaw, None);
        // A checkpoint knows the first line and the last.
        let wanted = LogFlaw::Rewritten(if kept == 0 { 1 } else { 10 });
        assert_eq!(found(&ground), Some(wanted));
        ground.append_with(5, "more", LogOptions::default());
        assert_eq!(found(&ground), Some(wanted));
    }
}

#[test]
fn a_full_file_that_is_gone_is_found() {
    let ground = Ground::new();
    let options = LogOptions {
        rotate_at: 500,
        ..ground.options()
    };
    ground.append_with(10, "a", options);
    let full = text(&ground.log, "log.000002");
    ground.log.unlink("log.000002").unwrap();
    let Some(LogFlaw::Missing(seq)) = found(&ground) else {
        panic!("nothing was found");
    };
    assert!(full.contains(&format!("\"seq\":{seq},")), "{full}");
}

/// The log and one of its checkpoints as they once were: only the other checkpoint knows.
#[test]
fn a_log_that_was_rolled_back_is_found_by_the_checkpoint_that_was_not() {
    let (ground, old) = victim();
    let checkpoint = text(&ground.near, "checkpoint");
    ground.append(5, "b");
    ground.set(&old);
    set(&ground.near, "checkpoint", &checkpoint);
    let near = &ground.checkpoints()[..1];
    let unseen = verify_against(ground.log.clone(), "log", near).unwrap();
    assert_eq!(unseen.flaw, None);
    assert_eq!(found(&ground), Some(LogFlaw::Truncated(11)));
}
