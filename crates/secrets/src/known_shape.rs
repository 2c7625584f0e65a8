//! Finds secrets by their own shape.

use crate::SecretKind;
use memchr::memmem::find;
use std::ops::Range;

/// The byte range and the kind of a secret.
pub(crate) type KnownShape = (Range<usize>, SecretKind);

/// A prefix that begins a token, and the bytes that may follow it.
struct TokenShape {
    prefix: &'static [u8],
    kind: SecretKind,
    is_body: fn(u8) -> bool,
    min: usize,
    max: usize,
}

const fn at_least(
    prefix: &'static [u8],
    kind: SecretKind,
    is_body: fn(u8) -> bool,
    min: usize,
) -> TokenShape {
    TokenShape {
        prefix,
        kind,
        is_body,
        min,
        max: usize::MAX,
    }
}

const fn exactly(
    prefix: &'static [u8],
    kind: SecretKind,
    is_body: fn(u8) -> bool,
    count: usize,
) -> TokenShape {
    TokenShape {
        prefix,
        kind,
        is_body,
        min: count,
        max: count,
    }
}

const TOKENS: [TokenShape; 20] = [
    at_least(b"ghp_", SecretKind::Github, is_alphanumeric, 36),
    at_least(b"gho_", SecretKind::Github, is_alphanumeric, 36),
    at_least(b"ghu_", SecretKind::Github, is_alphanumeric, 36),
    at_least(b"ghs_", SecretKind::Github, is_alphanumeric, 36),
    at_least(b"ghr_", SecretKind::Github, is_alphanumeric, 36),
    at_least(b"github_pat_", SecretKind::Github, is_word, 40),
    at_least(b"glpat-", SecretKind::Gitlab, is_word_or_dash, 20),
    exactly(b"AKIA", SecretKind::Aws, is_upper_or_digit, 16),
    exactly(b"ASIA", SecretKind::Aws, is_upper_or_digit, 16),
    exactly(b"AIza", SecretKind::Google, is_word_or_dash, 35),
    at_least(b"npm_", SecretKind::Npm, is_alphanumeric, 36),
    at_least(b"pypi-", SecretKind::Pypi, is_word_or_dash, 50),
    at_least(b"sk_live_", SecretKind::Stripe, is_alphanumeric, 16),
    at_least(b"rk_live_", SecretKind::Stripe, is_alphanumeric, 16),
    at_least(b"whsec_", SecretKind::Stripe, is_alphanumeric, 32),
    at_least(b"xoxa-", SecretKind::Slack, is_word_or_dash, 20),
    at_least(b"xoxb-", SecretKind::Slack, is_word_or_dash, 20),
    at_least(b"xoxp-", SecretKind::Slack, is_word_or_dash, 20),
    at_least(b"xoxr-", SecretKind::Slack, is_word_or_dash, 20),
    at_least(b"xoxs-", SecretKind::Slack, is_word_or_dash, 20),
];

const PEM_BEGINS: &[u8] = b"-----BEGIN ";
const PEM_ENDS: &[u8] = b"-----END ";
const PEM_DASHES: &[u8] = b"-----";

/// Returns the secret that begins at offset `at`. The text before `since` belongs to the secret before
/// and is not read.
pub(crate) fn secret_at(text: &[u8], since: usize, at: usize) -> Option<KnownShape> {
    match text[at] {
        b'-' => private_key(text, at),
        b':' => url_password(text, at),
        b'B' | b'b' => bearer(text, since, at),
        b'e' => jwt(text, since, at),
        b's' if text[at..].starts_with(b"sk-") => model_key(text, since, at),
        b'h' => slack_hook(text, at),
        _ => None,
    }
    .or_else(|| prefixed_token(text, since, at))
}

fn prefixed_token(text: &[u8], since: usize, at: usize) -> Option<KnownShape> {
    if !matches!(
        text[at],
        b'g' | b'A' | b'n' | b'p' | b's' | b'r' | b'w' | b'x'
    ) || !can_begin_word(&text[since..at])
    {
        return None;
    }
    let rest = &text[at..];
    let token = TOKENS.iter().find(|token| rest.starts_with(token.prefix))?;
    let mut body = run(rest, token.prefix.len(), token.is_body);
    body.end = body.end.min(body.start.saturating_add(token.max));
    let end = at + body.end;
    let fits = body.len() >= token.min && !is_crossed_out(&rest[body]) && is_word_end(text, end);
    fits.then_some((at..end, token.kind))
}

/// Matches `sk-` and at least one long part with a digit. Names of CSS classes have short parts.
fn model_key(text: &[u8], since: usize, at: usize) -> Option<KnownShape> {
    // Only the beginning of a run of such parts is tried, because each try reads to the end of the run.
    if !can_begin_word(&text[since..at]) || text[since..at].ends_with(b"-") {
        return None;
    }
    let body = run(text, at + 3, is_word_or_dash);
    let long = |part: &[u8]| part.len() >= 16 && part.iter().any(u8::is_ascii_digit);
    let fits = text[body.clone()].split(|&byte| byte == b'-').any(long);
    fits.then_some((at..body.end, SecretKind::ModelProvider))
}

/// Matches two parts of JSON in Base64 and a signature.
fn jwt(text: &[u8], since: usize, at: usize) -> Option<KnownShape> {
    let before = &text[since..at];
    let is_inside = before.ends_with(b"-") || before.ends_with(b".");
    if !text[at..].starts_with(b"eyJ") || is_inside || !can_begin_word(before) {
        return None;
    }
    let head = run(text, at, is_word_or_dash);
    let claims = run(text, head.end + 1, is_word_or_dash);
    let sign = run(text, claims.end + 1, is_word_or_dash);
    let has_dot = |offset: usize| text.get(offset) == Some(&b'.');
    let fits = has_dot(head.end)
        && has_dot(claims.end)
        && head.len() >= 10
        && text[claims].starts_with(b"eyJ")
        && sign.len() >= 10;
    fits.then_some((at..sign.end, SecretKind::Jwt))
}

fn slack_hook(text: &[u8], at: usize) -> Option<KnownShape> {
    let begins = b"hooks.slack.com/services/";
    if !text[at..].starts_with(begins) {
        return None;
    }
    let body = run(text, at + begins.len(), |byte| {
        is_alphanumeric(byte) || byte == b'/'
    });
    let fits = body.len() >= 20 && is_word_end(text, body.end);
    fits.then_some((body, SecretKind::Slack))
}

/// Matches `-----BEGIN … PRIVATE KEY-----` to its end line, or to the end of the Base64. A line without a
/// body is not a key: documentation and code contain such lines.
fn private_key(text: &[u8], at: usize) -> Option<KnownShape> {
    let rest = text[at..].strip_prefix(PEM_BEGINS)?;
    let label = run(rest, 0, |byte| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
    });
    let is_private = [&b"PRIVATE KEY"[..], b"PRIVATE KEY BLOCK"]
        .iter()
        .any(|name| rest[label.clone()].ends_with(name));
    if !is_private || !rest[label.end..].starts_with(PEM_DASHES) {
        return None;
    }
    let begin = at + PEM_BEGINS.len() + label.end + PEM_DASHES.len();
    let body = run(text, begin, is_in_pem);
    let encoded = text[body.clone()]
        .iter()
        .filter(|&&byte| is_alphanumeric(byte))
        .count();
    if encoded < 40 {
        return None;
    }
    let tail = &text[body.end..];
    let closing = match tail.starts_with(PEM_ENDS) {
        // The end line is short.
        true => find(&tail[PEM_ENDS.len()..tail.len().min(100)], PEM_DASHES),
        false => None,
    };
    let end_line = closing.map_or(0, |offset| PEM_ENDS.len() + offset + PEM_DASHES.len());
    Some((at..body.end + end_line, SecretKind::PrivateKey))
}

/// Returns true for the bytes inside a key: Base64, line breaks (also escaped) and old headers.
fn is_in_pem(byte: u8) -> bool {
    is_alphanumeric(byte) || byte.is_ascii_whitespace() || b"+/=:,.\\".contains(&byte)
}

/// Matches the credential after `Bearer`.
fn bearer(text: &[u8], since: usize, at: usize) -> Option<KnownShape> {
    let word = text.get(at..at + 7)?;
    if !word.eq_ignore_ascii_case(b"bearer ") || !can_begin_word(&text[since..at]) {
        return None;
    }
    let body = run(text, at + 7, |byte| {
        is_word_or_dash(byte) || b".~+/=".contains(&byte)
    });
    let fits = body.len() >= 16 && text[body.clone()].iter().any(u8::is_ascii_digit);
    fits.then_some((body, SecretKind::Bearer))
}

/// Matches the password of `://user:password@`.
fn url_password(text: &[u8], at: usize) -> Option<KnownShape> {
    /// The maximum length of user and password together.
    const LONGEST: usize = 512;
    if !text[at..].starts_with(b"://") {
        return None;
    }
    let begin = at + 3;
    let window = &text[begin..text.len().min(begin + LONGEST)];
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'`<>[]{}$\\".contains(byte);
    let end = window.iter().position(ends).unwrap_or(window.len());
    let last = window[..end].iter().rposition(|&byte| byte == b'@')?;
    let colon = window[..last].iter().position(|&byte| byte == b':')?;
    let range = begin + colon + 1..begin + last;
    (!range.is_empty()).then_some((range, SecretKind::UrlPassword))
}

/// Returns the longest run of matching bytes that starts at `from`.
pub(crate) fn run(text: &[u8], from: usize, matches: impl Fn(u8) -> bool) -> Range<usize> {
    let from = from.min(text.len());
    let count = text[from..]
        .iter()
        .take_while(|&&byte| matches(byte))
        .count();
    from..from + count
}

/// Returns true if a word can begin after this text. An escaped `\n` in quoted text ends a word.
fn can_begin_word(before: &[u8]) -> bool {
    match *before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., last] => !is_word(last),
        [] => true,
    }
}

fn is_word_end(text: &[u8], end: usize) -> bool {
    text.get(end).is_none_or(|&byte| !is_word(byte))
}

/// Returns true for `xxxx`, which examples contain.
fn is_crossed_out(body: &[u8]) -> bool {
    body.iter().all(|byte| byte.eq_ignore_ascii_case(&b'x'))
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_word(byte: u8) -> bool {
    is_alphanumeric(byte) || byte == b'_'
}

fn is_word_or_dash(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}
