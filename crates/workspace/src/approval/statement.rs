//! The statements that are signed: approvals and revocations, as members of a JSON object.

use super::key::KeyId;
use crate::plan::PlanHash;
use candor_fault::{Timestamp, iso_millis};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The maximum size of the name of an approver, in bytes.
pub const MAX_APPROVER_BYTES: usize = 256;
/// The maximum size of the path of a root, in bytes.
pub const MAX_ROOT_BYTES: usize = 4096;

/// The version of the statements.
const VERSION: u32 = 1;

/// A statement that a person signs.
pub trait Signable: Serialize + DeserializeOwned {
    /// Checks that the members fit together.
    fn validate(&self) -> Result<(), StatementError>;
}

/// The reason why the members of a statement do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementError {
    /// It is of another version.
    Version,
    /// The name of the person is blank, too long or has control characters.
    Name,
    /// The root is not an absolute path, or too long.
    Root,
    /// It ends before it begins.
    Span,
    /// It revokes nothing, or two things.
    Subject,
}

impl fmt::Display for StatementError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            StatementError::Version => {
                "the statement is of a version that this program does not know"
            }
            StatementError::Name => "the name is blank, too long or has control characters",
            StatementError::Root => "the root is no absolute path, or too long",
            StatementError::Span => "the approval ends before it begins",
            StatementError::Subject => "a revocation names either a plan or a key",
        })
    }
}

impl std::error::Error for StatementError {}

/// An instant in a statement: UTC, milliseconds, written in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StatementTime(Timestamp);

impl StatementTime {
    /// Returns the last whole millisecond at or before an instant.
    pub fn at(at: Timestamp) -> StatementTime {
        let nanos = at.as_nanosecond();
        let millis = i64::try_from(nanos.div_euclid(1_000_000)).unwrap_or_default();
        StatementTime(Timestamp::from_millisecond(millis).unwrap_or(at))
    }

    pub fn timestamp(self) -> Timestamp {
        self.0
    }
}

impl fmt::Display for StatementTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&iso_millis(self.0))
    }
}

impl From<StatementTime> for String {
    fn from(instant: StatementTime) -> String {
        instant.to_string()
    }
}

impl TryFrom<String> for StatementTime {
    type Error = &'static str;

    fn try_from(text: String) -> Result<StatementTime, &'static str> {
        let wrong = "an instant is written like 2026-01-31T12:00:00.000Z";
        let read = text.parse().map(StatementTime::at).map_err(|_| wrong)?;
        (read.to_string() == text).then_some(read).ok_or(wrong)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum ApprovalKind {
    #[serde(rename = "approval")]
    Approval,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum RevocationKind {
    #[serde(rename = "revocation")]
    Revocation,
}

/// The permission of a person to execute a plan in one workspace until some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    v: u32,
    kind: ApprovalKind,
    pub plan_hash: PlanHash,
    /// The canonical absolute path of the workspace.
    pub root: String,
    /// The name of the person, one of the key's principals.
    pub approver: String,
    pub approved_at: StatementTime,
    /// The last instant at which it is valid.
    pub not_after: StatementTime,
}

impl Approval {
    /// Creates an approval. Times are cut to milliseconds.
    pub fn new(
        plan_hash: PlanHash,
        root: &str,
        approver: &str,
        approved_at: Timestamp,
        not_after: Timestamp,
    ) -> Result<Approval, StatementError> {
        let approval = Approval {
            v: VERSION,
            kind: ApprovalKind::Approval,
            plan_hash,
            root: root.to_owned(),
            approver: approver.to_owned(),
            approved_at: StatementTime::at(approved_at),
            not_after: StatementTime::at(not_after),
        };
        approval.validate()?;
        Ok(approval)
    }
}

impl Signable for Approval {
    fn validate(&self) -> Result<(), StatementError> {
        common(self.v, &self.approver, &self.root)?;
        match self.not_after < self.approved_at {
            true => Err(StatementError::Span),
            false => Ok(()),
        }
    }
}

/// The target of a revocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevocationTarget {
    /// The approvals of a plan that were made at or before the revocation.
    Plan(PlanHash),
    /// Everything that a key approved or will approve.
    Key(KeyId),
}

/// The revocation of approvals by a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revocation {
    v: u32,
    kind: RevocationKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plan_hash: Option<PlanHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked_key: Option<KeyId>,
    /// The canonical absolute path of the workspace.
    pub root: String,
    pub revoker: String,
    pub revoked_at: StatementTime,
}

impl Revocation {
    /// Creates a revocation. The time is cut to milliseconds.
    pub fn new(
        subject: RevocationTarget,
        root: &str,
        revoker: &str,
        revoked_at: Timestamp,
    ) -> Result<Revocation, StatementError> {
        let (plan_hash, revoked_key) = match subject {
            RevocationTarget::Plan(hash) => (Some(hash), None),
            RevocationTarget::Key(key) => (None, Some(key)),
        };
        let revocation = Revocation {
            v: VERSION,
            kind: RevocationKind::Revocation,
            plan_hash,
            revoked_key,
            root: root.to_owned(),
            revoker: revoker.to_owned(),
            revoked_at: StatementTime::at(revoked_at),
        };
        revocation.validate()?;
        Ok(revocation)
    }

    pub fn subject(&self) -> Option<RevocationTarget> {
        match (&self.plan_hash, self.revoked_key) {
            (Some(hash), None) => Some(RevocationTarget::Plan(hash.clone())),
            (None, Some(key)) => Some(RevocationTarget::Key(key)),
            _ => None,
        }
    }
}

impl Signable for Revocation {
    fn validate(&self) -> Result<(), StatementError> {
        common(self.v, &self.revoker, &self.root)?;
        self.subject().map(drop).ok_or(StatementError::Subject)
    }
}

fn common(version: u32, name: &str, root: &str) -> Result<(), StatementError> {
    if version != VERSION {
        return Err(StatementError::Version);
    }
    let blank = name.trim().is_empty() || name.chars().any(char::is_control);
    if blank || name.len() > MAX_APPROVER_BYTES {
        return Err(StatementError::Name);
    }
    if !root.starts_with('/') || root.len() > MAX_ROOT_BYTES {
        return Err(StatementError::Root);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::hash;
    use proptest::prelude::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn inconsistent_members_are_refused() {
        let make = |root: &str, name: &str, end| {
            Approval::new(hash("p"), root, name, second(10), second(end)).map(drop)
        };
        assert_eq!(make("/w", "anna", 10), Ok(()));
        assert_eq!(make("/w", "anna", 9), Err(StatementError::Span));
        assert_eq!(make("w", "anna", 11), Err(StatementError::Root));
        for name in ["", " \t", "a\nb", &"x".repeat(257)] {
            assert_eq!(make("/w", name, 11), Err(StatementError::Name), "{name:?}");
        }
        let long = format!("/{}", "x".repeat(MAX_ROOT_BYTES));
        assert_eq!(make(&long, "anna", 11), Err(StatementError::Root));
    }

    #[test]
    fn instants_have_one_notation() {
        let read = |text: &str| StatementTime::try_from(text.to_owned());
        assert!(read("2026-01-31T12:00:00.000Z").is_ok());
        for other in [
            "2026-01-31T12:00:00Z",
            "2026-01-31T12:00:00.0000Z",
            "2026-01-31T13:00:00.000+01:00",
            "2026-01-31t12:00:00.000z",
            "2026-01-31T12:00:00.000Z[UTC]",
            "2026-02-30T12:00:00.000Z",
            "",
        ] {
            assert!(read(other).is_err(), "{other}");
        }
    }

    proptest! {
        #[test]
        fn instants_round_trip(nanos in -4_000_000_000_000_000_000i128..9_000_000_000_000_000_000) {
            let at = Timestamp::from_nanosecond(nanos).unwrap();
            let instant = StatementTime::at(at);
            prop_assert!(instant.timestamp() <= at);
            prop_assert!(at.duration_since(instant.timestamp()).as_nanos() < 1_000_000);
            prop_assert_eq!(StatementTime::try_from(instant.to_string()), Ok(instant));
        }
    }
}
