//! Decodes headers that mirror the body. A value that is not a valid header value, or that contains the
//! two marks, is written in Base64 between the marks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

const BEFORE: &str = "=?base64?";
const AFTER: &str = "?=";

/// Decodes a header's value. Returns `None` if its Base64 is broken.
pub(crate) fn decode_header(value: &str) -> Option<Cow<'_, str>> {
    let inside = value
        .strip_prefix(BEFORE)
        .and_then(|rest| rest.strip_suffix(AFTER));
    let Some(inside) = inside else {
        return Some(Cow::Borrowed(value));
    };
    // Strict: padded, nothing beside the alphabet, one way to write each value.
    let bytes = STANDARD.decode(inside).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
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
            assert_eq!(decode_header(value).as_deref(), meaning, "{value}");
        }
    }
}
