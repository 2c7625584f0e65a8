//! Finds secrets in text and replaces them by `[redacted:KIND]`.
//!
//! The text is read in one pass without backtracking. A shape that hashes, UUIDs or ordinary names
//! also have does not count as a secret.

mod assigned_value;
mod known_shape;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// The kind of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretKind {
    /// A private key between its PEM lines.
    PrivateKey,
    /// A token of GitHub.
    Github,
    /// A token of GitLab.
    Gitlab,
    /// An access key of Amazon Web Services, or the secret that belongs to one.
    Aws,
    /// A token or webhook of Slack.
    Slack,
    /// A key of Google's interfaces.
    Google,
    /// A key of a provider of language models.
    ModelProvider,
    /// A token of npm.
    Npm,
    /// A token of PyPI.
    Pypi,
    /// A key of Stripe.
    Stripe,
    /// A signed JSON Web Token.
    Jwt,
    /// The credential after `Bearer` in an HTTP header.
    Bearer,
    /// The password in a URL.
    UrlPassword,
    /// A value that is assigned to a name like `password` or `token`.
    Assigned,
}

impl SecretKind {
    /// Returns the name that a redacted text contains.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrivateKey => "PRIVATE_KEY",
            Self::Github => "GITHUB_TOKEN",
            Self::Gitlab => "GITLAB_TOKEN",
            Self::Aws => "AWS_KEY",
            Self::Slack => "SLACK_TOKEN",
            Self::Google => "GOOGLE_KEY",
            Self::ModelProvider => "MODEL_KEY",
            Self::Npm => "NPM_TOKEN",
            Self::Pypi => "PYPI_TOKEN",
            Self::Stripe => "STRIPE_KEY",
            Self::Jwt => "JWT",
            Self::Bearer => "BEARER",
            Self::UrlPassword => "URL_PASSWORD",
            Self::Assigned => "ASSIGNED",
        }
    }

    /// Returns true if the shape alone is proof enough to refuse a file. The other kinds are common in
    /// examples and tests, so they are only redacted.
    pub fn is_certain(self) -> bool {
        !matches!(self, Self::Bearer | Self::UrlPassword | Self::Assigned)
    }
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretMatch {
    /// The byte range in the text.
    pub range: Range<usize>,
    pub kind: SecretKind,
}

/// Returns the secrets of a text in their order. They do not overlap.
pub fn find(text: &str) -> Vec<SecretMatch> {
    let bytes = text.as_bytes();
    let mut secrets = Vec::new();
    // The end of the last secret. Nothing before it is read again.
    let mut since = 0;
    let mut at = 0;
    while at < bytes.len() {
        let secret = known_shape::secret_at(bytes, since, at)
            .or_else(|| assigned_value::secret_at(bytes, since, at));
        match secret {
            Some((range, kind)) => {
                at = range.end;
                since = at;
                secrets.push(SecretMatch { range, kind });
            }
            None => at += 1,
        }
    }
    secrets
}

/// Replaces every secret by `[redacted:KIND]`. Returns the text itself if it contains none.
pub fn redact(text: &str) -> Cow<'_, str> {
    let secrets = find(text);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for SecretMatch { range, kind } in secrets {
        out.push_str(&text[done..range.start]);
        out.push_str("[redacted:");
        out.push_str(kind.name());
        out.push(']');
        done = range.end;
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
