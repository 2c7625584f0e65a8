//! Valid lines, and the error of each invalid one.

use super::*;
use proptest::prelude::*;
use ssh_key::Mpint;
use ssh_key::private::{Ed25519Keypair, PrivateKey};
use ssh_key::public::RsaPublicKey;

fn public_key(seed: u8) -> PublicKey {
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]));
    key.public_key().clone()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn parse_flaw(text: &str) -> SignersFlaw {
    Signers::parse(text).unwrap_err().flaw
}

#[test]
fn names_keys_and_options_are_parsed() {
    let line = |seed| public_key(seed).to_openssh().unwrap();
    let (one, two, three) = (line(1), line(2), line(3));
    let text = format!(
        "# approvers\r\n\r\n  anna,anna@example.com {one}\r\n\
         \"Bo Berg\"\tNamespaces=\"git,candor-approval\",valid-after=\"20260101Z\",\
         valid-before=\"202601311200Z\" {two} some comment\n\
         cleo namespaces=\"git\" {three}\n"
    );
    let signers = Signers::parse(&text).unwrap();
    let noon = at("2026-01-31T12:00:00Z");
    let trust_of = |name, seed, at| signers.standing(name, &public_key(seed), &[at]);
    assert_eq!(trust_of("anna", 1, noon), SignerTrust::Trusted);
    assert_eq!(trust_of("anna@example.com", 1, noon), SignerTrust::Trusted);
    assert_eq!(trust_of("Anna", 1, noon), SignerTrust::OtherName);
    assert_eq!(trust_of("anna", 2, noon), SignerTrust::OtherName);
    assert_eq!(trust_of("anna", 9, noon), SignerTrust::Unknown);
    assert_eq!(trust_of("cleo", 3, noon), SignerTrust::NotNow);
    assert_eq!(trust_of("Bo Berg", 2, noon), SignerTrust::Trusted);
    let beyond = at("2026-01-31T12:00:00.001Z");
    assert_eq!(trust_of("Bo Berg", 2, beyond), SignerTrust::NotNow);
    let first = at("2026-01-01T00:00:00Z");
    assert_eq!(trust_of("Bo Berg", 2, first), SignerTrust::Trusted);
    let before = at("2025-12-31T23:59:59.999Z");
    assert_eq!(trust_of("Bo Berg", 2, before), SignerTrust::NotNow);
    let both = signers.standing("Bo Berg", &public_key(2), &[noon, before]);
    assert_eq!(both, SignerTrust::NotNow);
    assert_eq!(signers.entries().count(), 3);
}

#[test]
fn approver_line_is_parsed() {
    for name in ["anna", "Bo Berg"] {
        let signers = Signers::parse(&approver_line(name, &public_key(1))).unwrap();
        let trust = signers.standing(name, &public_key(1), &[]);
        assert_eq!(trust, SignerTrust::Trusted);
    }
}

#[test]
fn best_line_of_a_key_counts() {
    let key = public_key(1).to_openssh().unwrap();
    let text = format!("bo {key}\nanna valid-before=\"20200101Z\" {key}\nanna {key}\n");
    let signers = Signers::parse(&text).unwrap();
    let now = at("2026-01-01T00:00:00Z");
    assert_eq!(
        signers.standing("anna", &public_key(1), &[now]),
        SignerTrust::Trusted
    );
}

#[test]
fn errors_name_their_line() {
    let key = public_key(1).to_openssh().unwrap();
    let error = Signers::parse(&format!("anna {key}\n\n# x\nbo\n")).unwrap_err();
    assert_eq!(error.line, 4);
    assert_eq!(
        error.to_string(),
        "line 4: a line is `name keytype key`, such as `anna ssh-ed25519 AAAA…`"
    );
    let with = |options: &str| parse_flaw(&format!("anna {options} {key}"));
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
        let parse_flaw = with(&format!("valid-before=\"{bad}\""));
        assert_eq!(parse_flaw, SignersFlaw::Time(bad.to_owned()));
    }
    for bad in ["*", "*@example.com", "!anna", "a,", ",a", "a?"] {
        assert!(
            matches!(parse_flaw(&format!("{bad} {key}")), SignersFlaw::Name(_)),
            "{bad}"
        );
    }
    assert_eq!(parse_flaw("anna ssh-ed25519"), SignersFlaw::Incomplete);
    assert_eq!(parse_flaw("anna ssh-ed25519 AAAA"), SignersFlaw::Key);
    assert_eq!(
        parse_flaw(&key),
        SignersFlaw::Option(word(&key).1.to_owned())
    );
    let ecdsa = "anna ecdsa-sha2-nistp384 AAAA";
    assert_eq!(
        parse_flaw(ecdsa),
        SignersFlaw::KeyType("ecdsa-sha2-nistp384".to_owned())
    );
    let other = "anna ssh-ed25519-cert-v01@openssh.com AAAA";
    assert!(matches!(parse_flaw(other), SignersFlaw::KeyType(_)));
    let mixed = key.replace("ssh-ed25519 ", "ssh-rsa ");
    assert_eq!(parse_flaw(&format!("anna {mixed}")), SignersFlaw::Key);
    assert_eq!(
        parse_flaw(&"x".repeat(MAX_SIGNERS_BYTES + 1)),
        SignersFlaw::TooLarge
    );
    let many = format!("a {key}\n").repeat(MAX_SIGNERS + 1);
    assert_eq!(Signers::parse(&many).unwrap_err().line, MAX_SIGNERS + 1);
    assert!(Signers::parse("\n# nobody\n").unwrap().is_empty());
}

#[test]
fn rsa_keys_of_unsafe_or_excessive_length_are_refused() {
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
    fn arbitrary_lines_do_not_panic(text in "[a\", =\\tZ0-9!*é]{0,40}") {
        let _ = Signers::parse(&text);
        let _ = Signers::parse(&format!("anna {text} ssh-ed25519 AAAA"));
        let _ = time(&text);
    }
}
