//! Checkpoints that are signed with keys of `ssh-keygen`.

use crate::audit::fixture::{AuditFixture, entries};
use candor_audit::PrivateKey;
use insta::assert_snapshot;
use ssh_key::LineEnding;
use ssh_key::private::{Ed25519Keypair, KeypairData};

fn key(seed: u8) -> PrivateKey {
    let pair = Ed25519Keypair::from_seed(&[seed; 32]);
    PrivateKey::new(KeypairData::Ed25519(pair), "").unwrap()
}

fn public(seed: u8) -> String {
    key(seed).public_key().to_openssh().unwrap()
}

#[test]
fn checkpoint_must_be_signed_by_a_given_key() {
    let fixture = AuditFixture::empty();
    fixture.append(entries(), Some(key(1)));
    fixture.write("own.pub", &public(1));
    fixture.write("other.pub", &public(2));
    let run = |key| {
        let checkpoint = "state/checkpoint.json";
        fixture.run(&[
            "verify",
            "log.jsonl",
            "--checkpoint",
            checkpoint,
            "--key",
            key,
        ])
    };
    assert_snapshot!(String::from_utf8(run("own.pub").stdout).unwrap(), @r"
    log.jsonl is whole: 4 lines in 2 files
    line 4 is the last; its hash is 74fd0a18a31ec3c150471fa2bd405308951f9a7571a0360bb05fe084ddadac66
    state/checkpoint.json agrees up to line 4 of 2026-01-02T03:04:09.000Z, signed by SHA256:fe85JkIjo8VPe+XqXJGH5Mau1EMFdK1OdKvJUFicyA8
    ");
    assert_snapshot!(run("other.pub").stderr, @r"
    error: the checkpoint state/checkpoint.json is not signed by any of the given keys
    hint: do not trust it: it may have been replaced
    ");
    assert_snapshot!(run("log.jsonl").stderr, @r"
    error: log.jsonl is not a public key
    hint: give a file with one line as ssh-keygen writes it: ssh-ed25519 AAAA…
    ");
    let checkpoint = fixture.read("state/checkpoint.json");
    fixture.write(
        "state/checkpoint.json",
        &checkpoint.replace("\"seq\":4", "\"seq\":3"),
    );
    assert_snapshot!(run("own.pub").stderr, @r"
    error: the checkpoint state/checkpoint.json is not signed by any of the given keys
    hint: do not trust it: it may have been replaced
    ");
}

/// The new log after a quarantine has a signed checkpoint too.
#[test]
fn new_log_begins_with_a_signed_checkpoint() {
    let fixture = AuditFixture::empty();
    fixture.append(entries(), Some(key(1)));
    fixture.write("own", &key(1).to_openssh(LineEnding::LF).unwrap());
    fixture.write("own.pub", &public(1));
    let checkpoint = ["--checkpoint", "state/checkpoint.json"];
    let moved = ["quarantine", "log.jsonl", "--yes", "--sign-with", "own"];
    fixture.run_ok(&[&moved[..], &checkpoint].concat());
    let verify = ["verify", "log.jsonl", "--key", "own.pub"];
    let verified = fixture.run_ok(&[&verify[..], &checkpoint].concat());
    assert!(verified.contains("agrees up to line 1 of "), "{verified}");
    assert!(verified.contains(", signed by SHA256:"), "{verified}");
    let counter = fixture.read("state/checkpoint.json");
    assert!(counter.contains("\"counter\":2"), "{counter}");
}
