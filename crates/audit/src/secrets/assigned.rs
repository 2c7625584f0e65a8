//! Secrets that are known by the name they are assigned to.

use super::SecretKind;
use super::shapes::{self, Shaped, run};
use memchr::memmem::find;
use std::ops::Range;

/// How names end that hold a secret, in lower case and without `_` and `-`.
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

/// How names end that hold the secret of an AWS key.
const AWS_NAMES: [&str; 2] = ["secretaccesskey", "awssecretkey"];

/// How long the secret of an AWS key is.
const AWS_LENGTH: usize = 40;

/// How many bytes of a name are looked at.
const NAME_BYTES: usize = 48;

/// Shorter values are words.
const LEAST: usize = 6;

/// What stands in the place of a secret.
const REDACTED: &[u8] = b"[redacted:";

/// The secret behind the `=` or `:` at a place. What comes before `since` is a secret itself.
pub(super) fn at(text: &[u8], since: usize, at: usize) -> Option<Shaped> {
    if !matches!(text[at], b'=' | b':') {
        return None;
    }
    let name = name_before(&text[since..at])?;
    let aws = AWS_NAMES.iter().any(|end| name.ends_with(end));
    if !aws && !NAMES.iter().any(|end| name.ends_with(end)) {
        return None;
    }
    let value = value_after(text, at)?;
    // A secret that is known by itself keeps its name, and takes what stands around it along.
    for place in value.clone() {
        if let Some((range, kind)) = shapes::at(text, since, place) {
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

/// Whether the member of a JSON object is a secret by its name.
pub(super) fn is_secret(name: &str, text: &str) -> bool {
    let name = plain(name.as_bytes());
    let named = NAMES.iter().any(|end| name.ends_with(end));
    let spaced = || text.bytes().any(|byte| byte.is_ascii_whitespace());
    named && text.len() >= LEAST && !text.as_bytes().starts_with(REDACTED) && !spaced()
}

/// The name at the end of a text, where one is; quotes and one space may follow it.
fn name_before(text: &[u8]) -> Option<String> {
    let mut before = &text[text.len().saturating_sub(NAME_BYTES)..];
    for skipped in [b" ", b"\"", b"'", b"\\"] {
        before = before.strip_suffix(skipped).unwrap_or(before);
    }
    let named = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let count = before.iter().rev().take_while(|byte| named(byte)).count();
    let name = plain(&before[before.len() - count..]);
    (!name.is_empty()).then_some(name)
}

fn plain(name: &[u8]) -> String {
    let letters = name.iter().filter(|byte| byte.is_ascii_alphanumeric());
    letters
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect()
}

/// What is assigned: a quoted text without spaces, or a word that is no code.
fn value_after(text: &[u8], at: usize) -> Option<Range<usize>> {
    let mut begin = at + 1;
    if text.get(begin) == Some(&b'>') && text[at] == b'=' {
        begin += 1;
    }
    let tight = text.get(begin) != Some(&b' ');
    begin += usize::from(!tight);
    let escaped = text.get(begin) == Some(&b'\\');
    let value = match text.get(begin + usize::from(escaped)) {
        Some(&quote @ (b'"' | b'\'')) => {
            quoted(text, begin + usize::from(escaped) + 1, quote, escaped)?
        }
        _ => bare(text, begin, tight && text[at] == b'=')?,
    };
    let bytes = &text[value.clone()];
    let held = [&b"<"[..], b"${", b"{", b"$(", b"*"];
    let held =
        held.iter().any(|begins| bytes.starts_with(begins)) || find(bytes, REDACTED).is_some();
    (value.len() >= LEAST && !held).then_some(value)
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

/// A word of its own. Code assigns names without digits too, so without a digit it has to stand close.
fn bare(text: &[u8], begin: usize, close: bool) -> Option<Range<usize>> {
    let mut value = run(text, begin, |byte| {
        byte.is_ascii_alphanumeric() || b"_-./+~!@#$%^*".contains(&byte)
    });
    value.end = run(text, value.end, |byte| byte == b'=')
        .end
        .min(value.end + 2);
    let ended = match text.get(value.end) {
        None => true,
        Some(byte) => byte.is_ascii_whitespace() || b"\"'&;,\\".contains(byte),
    };
    let digit = text[value.clone()].iter().any(u8::is_ascii_digit);
    (ended && (close || digit)).then_some(value)
}
