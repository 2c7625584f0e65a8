//! Secrets that are known by what they look like themselves.

use super::SecretKind;
use memchr::memmem::find;
use std::ops::Range;

/// A secret with its place.
pub(super) type Shaped = (Range<usize>, SecretKind);

/// A word that begins a token, and what follows it.
struct Token {
    begins: &'static [u8],
    kind: SecretKind,
    of: fn(u8) -> bool,
    least: usize,
    most: usize,
}

const fn token(begins: &'static [u8], kind: SecretKind, of: fn(u8) -> bool, least: usize) -> Token {
    Token {
        begins,
        kind,
        of,
        least,
        most: usize::MAX,
    }
}

const fn exactly(
    begins: &'static [u8],
    kind: SecretKind,
    of: fn(u8) -> bool,
    count: usize,
) -> Token {
    Token {
        begins,
        kind,
        of,
        least: count,
        most: count,
    }
}

const TOKENS: [Token; 20] = [
    token(b"ghp_", SecretKind::Github, letter_or_digit, 36),
    token(b"gho_", SecretKind::Github, letter_or_digit, 36),
    token(b"ghu_", SecretKind::Github, letter_or_digit, 36),
    token(b"ghs_", SecretKind::Github, letter_or_digit, 36),
    token(b"ghr_", SecretKind::Github, letter_or_digit, 36),
    token(b"github_pat_", SecretKind::Github, word, 40),
    token(b"glpat-", SecretKind::Gitlab, dashed, 20),
    exactly(b"AKIA", SecretKind::Aws, upper_or_digit, 16),
    exactly(b"ASIA", SecretKind::Aws, upper_or_digit, 16),
    exactly(b"AIza", SecretKind::Google, dashed, 35),
    token(b"npm_", SecretKind::Npm, letter_or_digit, 36),
    token(b"pypi-", SecretKind::Pypi, dashed, 50),
    token(b"sk_live_", SecretKind::Stripe, letter_or_digit, 16),
    token(b"rk_live_", SecretKind::Stripe, letter_or_digit, 16),
    token(b"whsec_", SecretKind::Stripe, letter_or_digit, 32),
    token(b"xoxa-", SecretKind::Slack, dashed, 20),
    token(b"xoxb-", SecretKind::Slack, dashed, 20),
    token(b"xoxp-", SecretKind::Slack, dashed, 20),
    token(b"xoxr-", SecretKind::Slack, dashed, 20),
    token(b"xoxs-", SecretKind::Slack, dashed, 20),
];

const PEM_BEGINS: &[u8] = b"-----BEGIN ";
const PEM_ENDS: &[u8] = b"-----END ";
const PEM_DASHES: &[u8] = b"-----";

/// The secret that begins at a place. What comes before `since` is a secret itself, and not looked at.
pub(super) fn at(text: &[u8], since: usize, at: usize) -> Option<Shaped> {
    match text[at] {
        b'-' => private_key(text, at),
        b':' => url_password(text, at),
        b'B' | b'b' => bearer(text, since, at),
        b'e' => jwt(text, since, at),
        b's' if text[at..].starts_with(b"sk-") => model_key(text, since, at),
        b'h' => slack_hook(text, at),
        _ => None,
    }
    .or_else(|| known_token(text, since, at))
}

fn known_token(text: &[u8], since: usize, at: usize) -> Option<Shaped> {
    if !matches!(
        text[at],
        b'g' | b'A' | b'n' | b'p' | b's' | b'r' | b'w' | b'x'
    ) || !begins_word(&text[since..at])
    {
        return None;
    }
    let rest = &text[at..];
    let token = TOKENS.iter().find(|token| rest.starts_with(token.begins))?;
    let mut body = run(rest, token.begins.len(), token.of);
    body.end = body.end.min(body.start.saturating_add(token.most));
    let end = at + body.end;
    let fits = body.len() >= token.least && !is_crossed_out(&rest[body]) && ends_word(text, end);
    fits.then_some((at..end, token.kind))
}

/// `sk-` and at least one long part that has a digit; names of styles have short parts.
fn model_key(text: &[u8], since: usize, at: usize) -> Option<Shaped> {
    // Within a run of such parts only its beginning is looked at: each look goes to the end of it.
    if !begins_word(&text[since..at]) || text[since..at].ends_with(b"-") {
        return None;
    }
    let body = run(text, at + 3, dashed);
    let long = |part: &[u8]| part.len() >= 16 && part.iter().any(u8::is_ascii_digit);
    let fits = text[body.clone()].split(|&byte| byte == b'-').any(long);
    fits.then_some((at..body.end, SecretKind::ModelProvider))
}

/// Two parts of JSON in Base64 and a signature.
fn jwt(text: &[u8], since: usize, at: usize) -> Option<Shaped> {
    let before = &text[since..at];
    let inside = before.ends_with(b"-") || before.ends_with(b".");
    if !text[at..].starts_with(b"eyJ") || inside || !begins_word(before) {
        return None;
    }
    let head = run(text, at, dashed);
    let claims = run(text, head.end + 1, dashed);
    let sign = run(text, claims.end + 1, dashed);
    let dotted = |place: usize| text.get(place) == Some(&b'.');
    let fits = dotted(head.end)
        && dotted(claims.end)
        && head.len() >= 10
        && text[claims].starts_with(b"eyJ")
        && sign.len() >= 10;
    fits.then_some((at..sign.end, SecretKind::Jwt))
}

fn slack_hook(text: &[u8], at: usize) -> Option<Shaped> {
    let begins = b"hooks.slack.com/services/";
    if !text[at..].starts_with(begins) {
        return None;
    }
    let body = run(text, at + begins.len(), |byte| {
        letter_or_digit(byte) || byte == b'/'
    });
    let fits = body.len() >= 20 && ends_word(text, body.end);
    fits.then_some((body, SecretKind::Slack))
}

/// From `-----BEGIN … PRIVATE KEY-----` to its end, or as far as Base64 goes. Without a body the line
/// is only somebody's word for one.
fn private_key(text: &[u8], at: usize) -> Option<Shaped> {
    let rest = text[at..].strip_prefix(PEM_BEGINS)?;
    let label = run(rest, 0, |byte| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
    });
    let named = [&b"PRIVATE KEY"[..], b"PRIVATE KEY BLOCK"]
        .iter()
        .any(|name| rest[label.clone()].ends_with(name));
    if !named || !rest[label.end..].starts_with(PEM_DASHES) {
        return None;
    }
    let begin = at + PEM_BEGINS.len() + label.end + PEM_DASHES.len();
    let body = run(text, begin, in_pem);
    let encoded = text[body.clone()]
        .iter()
        .filter(|&&byte| letter_or_digit(byte))
        .count();
    if encoded < 40 {
        return None;
    }
    let tail = &text[body.end..];
    let closing = match tail.starts_with(PEM_ENDS) {
        // The line that ends it is short.
        true => find(&tail[PEM_ENDS.len()..tail.len().min(100)], PEM_DASHES),
        false => None,
    };
    let closed = closing.map_or(0, |place| PEM_ENDS.len() + place + PEM_DASHES.len());
    Some((at..body.end + closed, SecretKind::PrivateKey))
}

/// What is inside a key: Base64, line breaks as such or escaped, and the headers of old forms.
fn in_pem(byte: u8) -> bool {
    letter_or_digit(byte) || byte.is_ascii_whitespace() || b"+/=:,.\\".contains(&byte)
}

/// What follows `Bearer` where a header is written.
fn bearer(text: &[u8], since: usize, at: usize) -> Option<Shaped> {
    let word = text.get(at..at + 7)?;
    if !word.eq_ignore_ascii_case(b"bearer ") || !begins_word(&text[since..at]) {
        return None;
    }
    let body = run(text, at + 7, |byte| {
        dashed(byte) || b".~+/=".contains(&byte)
    });
    let fits = body.len() >= 16 && text[body.clone()].iter().any(u8::is_ascii_digit);
    fits.then_some((body, SecretKind::Bearer))
}

/// The password of `://user:password@`.
fn url_password(text: &[u8], at: usize) -> Option<Shaped> {
    /// Longer names and passwords are none.
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

/// The longest run of such bytes from a place on.
pub(super) fn run(text: &[u8], from: usize, of: impl Fn(u8) -> bool) -> Range<usize> {
    let from = from.min(text.len());
    let count = text[from..].iter().take_while(|&&byte| of(byte)).count();
    from..from + count
}

/// Whether a word may begin behind this text; `\n` in a quoted text ends the word before.
fn begins_word(before: &[u8]) -> bool {
    match *before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., last] => !word(last),
        [] => true,
    }
}

fn ends_word(text: &[u8], end: usize) -> bool {
    text.get(end).is_none_or(|&byte| !word(byte))
}

/// `xxxx`, as examples have it.
fn is_crossed_out(body: &[u8]) -> bool {
    body.iter().all(|byte| byte.eq_ignore_ascii_case(&b'x'))
}

fn letter_or_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn word(byte: u8) -> bool {
    letter_or_digit(byte) || byte == b'_'
}

fn dashed(byte: u8) -> bool {
    word(byte) || byte == b'-'
}
