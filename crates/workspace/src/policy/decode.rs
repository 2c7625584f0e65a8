//! The text in bytes of any Unicode encoding.

use std::borrow::Cow;

/// Decodes UTF-16 and UTF-32 behind their byte order marks; everything else counts as UTF-8. Bytes that
/// are not text become replacement characters.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match bytes {
        [0xff, 0xfe, 0, 0, rest @ ..] => Cow::Owned(utf32(rest, u32::from_le_bytes)),
        [0, 0, 0xfe, 0xff, rest @ ..] => Cow::Owned(utf32(rest, u32::from_be_bytes)),
        [0xff, 0xfe, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)),
        bytes => String::from_utf8_lossy(bytes),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    let letters = char::decode_utf16(units.iter().map(|bytes| unit(*bytes)));
    letters
        .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

fn utf32(bytes: &[u8], unit: fn([u8; 4]) -> u32) -> String {
    let (units, _) = bytes.as_chunks::<4>();
    let letters = units.iter().map(|bytes| char::from_u32(unit(*bytes)));
    letters
        .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}
