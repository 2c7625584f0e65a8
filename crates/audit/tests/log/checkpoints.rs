//! Checkpoints of an open log: when they are written, and that they never go back.

use crate::fixture::{LogFixture, checkpoint, members};
use candor_audit::{
    AppendError, CHECKPOINT_LINES, Log, LogOptions, PrivateKey, Signer, verify_against, verify_from,
};
use candor_sim_disk::{DiskEvent, DiskOperation};
use serde_json::json;
use ssh_key::private::{Ed25519Keypair, KeypairData};

#[test]
fn closing_writes_the_last_line_to_every_checkpoint() {
    let fixture = LogFixture::new();
    for round in 1..=3 {
        let receipts = fixture.append(3, "a");
        for checkpoint in fixture.checkpoints() {
            assert_eq!(checkpoint.receipt(), *receipts.last().unwrap());
            assert_eq!(checkpoint.counter, round);
            assert_eq!(checkpoint.log, "log");
            assert_eq!(checkpoint.timestamp, "2026-01-02T03:04:05.678Z");
        }
    }
    let verified = verify_against(fixture.log.clone(), "log", &fixture.checkpoints());
    assert_eq!(verified.unwrap().flaw, None);
}

#[test]
fn checkpoint_is_written_after_many_lines() {
    let fixture = LogFixture::new();
    let log = Log::open(fixture.log.clone(), "log", fixture.options()).unwrap();
    for n in 0..=CHECKPOINT_LINES {
        log.append_blocking(members(json!({ "n": n }))).unwrap();
    }
    let written = || {
        let is_rename = |event: &DiskEvent| {
            let renamed =
                |operation: &DiskOperation| matches!(operation, DiskOperation::Rename { .. });
            matches!(event, DiskEvent::Operation { operation, .. } if renamed(operation))
        };
        fixture.near.journal().iter().any(is_rename)
    };
    while !written() {
        std::thread::yield_now();
    }
    assert!(checkpoint(&fixture.near).seq <= CHECKPOINT_LINES + 1);
    drop(log);
    assert_eq!(checkpoint(&fixture.near).seq, CHECKPOINT_LINES + 1);
}

/// Two logs are open at once, as in two processes.
#[test]
fn counter_never_decreases() {
    let fixture = LogFixture::new();
    let open = || Log::open(fixture.log.clone(), "log", fixture.options()).unwrap();
    let mut last = (0, 0);
    for _ in 0..5 {
        let (one, other) = (open(), open());
        one.append_blocking(members(json!({}))).unwrap();
        other.append_blocking(members(json!({}))).unwrap();
        drop(other);
        drop(one);
        for checkpoint in fixture.checkpoints() {
            let now = (checkpoint.counter, checkpoint.seq);
            assert!(now > last, "{now:?} {last:?}");
        }
        let near = checkpoint(&fixture.near);
        last = (near.counter, near.seq);
    }
    assert_eq!(last.1, 10);
}

#[test]
fn signed_checkpoint_is_valid_for_its_key() {
    let fixture = LogFixture::new();
    let pair = Ed25519Keypair::from_seed(&[1; 32]);
    let key = PrivateKey::new(KeypairData::Ed25519(pair), "").unwrap();
    let public = key.public_key().clone();
    let mut options = fixture.options();
    if let Some(checkpoints) = &mut options.checkpoints {
        checkpoints.signer = Some(Signer::new(key).unwrap());
    }
    fixture.append_with(1, "a", options);
    let checkpoint = checkpoint(&fixture.far);
    assert!(checkpoint.is_signed_by(&[public]));
}

#[test]
fn failing_checkpoint_file_stops_no_append() {
    let fixture = LogFixture::new();
    fixture.append(1, "a");
    crate::fixture::set(&fixture.far, "checkpoint.new", "x");
    fixture.far.set_capacity(0);
    let log = Log::open(fixture.log.clone(), "log", fixture.options()).unwrap();
    for n in 0..2 * CHECKPOINT_LINES {
        log.append_blocking(members(json!({ "n": n }))).unwrap();
    }
    while log.checkpoint_error().is_none() {
        std::thread::yield_now();
    }
    let trouble = log.checkpoint_error().unwrap();
    assert_eq!(trouble.kind(), std::io::ErrorKind::StorageFull);
    drop(log);
    assert_eq!(checkpoint(&fixture.near).seq, 2 * CHECKPOINT_LINES + 1);
    assert_eq!(checkpoint(&fixture.far).seq, 1);
}

#[test]
fn log_that_ends_before_its_checkpoint_is_refused() {
    let fixture = LogFixture::new();
    fixture.append(5, "a");
    let text = fixture.text();
    let beginning: String = text.split_inclusive('\n').take(3).collect();
    for less in [beginning.as_str(), &text[..text.len() - 9], ""] {
        fixture.set(less);
        let refused = Log::open(fixture.log.clone(), "log", fixture.options());
        let seq = less.lines().count().min(4) as u64;
        let whole = if less == beginning { 3 } else { seq };
        match refused {
            Err(AppendError::Broken(seq)) => assert_eq!(seq, whole),
            other => panic!("{other:?}"),
        }
        assert_eq!(fixture.text(), less);
    }
    // Without checkpoints this cannot be detected.
    fixture.set(&beginning);
    Log::open(fixture.log.clone(), "log", LogOptions::default()).unwrap();
}

/// Otherwise the next checkpoint would hide the change.
#[test]
fn rewritten_log_is_refused() {
    for (count, small) in [(0, false), (4, false), (4, true)] {
        let fixture = LogFixture::new();
        fixture.append(10, "a");
        let text = fixture.text();
        fixture.set(&text.split_inclusive('\n').take(count).collect::<String>());
        let forged = LogOptions {
            rotate_at: if small { 1000 } else { u64::MAX },
            ..LogOptions::default()
        };
        fixture.append_with(20, "forged", forged);
        match Log::open(fixture.log.clone(), "log", fixture.options()) {
            Err(AppendError::Broken(seq)) => assert_eq!(seq, 9),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn opening_writes_a_missing_checkpoint() {
    let fixture = LogFixture::new();
    let receipts = fixture.append_with(3, "a", LogOptions::default());
    fixture.append(0, "a");
    for checkpoint in fixture.checkpoints() {
        assert_eq!(checkpoint.receipt(), receipts[2]);
    }
    fixture.append(0, "a");
    assert_eq!(checkpoint(&fixture.near).counter, 1);
}

#[test]
fn verification_can_start_at_a_checkpoint() {
    let fixture = LogFixture::new();
    let small = || LogOptions {
        rotate_at: 40_000,
        ..fixture.options()
    };
    fixture.append_with(1000, "a", small());
    let old = fixture.checkpoints().remove(0);
    fixture.append_with(7, "b", small());
    let before = fixture.log.operations();
    let verified = verify_from(fixture.log.clone(), "log", &old).unwrap();
    assert_eq!((verified.lines, verified.flaw), (7, None));
    assert_eq!(verified.last.unwrap().seq, 1007);
    assert!(verified.files <= 2);
    assert!(fixture.log.operations() - before < 60);
    // A checkpoint that names a line in the middle of a full file.
    let empty = LogFixture::new();
    let middle = empty.append(500, "a").pop().unwrap();
    let checkpoint = empty.checkpoints().remove(0);
    assert_eq!(checkpoint.receipt(), middle);
    let verified = verify_from(fixture.log.clone(), "log", &checkpoint).unwrap();
    assert_eq!((verified.lines, verified.flaw), (507, None));
}
