//! Removes tokens from the texts of an upstream before they are cut, shown, logged or recorded.

use super::known_tokens::KnownTokens;
use crate::Failure;
use candor_fault::Cause;
use candor_http_client::{BearerToken, Bytes};
use serde_json::{Map, Value};
use std::borrow::Cow;

const REDACTED: &str = "[redacted]";

/// The least length of a foreign token that is recognised.
const MIN_TOKEN_CHARS: usize = 16;

/// The beginnings of GitHub's tokens, which are part of the secret.
const PREFIXES: [&str; 6] = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"];

/// The words before a credential in a header, which are shown.
const SCHEMES: [&str; 3] = ["bearer ", "basic ", "authorization: token "];

/// Replaces the tokens of this process and everything that looks like one.
#[derive(Default)]
pub(super) struct Redactor {
    own: KnownTokens,
}

impl Redactor {
    /// Adds a token to those of this process.
    pub(super) fn remember(&self, token: &BearerToken) {
        self.own.remember(token.secret());
    }

    /// Removes the tokens of this process from a body, which may be data.
    pub(super) fn body(&self, bytes: Bytes) -> Bytes {
        match self.without_own(&bytes) {
            Cow::Borrowed(_) => bytes,
            Cow::Owned(bytes) => Bytes::from(bytes),
        }
    }

    /// Removes the tokens of this process from data.
    pub(super) fn without_own<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.own.redact(bytes, REDACTED)
    }

    /// Removes every token from a text.
    pub(super) fn text(&self, text: &str) -> String {
        // Tokens are ASCII, so what is left is still UTF-8.
        let text = self.without_own(text.as_bytes());
        let text = String::from_utf8_lossy(&text);
        let mut clean = String::with_capacity(text.len());
        let mut rest = &*text;
        while let Some(first) = rest.chars().next() {
            match secret(rest) {
                Some((shown, hidden)) => {
                    clean.push_str(&rest[..shown]);
                    clean.push_str(REDACTED);
                    rest = &rest[shown + hidden..];
                }
                None => {
                    clean.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        clean
    }

    /// Removes every token from the texts of a value and from the names of its members.
    pub(super) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => {
                let clean =
                    |(name, member): (String, Value)| (self.text(&name), self.value(member));
                Value::Object(members.into_iter().map(clean).collect::<Map<_, _>>())
            }
            other => other,
        }
    }

    /// Removes every token from the cause of a failure. The texts of a response were cleaned when it was
    /// read.
    pub(super) fn failure(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Unreachable(reason, cause) => Failure::Unreachable(reason, self.cause(cause)),
            Failure::Partly { done, rest } => Failure::Partly {
                done,
                rest: Box::new(self.failure(*rest)),
            },
            other => other,
        }
    }

    fn cause(&self, cause: Cause) -> Cause {
        match cause {
            Cause::Text(text) => Cause::Text(self.text(&text)),
            Cause::Error {
                message,
                code,
                name,
            } => Cause::Error {
                message: self.text(&message),
                code,
                name,
            },
            Cause::Data(value) => Cause::Data(self.value(value)),
        }
    }
}

/// Returns the bytes to show and the bytes to hide if a token or a credential starts here.
fn secret(text: &str) -> Option<(usize, usize)> {
    let token = PREFIXES.iter().find_map(|prefix| {
        let body = text.strip_prefix(prefix)?;
        let is_body = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let length = body.find(|c: char| !is_body(c)).unwrap_or(body.len());
        (length >= MIN_TOKEN_CHARS).then_some((0, prefix.len() + length))
    });
    token.or_else(|| {
        SCHEMES.iter().find_map(|scheme| {
            let begins = text.get(..scheme.len())?.eq_ignore_ascii_case(scheme);
            let body = begins.then(|| &text[scheme.len()..])?;
            let length = body.find(char::is_whitespace).unwrap_or(body.len());
            let chars = body[..length].chars().count();
            (chars >= MIN_TOKEN_CHARS).then_some((scheme.len(), length))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redactor() -> Redactor {
        redactor_of("own-token-of-ours")
    }

    fn redactor_of(token: &str) -> Redactor {
        let redactor = Redactor::default();
        redactor.remember(&BearerToken::new(token).unwrap());
        redactor
    }

    #[test]
    fn tokens_become_a_marker_and_other_words_stay() {
        for (text, clean) in [
            ("a own-token-of-ours b", "a [redacted] b"),
            ("xghp_0123456789abcdef.", "x[redacted]"),
            ("(github_pat_0123456789abcde-)", "([redacted])"),
            ("gho_0123456789abcde", "gho_0123456789abcde"),
            (
                "Authorization: Bearer 0123456789abcdef é",
                "Authorization: Bearer [redacted] é",
            ),
            (
                "authorization: token 0123456789abcdéf",
                "authorization: token [redacted]",
            ),
            ("Basic 0123456789abcde", "Basic 0123456789abcde"),
            ("Bearer ghs_0123456789abcdef", "Bearer [redacted]"),
            ("é", "é"),
        ] {
            assert_eq!(redactor().text(text), clean);
        }
    }

    #[test]
    fn members_of_a_value_are_clean() {
        let token = "ghr_0123456789abcdef";
        let dirty = json!([{ token: [token, 1] }]);
        assert_eq!(
            redactor().value(dirty),
            json!([{ "[redacted]": ["[redacted]", 1] }])
        );
    }

    #[test]
    fn data_keeps_foreign_tokens() {
        let data = b"own-token-of-ours, own-token-of-oursghp_0123456789abcdef";
        let clean = redactor().body(Bytes::from_static(data));
        assert_eq!(&clean[..], b"[redacted], [redacted]ghp_0123456789abcdef");
        let short = redactor_of("a");
        assert_eq!(short.text("a banana"), "a banana");
    }
}
