//! The statements that are signed: approvals and revocations, as members of a JSON object.

use super::key::KeyId;
use crate::plan::PlanHash;
use crate::repository::RootCommits;
use candor_fault::{Timestamp, iso_millis};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// The maximum size of the name of an approver, in bytes.
pub const MAX_APPROVER_BYTES: usize = 256;
/// The maximum size of the path of a root, in bytes.
pub const MAX_ROOT_BYTES: usize = 4096;

/// The version of revocations, and of approvals that name a root and no repository.
const VERSION_1: u32 = 1;

/// The version of approvals that can be bound to a repository.
const VERSION_2: u32 = 2;

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
    /// An approval is bound to neither a root nor a repository, or one of version 1 to a repository.
    Binding,
    /// It ends before it begins.
    Span,
    /// It revokes nothing, or two things.
    Subject,
}

impl fmt::Display for StatementError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            StatementError::Version => UNKNOWN_VERSION,
            StatementError::Name => "the name is blank, too long or has control characters",
            StatementError::Root => "the root is no absolute path, or too long",
            StatementError::Binding => "the approval is bound to neither a root nor a repository",
            StatementError::Span => "the approval ends before it begins",
            StatementError::Subject => "a revocation names either a plan or a key",
        })
    }
}

impl std::error::Error for StatementError {}

const UNKNOWN_VERSION: &str = "the statement is of a version that this program does not know";

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

/// The workspaces in which an approval holds: those at this path whose HEAD reaches these root commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApprovalBinding {
    /// The canonical absolute path of the workspace. `None` binds to no path.
    pub root: Option<String>,
    /// The identity of the repository. `None` binds to no repository.
    pub repository: Option<RootCommits>,
}

impl ApprovalBinding {
    /// Binds to a path only.
    pub fn root(root: &str) -> ApprovalBinding {
        ApprovalBinding {
            root: Some(root.to_owned()),
            repository: None,
        }
    }
}

/// The permission of a person to execute a plan in some workspaces until some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    v: u32,
    pub plan_hash: PlanHash,
    pub binding: ApprovalBinding,
    /// The name of the person, one of the key's principals.
    pub approver: String,
    pub approved_at: StatementTime,
    /// The last instant at which it is valid.
    pub not_after: StatementTime,
}

/// The members of an approval of version 1, in their order.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovalMembers1 {
    v: u32,
    kind: ApprovalKind,
    plan_hash: PlanHash,
    root: String,
    approver: String,
    approved_at: StatementTime,
    not_after: StatementTime,
}

/// The members of an approval of version 2, in their order. None may be absent.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovalMembers2 {
    v: u32,
    kind: ApprovalKind,
    plan_hash: PlanHash,
    #[serde(deserialize_with = "Option::deserialize")]
    root: Option<String>,
    #[serde(deserialize_with = "Option::deserialize")]
    repository: Option<RootCommits>,
    approver: String,
    approved_at: StatementTime,
    not_after: StatementTime,
}

impl Serialize for Approval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ApprovalBinding { root, repository } = self.binding.clone();
        match (self.v, root) {
            (VERSION_1, Some(root)) => ApprovalMembers1 {
                v: self.v,
                kind: ApprovalKind::Approval,
                plan_hash: self.plan_hash.clone(),
                root,
                approver: self.approver.clone(),
                approved_at: self.approved_at,
                not_after: self.not_after,
            }
            .serialize(serializer),
            (_, root) => ApprovalMembers2 {
                v: self.v,
                kind: ApprovalKind::Approval,
                plan_hash: self.plan_hash.clone(),
                root,
                repository,
                approver: self.approver.clone(),
                approved_at: self.approved_at,
                not_after: self.not_after,
            }
            .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Approval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Approval, D::Error> {
        let members = Value::deserialize(deserializer)?;
        match members.get("v").and_then(Value::as_u64) {
            Some(2) => ApprovalMembers2::deserialize(members).map(Approval::from),
            Some(1) => ApprovalMembers1::deserialize(members).map(Approval::from),
            Some(_) => return Err(D::Error::custom(UNKNOWN_VERSION)),
            None => return Err(D::Error::custom("there is no version v")),
        }
        .map_err(D::Error::custom)
    }
}

impl From<ApprovalMembers1> for Approval {
    fn from(members: ApprovalMembers1) -> Approval {
        Approval {
            v: members.v,
            plan_hash: members.plan_hash,
            binding: ApprovalBinding {
                root: Some(members.root),
                repository: None,
            },
            approver: members.approver,
            approved_at: members.approved_at,
            not_after: members.not_after,
        }
    }
}

impl From<ApprovalMembers2> for Approval {
    fn from(members: ApprovalMembers2) -> Approval {
        Approval {
            v: members.v,
            plan_hash: members.plan_hash,
            binding: ApprovalBinding {
                root: members.root,
                repository: members.repository,
            },
            approver: members.approver,
            approved_at: members.approved_at,
            not_after: members.not_after,
        }
    }
}

impl Approval {
    /// Creates an approval of version 2. Times are cut to milliseconds.
    pub fn new(
        plan_hash: PlanHash,
        binding: ApprovalBinding,
        approver: &str,
        approved_at: Timestamp,
        not_after: Timestamp,
    ) -> Result<Approval, StatementError> {
        let approval = Approval {
            v: VERSION_2,
            plan_hash,
            binding,
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
        check_name(&self.approver)?;
        let ApprovalBinding { root, repository } = &self.binding;
        if let Some(root) = root {
            check_root(root)?;
        }
        match (self.v, root, repository) {
            (VERSION_1, Some(_), None) | (VERSION_2, Some(_), _) | (VERSION_2, _, Some(_)) => {}
            (VERSION_1 | VERSION_2, _, _) => return Err(StatementError::Binding),
            _ => return Err(StatementError::Version),
        }
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
            v: VERSION_1,
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
        if self.v != VERSION_1 {
            return Err(StatementError::Version);
        }
        check_name(&self.revoker)?;
        check_root(&self.root)?;
        self.subject().map(drop).ok_or(StatementError::Subject)
    }
}

fn check_name(name: &str) -> Result<(), StatementError> {
    let blank = name.trim().is_empty() || name.chars().any(char::is_control);
    match blank || name.len() > MAX_APPROVER_BYTES {
        true => Err(StatementError::Name),
        false => Ok(()),
    }
}

fn check_root(root: &str) -> Result<(), StatementError> {
    match !root.starts_with('/') || root.len() > MAX_ROOT_BYTES {
        true => Err(StatementError::Root),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::hash;
    use proptest::prelude::*;
    use serde_json::json;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn inconsistent_members_are_refused() {
        let make = |root: &str, name: &str, end| {
            let binding = ApprovalBinding::root(root);
            Approval::new(hash("p"), binding, name, second(10), second(end)).map(drop)
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

    fn roots() -> RootCommits {
        RootCommits::try_from(vec!["a".repeat(40), "b".repeat(40)]).unwrap()
    }

    /// Returns the members of an approval of a version, with these values instead of its own.
    fn members(version: u32, changed: Value) -> Value {
        let mut members = json!({
            "v": version,
            "kind": "approval",
            "plan_hash": hash("p"),
            "root": "/w",
            "approver": "anna",
            "approved_at": "2026-01-31T12:00:00.000Z",
            "not_after": "2026-01-31T13:00:00.000Z",
        });
        if version == 2 {
            members["repository"] = json!(roots());
        }
        for (name, value) in changed.as_object().unwrap() {
            members[name] = value.clone();
        }
        members
    }

    fn read(members: &Value) -> Result<Approval, String> {
        let approval = serde_json::from_value::<Approval>(members.clone());
        let approval = approval.map_err(|error| error.to_string())?;
        approval.validate().map_err(|error| error.to_string())?;
        Ok(approval)
    }

    #[test]
    fn both_versions_keep_their_members() {
        let list = json!(["a".repeat(40), "b".repeat(40)]);
        for members in [
            members(1, json!({})),
            members(2, json!({})),
            members(2, json!({ "root": null })),
            members(2, json!({ "repository": null })),
            members(2, json!({ "repository": list })),
        ] {
            let approval = read(&members).unwrap_or_else(|why| panic!("{members}: {why}"));
            assert_eq!(serde_json::to_value(&approval).unwrap(), members);
        }
        let approval = read(&members(1, json!({}))).unwrap();
        assert_eq!(approval.binding, ApprovalBinding::root("/w"));
        let written = serde_json::to_value(read(&members(2, json!({}))).unwrap()).unwrap();
        let order: Vec<_> = written.as_object().unwrap().keys().collect();
        let expected = [
            "v",
            "kind",
            "plan_hash",
            "root",
            "repository",
            "approver",
            "approved_at",
            "not_after",
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn forged_members_are_refused() {
        let refused = |version, changed: Value| {
            let members = members(version, changed);
            read(&members).expect_err(&members.to_string())
        };
        let neither = refused(2, json!({ "root": null, "repository": null }));
        assert_eq!(neither, StatementError::Binding.to_string());
        for list in [
            json!([]),
            json!(["b".repeat(40), "a".repeat(40)]),
            json!(["a".repeat(40), "a".repeat(40)]),
            json!(["A".repeat(40)]),
            json!(["a".repeat(39)]),
            json!(["a".repeat(40), "b".repeat(64)]),
            json!(["a".repeat(40), null]),
            json!([["a".repeat(40)]]),
            json!("a".repeat(40)),
            json!({}),
            json!(1),
            json!(false),
        ] {
            refused(2, json!({ "repository": list }));
            refused(2, json!({ "repository": list, "root": null }));
        }
        for root in [json!(""), json!("w"), json!(1), json!(["/w"]), json!({})] {
            refused(2, json!({ "root": root }));
            refused(1, json!({ "root": root }));
        }
        refused(1, json!({ "root": null }));
        refused(1, json!({ "repository": null }));
        refused(1, json!({ "repository": roots() }));
        for version in [
            json!(0),
            json!(3),
            json!("2"),
            json!(2.5),
            json!(-1),
            json!(null),
        ] {
            refused(2, json!({ "v": version }));
        }
        // A member of version 2 under the number of version 1, and the other way round.
        refused(2, json!({ "v": 1 }));
        refused(1, json!({ "v": 2 }));
        refused(2, json!({ "kind": "revocation" }));
        refused(2, json!({ "further": 1 }));
        for absent in [
            "v",
            "kind",
            "plan_hash",
            "root",
            "repository",
            "approver",
            "not_after",
        ] {
            let mut members = members(2, json!({}));
            members.as_object_mut().unwrap().shift_remove(absent);
            assert!(read(&members).is_err(), "{absent}");
        }
    }

    #[test]
    fn approval_is_bound_to_something() {
        let make = |root: Option<&str>, repository| {
            let root = root.map(str::to_owned);
            let binding = ApprovalBinding { root, repository };
            Approval::new(hash("p"), binding, "anna", second(10), second(20)).map(drop)
        };
        assert_eq!(make(Some("/w"), None), Ok(()));
        assert_eq!(make(Some("/w"), Some(roots())), Ok(()));
        assert_eq!(make(None, Some(roots())), Ok(()));
        assert_eq!(make(None, None), Err(StatementError::Binding));
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
