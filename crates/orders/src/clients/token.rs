//! Hashes of tokens: the file of clients contains no token, only what recognises one.

use sha2::{Digest as _, Sha256};
use std::fmt;

/// The prefix of a hash, which names its function.
const PREFIX: &str = "sha256:";

/// The SHA-256 hash of a token, written as `sha256:` and 64 hexadecimal digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Returns the hash of a token.
    pub fn of(token: &str) -> TokenHash {
        TokenHash(Sha256::digest(token.as_bytes()).into())
    }

    /// Parses a written hash. Returns `None` if it does not have the form of one.
    pub fn read(text: &str) -> Option<TokenHash> {
        let digits = text.strip_prefix(PREFIX)?.as_bytes();
        let mut hash = [0; 32];
        if digits.len() != 2 * hash.len() {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *byte = digit(*high)? * 16 + digit(*low)?;
        }
        Some(TokenHash(hash))
    }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A weak token could be guessed from its hash.
        out.write_str("TokenHash")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_hash_is_read_again() {
        let hash = TokenHash::of("test");
        let text = hash.to_string();
        assert_eq!(
            text,
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
        );
        assert_eq!(TokenHash::read(&text), Some(hash));
    }

    #[test]
    fn other_texts_are_not_hashes() {
        let good = TokenHash::of("test").to_string();
        for bad in [
            good.to_uppercase(),
            good.replace("sha256:", "sha512:"),
            good.replace("sha256:", ""),
            good[..good.len() - 1].to_owned(),
            format!("{good}0"),
            format!("{}é", &good[..good.len() - 2]),
        ] {
            assert_eq!(TokenHash::read(&bad), None, "{bad}");
        }
    }
}
