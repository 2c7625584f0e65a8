//! The findings of a policy check: which of them are new, and their report.

use crate::edit::cut;
use candor_secrets::redact;
use memchr::{memchr, memchr_iter, memrchr};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::ops::Range;

/// The maximum number of findings in a report.
pub const MAX_FINDINGS: usize = 20;

/// The maximum number of characters of a line in a report.
pub const MAX_FINDING_TEXT: usize = 120;

/// The set of rules that a finding belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// Rules for every file.
    Secrets,
    /// Rules for Rust that runs outside tests.
    RustStrict,
}

impl Profile {
    pub fn name(self) -> &'static str {
        match self {
            Self::Secrets => "secrets",
            Self::RustStrict => "rust-strict",
        }
    }
}

/// A rule of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyRule {
    /// A line that a merge left behind.
    ConflictMarker,
    /// A private key.
    PrivateKey,
    /// A token of a well-known shape.
    SecretToken,
    /// The password in a URL.
    UrlCredentials,
    /// A call of `unwrap()`.
    Unwrap,
    /// A call of `expect(…)`.
    Expect,
    /// `panic!`.
    Panic,
    /// `todo!`.
    Todo,
    /// `unimplemented!`.
    Unimplemented,
    /// `unsafe`.
    Unsafe,
    /// A Rust file that cannot be parsed, so its content cannot be judged.
    NotRust,
}

impl PolicyRule {
    /// Every rule.
    pub const ALL: [Self; 11] = [
        Self::ConflictMarker,
        Self::PrivateKey,
        Self::SecretToken,
        Self::UrlCredentials,
        Self::Unwrap,
        Self::Expect,
        Self::Panic,
        Self::Todo,
        Self::Unimplemented,
        Self::Unsafe,
        Self::NotRust,
    ];

    /// Returns the name that findings and exceptions use.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConflictMarker => "conflict-marker",
            Self::PrivateKey => "private-key",
            Self::SecretToken => "secret-token",
            Self::UrlCredentials => "url-credentials",
            Self::Unwrap => "unwrap",
            Self::Expect => "expect",
            Self::Panic => "panic",
            Self::Todo => "todo",
            Self::Unimplemented => "unimplemented",
            Self::Unsafe => "unsafe",
            Self::NotRust => "not-rust",
        }
    }

    /// Returns the rule with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// Returns the profile that the rule belongs to.
    pub fn profile(self) -> Profile {
        match self {
            Self::ConflictMarker | Self::PrivateKey | Self::SecretToken | Self::UrlCredentials => {
                Profile::Secrets
            }
            _ => Profile::RustStrict,
        }
    }

    /// Returns advice on a finding, and how to get an exception.
    pub fn how(self) -> String {
        let instead = match self {
            Self::ConflictMarker => "finish the merge",
            Self::PrivateKey | Self::SecretToken | Self::UrlCredentials => {
                "read it from the environment or a secret store"
            }
            Self::Unwrap | Self::Expect => "return the error",
            Self::Panic | Self::Todo | Self::Unimplemented => "return an error",
            Self::Unsafe => "use safe code",
            Self::NotRust => "close every string, comment and bracket",
        };
        let name = self.name();
        format!(
            "{instead}, or ask for a plan whose phase has an exception for `{name}` with a reason"
        )
    }
}

/// Something forbidden that an edit adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: PolicyRule,
    /// The line in the new text, from 1.
    pub line: usize,
    /// That line without spaces around it, secrets redacted, cut to [`MAX_FINDING_TEXT`] characters.
    pub text: String,
    /// Advice on the finding, and how to get an exception.
    pub how: String,
}

/// The findings of an edit that policy forbids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyReport {
    /// The first findings, those of the profile `secrets` before others, then by line.
    pub findings: Vec<Finding>,
    /// The number of further ones.
    pub omitted: usize,
}

impl PolicyReport {
    /// Returns true if the edit adds nothing that is forbidden.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Returns the gravest profile with a finding: `secrets` if any finding belongs to it.
    pub fn profile(&self) -> Option<Profile> {
        self.findings.first().map(|finding| finding.rule.profile())
    }
}

/// A finding by its range in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawFinding {
    pub(super) rule: PolicyRule,
    /// Secrets are compared by this range, other findings by their line.
    pub(super) range: Range<usize>,
}

type Key = (PolicyRule, [u8; 32]);

/// Takes from `added` as many findings of each key as there were before, the first ones first.
pub(super) fn take_away(
    added: &mut Vec<RawFinding>,
    after: &str,
    old: &[RawFinding],
    before: &str,
) {
    let mut known: HashMap<Key, usize> = HashMap::new();
    for key in keys(old, before) {
        *known.entry(key).or_default() += 1;
    }
    let mut keys = keys(added, after).into_iter();
    added.retain(|_| {
        let left = keys.next().and_then(|key| known.get_mut(&key));
        match left {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        }
    });
}

/// Returns the keys of findings. A line is digested once for all consecutive findings on it.
fn keys(found: &[RawFinding], text: &str) -> Vec<Key> {
    let mut last: Option<(Range<usize>, [u8; 32])> = None;
    let key = |raw: &RawFinding| {
        if matches!(
            raw.rule,
            PolicyRule::PrivateKey | PolicyRule::SecretToken | PolicyRule::UrlCredentials
        ) {
            return (raw.rule, digest(&text[raw.range.clone()]));
        }
        if let Some((line, digest)) = &last
            && line.contains(&raw.range.start)
        {
            return (raw.rule, *digest);
        }
        // A file that is not Rust is the same finding wherever it is noticed.
        let line = match raw.rule {
            PolicyRule::NotRust => 0..0,
            _ => line_of(text, raw.range.start),
        };
        let digest = digest(&text[line.clone()]);
        last = Some((line, digest));
        (raw.rule, digest)
    };
    found.iter().map(key).collect()
}

/// Digests a text in which every run of whitespace counts as one space.
fn digest(text: &str) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for word in text.split_whitespace() {
        hasher.update(word.as_bytes());
        hasher.update(b" ");
    }
    hasher.finalize().into()
}

fn line_of(text: &str, offset: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let start = memrchr(b'\n', &bytes[..offset]).map_or(0, |at| at + 1);
    let end = memchr(b'\n', &bytes[offset..]).map_or(bytes.len(), |at| offset + at);
    start..end
}

/// Builds the report of the findings in a text.
pub(super) fn report(mut found: Vec<RawFinding>, text: &str) -> PolicyReport {
    found.sort_by_key(|raw| (raw.rule.profile(), raw.range.start, raw.rule));
    let omitted = found.len().saturating_sub(MAX_FINDINGS);
    found.truncate(MAX_FINDINGS);
    let finding = |raw: RawFinding| Finding {
        rule: raw.rule,
        line: memchr_iter(b'\n', &text.as_bytes()[..raw.range.start]).count() + 1,
        text: shown(text, &raw.range),
        how: raw.rule.how(),
    };
    let findings = found.into_iter().map(finding).collect();
    PolicyReport { findings, omitted }
}

/// Returns the line of a finding as it may be shown. A very long line starts at the finding.
fn shown(text: &str, range: &Range<usize>) -> String {
    /// The number of bytes of a line that are redacted, so that a secret at the end of the excerpt is
    /// whole.
    const AROUND: usize = 64 * 1024;
    let line = line_of(text, range.start);
    // A finding may be a key of many lines: the lines after its first one are redacted, not shown.
    let end = range
        .end
        .max(line.end)
        .min(range.start.saturating_add(AROUND));
    let end = text.floor_char_boundary(end);
    let start = match range.start - line.start {
        far if far > AROUND => range.start,
        _ => line.start,
    };
    let redacted = redact(&text[start..end]);
    let line = redacted.trim_start().lines().next().unwrap_or_default();
    String::from(cut(line.trim_end(), MAX_FINDING_TEXT))
}
