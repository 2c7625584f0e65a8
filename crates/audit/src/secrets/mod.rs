//! Finds secrets by their shape, and puts a word in their place. One pass, no backtracking; a shape
//! that hashes, UUIDs and ordinary names have too is none of these.

mod assigned;
mod shapes;

use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// What a secret is.
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
    /// What an HTTP header carries behind `Bearer`.
    Bearer,
    /// The password in a URL.
    UrlPassword,
    /// What is assigned to a name like `password` or `token`.
    Assigned,
}

impl SecretKind {
    /// The name that stands in a redacted text.
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

    /// Whether the shape alone is proof enough to refuse a file. The others are common in examples and
    /// tests, so they are only redacted.
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
pub struct Found {
    /// Where it is, in bytes.
    pub range: Range<usize>,
    /// What it is.
    pub kind: SecretKind,
}

/// The secrets of a text in their order; none overlaps another.
pub fn find(text: &str) -> Vec<Found> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    // Behind the last secret: what comes before is as good as redacted.
    let mut since = 0;
    let mut at = 0;
    while at < bytes.len() {
        let here = shapes::at(bytes, since, at).or_else(|| assigned::at(bytes, since, at));
        match here {
            Some((range, kind)) => {
                at = range.end;
                since = at;
                found.push(Found { range, kind });
            }
            None => at += 1,
        }
    }
    found
}

/// The text with `[redacted:KIND]` in the place of every secret; itself where it has none.
pub fn redact(text: &str) -> Cow<'_, str> {
    let found = find(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for Found { range, kind } in found {
        out.push_str(&text[done..range.start]);
        out.push_str("[redacted:");
        out.push_str(kind.name());
        out.push(']');
        done = range.end;
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// Redacts every string of a JSON value, and what stands under a name like `password`. Names stay.
pub fn redact_value(value: &mut Value) {
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => {
                if let Cow::Owned(redacted) = redact(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => left.extend(items),
            Value::Object(members) => {
                for (name, member) in members {
                    match member {
                        Value::String(text) if assigned::is_secret(name, text) => {
                            *text = format!("[redacted:{}]", SecretKind::Assigned);
                        }
                        _ => left.push(member),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
