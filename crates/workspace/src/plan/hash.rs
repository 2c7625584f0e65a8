//! The name of a plan: the SHA-256 of its text, and the first digits of it that people type.

use crate::hex::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// The minimum number of digits of a reference.
const PREFIX_MIN: usize = 8;
const DIGITS: usize = 64;

/// The hash of a plan's text: 64 lowercase hex digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PlanHash(String);

/// Hashes a text with LF for every CRLF, so that a checkout that rewrites line ends still verifies.
/// Nothing else is normalised: a lone CR and a byte order mark are hashed too, and since no
/// canonical text has either, a file with one is not the plan that was signed.
pub fn hash(text: &str) -> PlanHash {
    PlanHash(hex(&Sha256::digest(unix_lines(text).as_bytes())))
}

/// Returns a text with LF for each CRLF.
pub(crate) fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

impl PlanHash {
    /// Parses 64 lowercase hex digits. Returns `None` for any other text.
    pub fn read(text: &str) -> Option<PlanHash> {
        (text.len() == DIGITS && is_hex(text)).then(|| PlanHash(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_hex(text: &str) -> bool {
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.bytes().all(digit)
}

impl fmt::Display for PlanHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for PlanHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PlanHash({})", self.0)
    }
}

impl From<PlanHash> for String {
    fn from(hash: PlanHash) -> String {
        hash.0
    }
}

impl TryFrom<String> for PlanHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<PlanHash, &'static str> {
        PlanHash::read(&text).ok_or("a plan hash is 64 lowercase hex digits")
    }
}

/// The first 8 or more digits of a plan's hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRef(String);

impl PlanRef {
    /// Parses 8 to 64 lowercase hex digits. Returns `None` for any other text.
    pub fn read(text: &str) -> Option<PlanRef> {
        let length = (PREFIX_MIN..=DIGITS).contains(&text.len());
        (length && is_hex(text)).then(|| PlanRef(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if it may mean this hash.
    pub fn matches(&self, hash: &PlanHash) -> bool {
        hash.as_str().starts_with(&self.0)
    }
}

impl fmt::Display for PlanRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl From<&PlanHash> for PlanRef {
    fn from(hash: &PlanHash) -> PlanRef {
        PlanRef(hash.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_line_ends_are_ignored_in_the_hash() {
        let lf = hash("a\nb\n");
        assert_eq!(hash("a\r\nb\r\n"), lf);
        assert_eq!(hash("a\r\nb\n"), lf);
        assert_ne!(hash("a\rb\n"), lf);
        assert_ne!(hash("a\r\r\nb\n"), lf);
        assert_ne!(hash("\u{feff}a\nb\n"), lf);
        assert_ne!(hash("a\nb"), lf);
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash("abc").as_str(), expected);
    }

    #[test]
    fn reference_has_at_least_eight_digits() {
        let full_hash = hash("x");
        let text = full_hash.as_str();
        for length in [8, 9, 63, 64] {
            assert!(PlanRef::read(&text[..length]).unwrap().matches(&full_hash));
        }
        let upper = text.to_uppercase();
        for bad in [
            "",
            &text[..7],
            &format!("{text}0"),
            &upper,
            "0123456g",
            "0123456é",
        ] {
            assert_eq!(PlanRef::read(bad), None, "{bad}");
        }
        assert!(!PlanRef::read("00000000").unwrap().matches(&full_hash));
        assert_eq!(PlanHash::read(&text[1..]), None);
    }
}
