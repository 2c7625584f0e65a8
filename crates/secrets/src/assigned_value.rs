//! Finds secrets by the name that they are assigned to.

use crate::SecretKind;
use crate::known_shape::{self, KnownShape, run};
use memchr::memmem::find;
use std::ops::Range;

/// Endings of the names of secrets, in lower case and without `_` and `-`.
const NAMES: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
];

/// Endings of the names of an AWS key's secret.
const AWS_NAMES: [&str; 2] = ["secretaccesskey", "awssecretkey"];

/// The length of an AWS key's secret.
const AWS_LENGTH: usize = 40;

/// The number of bytes of a name that are compared.
const NAME_BYTES: usize = 48;

/// Shorter values are ordinary words.
const MIN_LENGTH: usize = 6;

/// The beginning of a replaced secret.
const REDACTED: &[u8] = b"[redacted:";

/// Returns the secret after the `=` or `:` at offset `at`. The text before `since` belongs to the secret
/// before and is not read.
pub(crate) fn secret_at(text: &[u8], since: usize, at: usize) -> Option<KnownShape> {
    if !matches!(text[at], b'=' | b':') {
        return None;
    }
    let name = name_before(&text[since..at])?;
    let aws = AWS_NAMES.iter().any(|end| name.ends_with(end));
    if !aws && !NAMES.iter().any(|end| name.ends_with(end)) {
        return None;
    }
    let value = value_after(text, at)?;
    // A secret of a known shape keeps its kind; the whole value is redacted with it.
    for offset in value.clone() {
        if let Some((range, kind)) = known_shape::secret_at(text, since, offset) {
            return Some((value.start..range.end.max(value.end), kind));
        }
    }
    let bytes = &text[value.clone()];
    let encoded = |byte: &u8| byte.is_ascii_alphanumeric() || b"/+=".contains(byte);
    let kind = match aws && bytes.len() == AWS_LENGTH && bytes.iter().all(encoded) {
        true => SecretKind::Aws,
        false => SecretKind::Assigned,
    };
    Some((value, kind))
}

/// Returns the name at the end of a text. Quotes and one space may follow it.
fn name_before(text: &[u8]) -> Option<String> {
    let mut before = &text[text.len().saturating_sub(NAME_BYTES)..];
    for skipped in [b" ", b"\"", b"'", b"\\"] {
        before = before.strip_suffix(skipped).unwrap_or(before);
    }
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let count = before.iter().rev().take_while(|byte| in_name(byte)).count();
    let name = normalize(&before[before.len() - count..]);
    (!name.is_empty()).then_some(name)
}

/// Keeps letters and digits, in lower case.
fn normalize(name: &[u8]) -> String {
    let letters = name.iter().filter(|byte| byte.is_ascii_alphanumeric());
    letters
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect()
}

/// Returns the assigned value: a quoted text without spaces, or a word that is not code.
fn value_after(text: &[u8], at: usize) -> Option<Range<usize>> {
    let mut begin = at + 1;
    if text.get(begin) == Some(&b'>') && text[at] == b'=' {
        begin += 1;
    }
    let is_adjacent = text.get(begin) != Some(&b' ');
    begin += usize::from(!is_adjacent);
    let escaped = text.get(begin) == Some(&b'\\');
    let value = match text.get(begin + usize::from(escaped)) {
        Some(&quote @ (b'"' | b'\'')) => {
            quoted(text, begin + usize::from(escaped) + 1, quote, escaped)?
        }
        _ => unquoted(text, begin, is_adjacent && text[at] == b'=')?,
    };
    let bytes = &text[value.clone()];
    let placeholders = [&b"<"[..], b"${", b"{", b"$(", b"*"];
    let is_placeholder = placeholders.iter().any(|begins| bytes.starts_with(begins))
        || find(bytes, REDACTED).is_some();
    (value.len() >= MIN_LENGTH && !is_placeholder).then_some(value)
}

fn quoted(text: &[u8], begin: usize, quote: u8, escaped: bool) -> Option<Range<usize>> {
    let ends = |byte: u8| byte == quote || byte.is_ascii_whitespace();
    let mut value = run(text, begin, |byte| !ends(byte));
    if text.get(value.end) != Some(&quote) {
        return None;
    }
    if escaped && text[value.clone()].last() == Some(&b'\\') {
        value.end -= 1;
    }
    Some(value)
}

/// Returns an unquoted word. Code also assigns names, so a word without a digit counts only if it is
/// adjacent to the `=`.
fn unquoted(text: &[u8], begin: usize, is_adjacent: bool) -> Option<Range<usize>> {
    let mut value = run(text, begin, |byte| {
        byte.is_ascii_alphanumeric() || b"_-./+~!@#$%^*".contains(&byte)
    });
    value.end = run(text, value.end, |byte| byte == b'=')
        .end
        .min(value.end + 2);
    let is_whole = match text.get(value.end) {
        None => true,
        Some(byte) => byte.is_ascii_whitespace() || b"\"'&;,\\".contains(byte),
    };
    let has_digit = text[value.clone()].iter().any(u8::is_ascii_digit);
    (is_whole && (is_adjacent || has_digit)).then_some(value)
}
