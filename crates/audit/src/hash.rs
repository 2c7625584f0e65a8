//! The hash of a line: SHA-256, written as 64 lowercase hexadecimal digits.

use sha2::{Digest, Sha256};
use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The `prev_hash` of the first line: 64 zeros.
    pub const NONE: Hash = Hash([0; 32]);

    /// Returns the hash of the concatenated parts.
    pub(crate) fn of(parts: &[&[u8]]) -> Hash {
        let mut hasher = Sha256::new();
        parts.iter().for_each(|part| hasher.update(part));
        Hash(hasher.finalize().into())
    }

    /// Parses 64 lowercase hexadecimal digits.
    pub fn read(text: &[u8]) -> Option<Hash> {
        let digits: &[u8; 64] = text.try_into().ok()?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Hash(bytes))
    }
}

fn digit(text: u8) -> Option<u8> {
    match text {
        b'0'..=b'9' => Some(text - b'0'),
        b'a'..=b'f' => Some(text - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Hash({self})")
    }
}

impl serde::Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom("not 64 lowercase hex digits");
        Hash::read(text.as_bytes()).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_parses_what_it_prints() {
        let hash = Hash::of(&[b"a", b"bc"]);
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(Hash::read(text.as_bytes()), Some(hash));
        assert_eq!(Hash::read(text.to_uppercase().as_bytes()), None);
        assert_eq!(Hash::read(&text.as_bytes()[1..]), None);
        assert_eq!(Hash::NONE.to_string(), "0".repeat(64));
    }
}
