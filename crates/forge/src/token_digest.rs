//! Digests of tokens: they tell callers apart without keeping or showing what they showed.

use ring::digest::{SHA256, digest};
use std::fmt::Write as _;

/// The number of hexadecimal digits that name a caller in the log of writes.
pub const CALLER_DIGITS: usize = 16;

/// Returns the SHA-256 of a token in hexadecimal digits.
pub(crate) fn token_digest(secret: &str) -> String {
    let hash = digest(&SHA256, secret.as_bytes());
    let mut hex = String::with_capacity(64);
    for byte in hash.as_ref() {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Returns the name of a caller in the log of writes.
pub(crate) fn caller_name(secret: &str) -> String {
    let mut hex = token_digest(secret);
    hex.truncate(CALLER_DIGITS);
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caller_is_named_by_the_beginning_of_the_digest() {
        let whole = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(token_digest("abc"), whole);
        assert_eq!(caller_name("abc"), whole[..16]);
    }
}
