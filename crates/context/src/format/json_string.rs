//! Writes JSON strings with the escapes of `serde_json`, eight bytes at a time.

use crate::format::digest::Digest;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Appends a text in quotes.
pub(crate) fn put_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, after) = rest.split_at(plain_length(rest));
        out.extend_from_slice(plain);
        let Some((&byte, after)) = after.split_first() else {
            break;
        };
        put_escaped(out, byte);
        rest = after;
    }
    out.push(b'"');
}

/// Appends a digest in quotes.
pub(crate) fn put_digest(out: &mut Vec<u8>, digest: Digest) {
    out.push(b'"');
    out.extend_from_slice(&digest.text());
    out.push(b'"');
}

/// Returns the number of leading bytes that need no escape.
fn plain_length(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let plain = |word: &&[u8; 8]| !has_escaped(u64::from_le_bytes(**word));
    let length = words.iter().take_while(plain).count() * 8;
    let rest = &bytes[length..];
    let escaped = |byte: &u8| matches!(byte, ..0x20 | b'"' | b'\\');
    length + rest.iter().position(escaped).unwrap_or(rest.len())
}

/// Returns true if one of eight bytes is a control character, a quote or a backslash. Carries between
/// bytes cause false positives only after a true one, so the result is exact.
fn has_escaped(word: u64) -> bool {
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let quote = zero(word ^ (ONES * 0x22));
    let backslash = zero(word ^ (ONES * 0x5c));
    (control | quote | backslash) & HIGH != 0
}

fn put_escaped(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn escaped(text: &str) -> String {
        let mut out = Vec::new();
        put_string(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_character_is_escaped_like_serde() {
        for code in 0..0x300 {
            let text: String = char::from_u32(code).into_iter().collect();
            for before in 0..10 {
                let text = format!("{}{text}z", "x".repeat(before));
                assert_eq!(escaped(&text), serde_json::to_string(&text).unwrap());
            }
        }
    }

    proptest! {
        #[test]
        fn every_text_is_escaped_like_serde(text in "(\\PC|[\\x00-\\x7f]|[\"\\\\\n!#\\[\\]\u{7f}]){0,60}") {
            prop_assert_eq!(escaped(&text), serde_json::to_string(&text).unwrap());
        }
    }
}
