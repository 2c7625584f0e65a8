//! Tests which lines of an approvers file are accepted, and how the others are reported.

use super::*;
use proptest::prelude::*;
use ssh_key::Mpint;
use ssh_key::private::{Ed25519Keypair, PrivateKey};
use ssh_key::public::RsaPublicKey;

fn public(seed: u8) -> PublicKey {
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]));
    key.public_key().clone()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn flaw(text: &str) -> SignersFlaw {
    Signers::parse(text).unwrap_err().flaw
}

#[test]
fn names_keys_and_options_are_read() {
    let line = |seed| public(seed).to_openssh().unwrap();
    let (one, two, three) = (line(1), line(2), line(3));
    let text = format!(
        "# approvers\r\n\r\n  anna,anna@example.com {one}\r\n\
         \"Bo Berg\"\tNamespaces=\"git,candor-approval\",valid-after=\"20260101Z\",\
         valid-before=\"202601311200Z\" {two} some comment\n\
         cleo namespaces=\"git\" {three}\n"
    );
    let signers = Signers::parse(&text).unwrap();
    let noon = at("2026-01-31T12:00:00Z");
    let ask = |name, seed, at| signers.standing(name, &public(seed), &[at]);
    assert_eq!(ask("anna", 1, noon), SignerTrust::Trusted);
    assert_eq!(ask("anna@example.com", 1, noon), SignerTrust::Trusted);
    assert_eq!(ask("Anna", 1, noon), SignerTrust::OtherName);
    assert_eq!(ask("anna", 2, noon), SignerTrust::OtherName);
    assert_eq!(ask("anna", 9, noon), SignerTrust::Unknown);
    assert_eq!(ask("cleo", 3, noon), SignerTrust::NotNow);
    assert_eq!(ask("Bo Berg", 2, noon), SignerTrust::Trusted);
    let beyond = at("2026-01-31T12:00:00.001Z");
    assert_eq!(ask("Bo Berg", 2, beyond), SignerTrust::NotNow);
    let first = at("2026-01-01T00:00:00Z");
    assert_eq!(ask("Bo Berg", 2, first), SignerTrust::Trusted);
    let before = at("2025-12-31T23:59:59.999Z");
    assert_eq!(ask("Bo Berg", 2, before), SignerTrust::NotNow);
    let both = signers.standing("Bo Berg", &public(2), &[noon, before]);
    assert_eq!(both, SignerTrust::NotNow);
    assert_eq!(signers.entries().count(), 3);
}

#[test]
fn our_own_line_is_read_back() {
    for name in ["anna", "Bo Berg"] {
        let signers = Signers::parse(&approver_line(name, &public(1))).unwrap();
        let standing = signers.standing(name, &public(1), &[]);
        assert_eq!(standing, SignerTrust::Trusted);
    }
}

#[test]
fn the_best_line_about_a_key_counts() {
    let key = public(1).to_openssh().unwrap();
    let text = format!("bo {key}\nanna valid-before=\"20200101Z\" {key}\nanna {key}\n");
    let signers = Signers::parse(&text).unwrap();
    let now = at("2026-01-01T00:00:00Z");
    assert_eq!(
        signers.standing("anna", &public(1), &[now]),
        SignerTrust::Trusted
    );
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let key = public(1).to_openssh().unwrap();
    let error = Signers::parse(&format!("anna {key}\n\n# x\nbo\n")).unwrap_err();
    assert_eq!(error.line, 4);
    assert_eq!(
        error.to_string(),
        "line 4: a line is `name keytype key`, such as `anna ssh-ed25519 AAAA…`"
    );
    let with = |options: &str| flaw(&format!("anna {options} {key}"));
    assert_eq!(with("cert-authority"), SignersFlaw::CertAuthority);
    let both = "namespaces=\"a\",cert-authority";
    assert_eq!(with(both), SignersFlaw::CertAuthority);
    for bad in [
        "x",
        "x=\"1\"",
        "namespaces=a",
        "namespaces=\"a",
        "namespaces=\"a\",",
        "namespaces=\"a\"x",
    ] {
        assert!(
            matches!(with(bad), SignersFlaw::Option(_)),
            "{bad}: {:?}",
            with(bad)
        );
    }
    let twice = "valid-after=\"20260101Z\",valid-after=\"20260101Z\"";
    assert!(matches!(with(twice), SignersFlaw::Option(_)));
    for bad in [
        "20260101",
        "2026-01-01Z",
        "20261301Z",
        "202601012460Z",
        "2026010112Z",
        "",
        "é0260101Z",
    ] {
        let flaw = with(&format!("valid-before=\"{bad}\""));
        assert_eq!(flaw, SignersFlaw::Time(bad.to_owned()));
    }
    for bad in ["*", "*@example.com", "!anna", "a,", ",a", "a?"] {
        assert!(
            matches!(flaw(&format!("{bad} {key}")), SignersFlaw::Name(_)),
            "{bad}"
        );
    }
    assert_eq!(flaw("anna ssh-ed25519"), SignersFlaw::Incomplete);
    assert_eq!(flaw("anna ssh-ed25519 AAAA"), SignersFlaw::Key);
    assert_eq!(flaw(&key), SignersFlaw::Option(word(&key).1.to_owned()));
    let ecdsa = "anna ecdsa-sha2-nistp384 AAAA";
    assert_eq!(
        flaw(ecdsa),
        SignersFlaw::KeyType("ecdsa-sha2-nistp384".to_owned())
    );
    let other = "anna ssh-ed25519-cert-v01@openssh.com AAAA";
    assert!(matches!(flaw(other), SignersFlaw::KeyType(_)));
    let mixed = key.replace("ssh-ed25519 ", "ssh-rsa ");
    assert_eq!(flaw(&format!("anna {mixed}")), SignersFlaw::Key);
    assert_eq!(
        flaw(&"x".repeat(MAX_SIGNERS_BYTES + 1)),
        SignersFlaw::TooLarge
    );
    let many = format!("a {key}\n").repeat(MAX_SIGNERS + 1);
    assert_eq!(Signers::parse(&many).unwrap_err().line, MAX_SIGNERS + 1);
    assert!(Signers::parse("\n# nobody\n").unwrap().is_empty());
}

#[test]
fn rsa_keys_have_a_length_that_can_be_believed_and_checked() {
    let read = |bytes: usize| {
        let mut modulus = vec![0xff; bytes];
        modulus[0] = 0x80;
        let rsa = RsaPublicKey {
            e: Mpint::from_positive_bytes(&[1, 0, 1]).unwrap(),
            n: Mpint::from_positive_bytes(&modulus).unwrap(),
        };
        let key = PublicKey::from(KeyData::Rsa(rsa)).to_openssh().unwrap();
        Signers::parse(&format!("anna {key}"))
    };
    for good in [256, 384, 512] {
        assert!(read(good).is_ok(), "{good}");
    }
    for bad in [128, 255, 513, 4096] {
        assert_eq!(read(bad).unwrap_err().flaw, SignersFlaw::RsaSize, "{bad}");
    }
}

proptest! {
    #[test]
    fn no_line_breaks_the_reader(text in "[a\", =\\tZ0-9!*é]{0,40}") {
        let _ = Signers::parse(&text);
        let _ = Signers::parse(&format!("anna {text} ssh-ed25519 AAAA"));
        let _ = time(&text);
    }
}
