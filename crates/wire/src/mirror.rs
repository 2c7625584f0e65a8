//! Values in headers that mirror the body. One that cannot stand in a header as it is, is written in
//! Base64 between two marks, and whatever wears the marks is written so.

use std::borrow::Cow;

const BEFORE: &str = "=?base64?";
const AFTER: &str = "?=";

/// What a header's value means; nothing where its Base64 is broken.
pub(crate) fn meant(value: &str) -> Option<Cow<'_, str>> {
    let inside = value
        .strip_prefix(BEFORE)
        .and_then(|rest| rest.strip_suffix(AFTER));
    let Some(inside) = inside else {
        return Some(Cow::Borrowed(value));
    };
    String::from_utf8(bytes(inside)?).ok().map(Cow::Owned)
}

/// Base64 of the standard alphabet, padded, without anything beside it.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let data = text.trim_end_matches('=');
    let padding = text.len() - data.len();
    if text.len() % 4 != 0 || padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0u32, 0);
    for digit in data.bytes() {
        held = held << 6 | sextet(digit)?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    // What is left over says nothing: there is one way to write each value.
    (held == 0).then_some(bytes)
}

fn sextet(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_values_are_decoded_and_others_are_not() {
        for (value, meaning) in [
            ("echo", Some("echo")),
            ("", Some("")),
            ("=?base64??=", Some("")),
            ("=?base64?SGVsbG8=?=", Some("Hello")),
            ("=?base64?w6k=?=", Some("é")),
            (
                "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
                Some("=?base64?literal?="),
            ),
            ("SGVsbG8=", Some("SGVsbG8=")),
            ("=?base64?SGVsbG8=", Some("=?base64?SGVsbG8=")),
            ("=?BASE64?SGVsbG8=?=", Some("=?BASE64?SGVsbG8=?=")),
            ("=?base64?SGVsbG8?=", None),
            ("=?base64?SGVs!!!bG8=?=", None),
            ("=?base64?SGVsbG9=?=", None),
            ("=?base64?====?=", None),
            ("=?base64?S===?=", None),
            ("=?base64?/w==?=", None),
        ] {
            assert_eq!(meant(value).as_deref(), meaning, "{value}");
        }
    }
}
