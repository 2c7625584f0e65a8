//! Checkpoints while a log is open: when they are written, and that they never go back.

use crate::ground::{Ground, checkpoint, members};
use candor_audit::{
    AppendError, CHECKPOINT_LINES, Log, LogOptions, PrivateKey, Signer, verify_against, verify_from,
};
use candor_sim_disk::{DiskOperation, JournalEntry};
use serde_json::json;
use ssh_key::private::{Ed25519Keypair, KeypairData};

#[test]
fn the_last_line_is_in_a_checkpoint_at_every_place_once_the_log_is_closed() {
    let ground = Ground::new();
    for round in 1..=3 {
        let receipts = ground.append(3, "a");
        for checkpoint in ground.checkpoints() {
            assert_eq!(checkpoint.receipt(), *receipts.last().unwrap());
            assert_eq!(checkpoint.counter, round);
            assert_eq!(checkpoint.log, "log");
            assert_eq!(checkpoint.timestamp, "2026-01-02T03:04:05.678Z");
        }
    }
    let verified = verify_against(ground.log.clone(), "log", &ground.checkpoints());
    assert_eq!(verified.unwrap().flaw, None);
}

#[test]
fn many_lines_do_not_wait_for_the_log_to_be_closed() {
    let ground = Ground::new();
    let log = Log::open(ground.log.clone(), "log", ground.options()).unwrap();
    for n in 0..=CHECKPOINT_LINES {
        log.append_blocking(members(json!({ "n": n }))).unwrap();
    }
    let written = || {
        let is_rename = |event: &JournalEntry| {
            let renamed =
                |operation: &DiskOperation| matches!(operation, DiskOperation::Rename { .. });
            matches!(event, JournalEntry::Operation { operation, .. } if renamed(operation))
        };
        ground.near.journal().iter().any(is_rename)
    };
    while !written() {
        std::thread::yield_now();
    }
    assert!(checkpoint(&ground.near).seq <= CHECKPOINT_LINES + 1);
    drop(log);
    assert_eq!(checkpoint(&ground.near).seq, CHECKPOINT_LINES + 1);
}

/// Two logs open at once, as two processes have them: whoever is behind takes nothing back.
#[test]
fn the_counter_never_goes_back() {
    let ground = Ground::new();
    let open = || Log::open(ground.log.clone(), "log", ground.options()).unwrap();
    let mut last = (0, 0);
    for _ in 0..5 {
        let (one, other) = (open(), open());
        one.append_blocking(members(json!({}))).unwrap();
        other.append_blocking(members(json!({}))).unwrap();
        drop(other);
        drop(one);
        for checkpoint in ground.checkpoints() {
            let now = (checkpoint.counter, checkpoint.seq);
            assert!(now > last, "{now:?} {last:?}");
        }
        let near = checkpoint(&ground.near);
        last = (near.counter, near.seq);
    }
    assert_eq!(last.1, 10);
}

#[test]
fn a_signed_checkpoint_says_who_signed_it() {
    let ground = Ground::new();
    let pair = Ed25519Keypair::from_seed(&[1; 32]);
    let key = PrivateKey::new(KeypairData::Ed25519(pair), "").unwrap();
    let public = key.public_key().clone();
    let mut options = ground.options();
    if let Some(checkpoints) = &mut options.checkpoints {
        checkpoints.signer = Some(Signer::new(key).unwrap());
    }
    ground.append_with(1, "a", options);
    let checkpoint = checkpoint(&ground.far);
    assert!(checkpoint.is_signed_by(&[public]));
}

/// A place that cannot be written does not keep a line from the log, and is not kept secret.
#[test]
fn a_place_that_fails_stops_no_line() {
    let ground = Ground::new();
    ground.append(1, "a");
    crate::ground::set(&ground.far, "checkpoint.new", "x");
    ground.far.set_capacity(0);
    let log = Log::open(ground.log.clone(), "log", ground.options()).unwrap();
    for n in 0..2 * CHECKPOINT_LINES {
        log.append_blocking(members(json!({ "n": n }))).unwrap();
    }
    while log.checkpoint_error().is_none() {
        std::thread::yield_now();
    }
    let trouble = log.checkpoint_error().unwrap();
    assert_eq!(trouble.kind(), std::io::ErrorKind::StorageFull);
    drop(log);
    assert_eq!(checkpoint(&ground.near).seq, 2 * CHECKPOINT_LINES + 1);
    assert_eq!(checkpoint(&ground.far).seq, 1);
}

#[test]
fn a_log_that_ends_before_its_checkpoint_is_not_written() {
    let ground = Ground::new();
    ground.append(5, "a");
    let text = ground.text();
    let kept: String = text.split_inclusive('\n').take(3).collect();
    for less in [kept.as_str(), &text[..text.len() - 9], ""] {
        ground.set(less);
        let refused = Log::open(ground.log.clone(), "log", ground.options());
        let seq = less.lines().count().min(4) as u64;
        let whole = if less == kept { 3 } else { seq };
        match refused {
            Err(AppendError::Broken(seq)) => assert_eq!(seq, whole),
            other => panic!("{other:?}"),
        }
        assert_eq!(ground.text(), less);
    }
    // Nobody who keeps no checkpoints could know.
    ground.set(&kept);
    Log::open(ground.log.clone(), "log", LogOptions::default()).unwrap();
}

/// Nor is one that was written anew, however long it is: its next checkpoint would hide that.
#[test]
fn a_log_that_was_written_anew_is_not_written() {
    for (kept, small) in [(0, false), (4, false), (4, true)] {
        let ground = Ground::new();
        ground.append(10, "a");
        let text = ground.text();
        ground.set(&text.split_inclusive('\n').take(kept).collect::<String>());
        let forged = LogOptions {
            rotate_at: if small { 1000 } else { u64::MAX },
            ..LogOptions::default()
        };
        ground.append_with(20, "forged", forged);
        match Log::open(ground.log.clone(), "log", ground.options()) {
            Err(AppendError::Broken(seq)) => assert_eq!(seq, 9),
            other => panic!("{other:?}"),
        }
    }
}

/// A log that had no checkpoints before, or whose last one a crash took, has one from then on.
#[test]
fn a_log_that_is_opened_is_caught_up_with() {
    let ground = Ground::new();
    let receipts = ground.append_with(3, "a", LogOptions::default());
    ground.append(0, "a");
    for checkpoint in ground.checkpoints() {
        assert_eq!(checkpoint.receipt(), receipts[2]);
    }
    ground.append(0, "a");
    assert_eq!(checkpoint(&ground.near).counter, 1);
}

/// From a checkpoint on is as good as from the first line, and looks at less.
#[test]
fn a_log_is_verified_from_its_checkpoint_on() {
    let ground = Ground::new();
    let small = || LogOptions {
        rotate_at: 40_000,
        ..ground.options()
    };
    ground.append_with(1000, "a", small());
    let old = ground.checkpoints().remove(0);
    ground.append_with(7, "b", small());
    let before = ground.log.operations();
    let verified = verify_from(ground.log.clone(), "log", &old).unwrap();
    assert_eq!((verified.lines, verified.flaw), (7, None));
    assert_eq!(verified.last.unwrap().seq, 1007);
    assert!(verified.files <= 2);
    assert!(ground.log.operations() - before < 60);
    // A checkpoint of a line in the middle of a full file.
    let empty = Ground::new();
    let middle = empty.append(500, "a").pop().unwrap();
    let checkpoint = empty.checkpoints().remove(0);
    assert_eq!(checkpoint.receipt(), middle);
    let verified = verify_from(ground.log.clone(), "log", &checkpoint).unwrap();
    assert_eq!((verified.lines, verified.flaw), (507, None));
}
