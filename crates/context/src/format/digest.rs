//! SHA-256 digests, as the format writes them: `sha256:` and 64 lower-case hex digits.

use sha2::{Digest as _, Sha256};
use std::fmt;

const PREFIX: &str = "sha256:";

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The number of bytes of the text form.
    pub(crate) const TEXT: usize = PREFIX.len() + 64;

    /// Returns the digest of these bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    pub(crate) fn from_raw(raw: [u8; 32]) -> Digest {
        Digest(raw)
    }

    pub(crate) fn raw(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns a number that depends on the digest, as a seed for checksums.
    pub(crate) fn seed(&self) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.0[..8]);
        u64::from_le_bytes(first)
    }

    /// Parses the text form. Returns `None` for any other form.
    pub fn parse(text: &str) -> Option<Digest> {
        let hex = text.strip_prefix(PREFIX)?.as_bytes();
        let mut raw = [0; 32];
        if hex.len() != 64 {
            return None;
        }
        for (byte, pair) in raw.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Digest(raw))
    }

    /// Returns the first twelve hex digits, which name a document's file.
    pub(crate) fn short(&self) -> String {
        String::from_utf8_lossy(&self.text()[PREFIX.len()..PREFIX.len() + 12]).into_owned()
    }

    /// Returns a number that is equal for digests with the same first twelve hex digits.
    pub(crate) fn short_number(&self) -> u64 {
        let [a, b, c, d, e, f, ..] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// Returns the text form.
    pub(crate) fn text(&self) -> [u8; Digest::TEXT] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; Digest::TEXT];
        let (prefix, digits) = text.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        text
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Computes a digest piece by piece.
#[derive(Default)]
pub(crate) struct Digester(Sha256);

impl Digester {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_text_is_parsed_strictly() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert_eq!(Digest::parse(empty), Some(Digest::of(b"")));
        assert_eq!(Digest::of(b"").short(), "e3b0c44298fc");
        assert_eq!(Digest::of(b"").short_number(), 0xe3b0_c442_98fc);
        for wrong in [
            "",
            "sha256:",
            &empty[7..],
            &empty[..70],
            &empty.to_uppercase(),
            &format!("{empty}0"),
            &empty.replace("e3", "g3"),
        ] {
            assert_eq!(Digest::parse(wrong), None, "{wrong}");
        }
    }
}
