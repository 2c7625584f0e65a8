//! Logs that were cut, rewritten or rolled back, judged against all their checkpoints.

use crate::fixture::{LogFixture, members, set, text};
use candor_audit::{
    CheckpointFile, CheckpointVerdict, Completeness, JudgedPart, KnownCheckpoint, Log, LogEvidence,
    LogFlaw, LogJudgement, LogOptions, PrivateKey, PublicKey, Signer, judge,
};
use candor_disk::Disk;
use candor_sim_disk::SimDisk;
use proptest::prelude::*;
use serde_json::json;
use ssh_key::private::{Ed25519Keypair, KeypairData};
use std::path::PathBuf;

fn known(disk: &SimDisk, name: &str) -> KnownCheckpoint {
    let file = CheckpointFile::new(disk.clone(), "checkpoint");
    KnownCheckpoint::read(PathBuf::from(name), &file)
}

fn evidence(checkpoints: Vec<KnownCheckpoint>, keys: &[PublicKey]) -> LogEvidence<'_, SimDisk> {
    LogEvidence {
        checkpoints,
        keys,
        anchor: None,
        retired: None,
    }
}

fn judged(fixture: &LogFixture, keys: &[PublicKey], part: JudgedPart) -> LogJudgement {
    let known = vec![known(&fixture.near, "near"), known(&fixture.far, "far")];
    judge(&fixture.log, "log", evidence(known, keys), part).unwrap()
}

/// Judges both ways, which must agree, and returns completeness and verdicts.
fn verdicts(
    fixture: &LogFixture,
    keys: &[PublicKey],
) -> (Completeness, Vec<CheckpointVerdict>, Option<LogFlaw>) {
    let of = |part| {
        let judged = judged(fixture, keys, part);
        let verdicts = judged.checkpoints.iter().map(|(_, verdict)| *verdict);
        (
            judged.completeness,
            verdicts.collect(),
            judged.verification.flaw,
        )
    };
    let whole = of(JudgedPart::WholeLog);
    assert_eq!(whole, of(JudgedPart::SinceNewestCheckpoint));
    whole
}

fn signer(seed: u8) -> Signer {
    let pair = Ed25519Keypair::from_seed(&[seed; 32]);
    Signer::new(PrivateKey::new(KeypairData::Ed25519(pair), "").unwrap()).unwrap()
}

fn signed(fixture: &LogFixture, seed: u8) -> LogOptions {
    let mut options = fixture.options();
    if let Some(checkpoints) = &mut options.checkpoints {
        checkpoints.signer = Some(signer(seed));
    }
    options
}

/// Returns the text of a valid chain with the same number of lines and other content.
fn rewritten(lines: usize) -> String {
    let other = LogFixture::new();
    other.append(lines as u64, "other");
    other.text()
}

use CheckpointVerdict::{
    Agrees, Gone, Invalid, NotReached, Rewritten, Signature, Truncated, Unsigned,
};
use Completeness::{Checked, Contradicted, Unchecked};

#[test]
fn unchanged_log_is_checked() {
    let fixture = LogFixture::new();
    fixture.append(6, "a");
    assert_eq!(
        verdicts(&fixture, &[]),
        (Checked, vec![Agrees, Agrees], None)
    );
    let newest = judged(&fixture, &[], JudgedPart::WholeLog);
    assert_eq!(newest.newest().unwrap().seq, 6);
    assert!(newest.contradiction().is_none());
}

#[test]
fn cut_and_rewritten_logs_are_contradicted() {
    let fixture = LogFixture::new();
    fixture.append(6, "a");
    let whole = fixture.text();
    let lines: Vec<_> = whole.split_inclusive('\n').collect();
    let cases = [
        (lines[..4].concat(), Truncated, LogFlaw::Truncated(5)),
        (String::new(), Truncated, LogFlaw::Truncated(1)),
        (rewritten(6), Rewritten, LogFlaw::Rewritten(1)),
        (
            whole.replacen("\"a\"", "\"b\"", 1),
            NotReached,
            LogFlaw::Changed(1),
        ),
        (
            [lines[0], lines[2]].concat(),
            NotReached,
            LogFlaw::Missing(2),
        ),
    ];
    for (text, verdict, flaw) in cases {
        fixture.set(&text);
        let expected = (Contradicted, vec![verdict, verdict], Some(flaw));
        assert_eq!(verdicts(&fixture, &[]), expected, "{text}");
    }
}

/// The log and one checkpoint were restored from an older copy; the other checkpoint remembers.
#[test]
fn checkpoint_elsewhere_contradicts_a_rollback() {
    let fixture = LogFixture::new();
    fixture.append(3, "a");
    let (old_log, old_near) = (fixture.text(), text(&fixture.near, "checkpoint"));
    fixture.append(3, "a");
    fixture.set(&old_log);
    set(&fixture.near, "checkpoint", &old_near);
    let expected = (
        Contradicted,
        vec![Agrees, Truncated],
        Some(LogFlaw::Truncated(4)),
    );
    assert_eq!(verdicts(&fixture, &[]), expected);
}

#[test]
fn missing_checkpoint_leaves_the_log_unchecked() {
    let fixture = LogFixture::new();
    fixture.append(3, "a");
    fixture.far.unlink("checkpoint").unwrap();
    assert_eq!(
        verdicts(&fixture, &[]),
        (Unchecked, vec![Agrees, Gone], None)
    );
    fixture.near.unlink("checkpoint").unwrap();
    assert_eq!(verdicts(&fixture, &[]), (Unchecked, vec![Gone, Gone], None));
    let none = judge(
        &fixture.log,
        "log",
        evidence(vec![], &[]),
        JudgedPart::WholeLog,
    )
    .unwrap();
    assert_eq!(none.completeness, Unchecked);
}

#[test]
fn checkpoint_that_cannot_be_trusted_contradicts() {
    let fixture = LogFixture::new();
    let own = [signer(1).public_key().clone()];
    fixture.append_with(3, "a", signed(&fixture, 1));
    assert_eq!(
        verdicts(&fixture, &own),
        (Checked, vec![Agrees, Agrees], None)
    );
    let other = [signer(2).public_key().clone()];
    assert_eq!(
        verdicts(&fixture, &other),
        (Contradicted, vec![Signature, Signature], None)
    );
    // Without a known key, a signature that does not fit the content is noticed.
    let far = text(&fixture.far, "checkpoint");
    set(
        &fixture.far,
        "checkpoint",
        &far.replace("\"counter\":1", "\"counter\":2"),
    );
    assert_eq!(
        verdicts(&fixture, &[]),
        (Contradicted, vec![Agrees, Signature], None)
    );
    let bare = LogFixture::new();
    bare.append(3, "a");
    set(&fixture.far, "checkpoint", &text(&bare.far, "checkpoint"));
    assert_eq!(
        verdicts(&fixture, &own),
        (Contradicted, vec![Agrees, Unsigned], None)
    );
    set(&fixture.far, "checkpoint", "{}");
    assert_eq!(
        verdicts(&fixture, &own),
        (Contradicted, vec![Agrees, Invalid], None)
    );
}

#[test]
fn owner_signs_the_end_of_a_verified_log() {
    let fixture = LogFixture::new();
    let last = fixture.append(3, "a")[2];
    let checkpoints = signed(&fixture, 1).checkpoints.unwrap();
    candor_audit::checkpoint_verified_end(fixture.log.clone(), "log", last, None, &checkpoints)
        .unwrap();
    let own = [signer(1).public_key().clone()];
    assert_eq!(
        verdicts(&fixture, &own),
        (Checked, vec![Agrees, Agrees], None)
    );
    // A process without the key appends, and leaves the signed checkpoint as it is.
    let log = Log::open(fixture.log.clone(), "log", fixture.options()).unwrap();
    log.append_blocking(members(json!({}))).unwrap();
    drop(log);
    assert_eq!(
        verdicts(&fixture, &own),
        (Checked, vec![Agrees, Agrees], None)
    );
    assert_eq!(fixture.checkpoints()[0].seq, 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A log that is cut after line `cut` is contradicted exactly if a checkpoint names a later line.
    #[test]
    fn cut_before_a_checkpoint_is_always_noticed(checked in 1_u64..12, more in 0_u64..6, cut in 0_u64..18) {
        let fixture = LogFixture::new();
        fixture.append(checked, "a");
        fixture.append_with(more, "b", LogOptions::default());
        let whole = fixture.text();
        let kept: String = whole.split_inclusive('\n').take(cut as usize).collect();
        fixture.set(&kept);
        let (completeness, _, _) = verdicts(&fixture, &[]);
        let expected = if cut < checked { Contradicted } else { Checked };
        prop_assert_eq!(completeness, expected);
    }

    /// A chain that was recomputed from some line on is contradicted if a checkpoint names that line or a
    /// later one.
    #[test]
    fn recomputed_chain_is_always_noticed(checked in 1_usize..12, from in 0_usize..12) {
        let fixture = LogFixture::new();
        fixture.append(checked as u64, "a");
        let whole = fixture.text();
        let kept: String = whole.split_inclusive('\n').take(from).collect();
        fixture.set(&kept);
        let log = Log::open(fixture.log.clone(), "log", LogOptions::default()).unwrap();
        for n in from..checked {
            log.append_blocking(members(json!({ "n": n, "word": "forged" }))).unwrap();
        }
        drop(log);
        let (completeness, _, _) = verdicts(&fixture, &[]);
        let expected = if from < checked { Contradicted } else { Checked };
        prop_assert_eq!(completeness, expected);
    }
}
