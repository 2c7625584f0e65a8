//! The model of a plan; the TOML text and the JSON of the tools have the same members.

use super::bounds::{self, MAX_PHASE_ID};
use super::error::PlanError;
use super::network::PlanNetwork;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// A plan, which a person approves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub title: String,
    /// The goal and its reason.
    pub objective: String,
    /// Its parts, each with its own permissions; their order is not enforced.
    #[serde(rename = "phase")]
    pub phases: Vec<Phase>,
}

impl Plan {
    /// Parses the plan in a JSON object.
    pub fn from_value<'de, D: Deserializer<'de>>(value: D) -> Result<Plan, PlanError> {
        let plan = Plan::deserialize(value).map_err(|error| PlanError::Shape {
            message: error.to_string(),
        })?;
        bounds::check(&plan)?;
        Ok(plan)
    }
}

/// A part of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its name in calls.
    pub id: PhaseId,
    /// The files that it allows: globs relative to the root.
    pub allow: Vec<String>,
    /// The permitted operations on those files.
    pub operations: BTreeSet<Operation>,
    /// The commands that prove the work, each as its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<Vec<String>>,
    /// The occasion on which those commands run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub preflight: Preflight,
    /// Patterns of the commands that `run_command` may run, each as its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Vec<String>>,
    /// The directories and files that the commands may write, relative to the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// The network of the commands.
    #[serde(default, skip_serializing_if = "is_default")]
    pub network: PlanNetwork,
    /// The variables that the commands get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<Env>,
    /// The policy for the text that is written.
    #[serde(default, skip_serializing_if = "is_default")]
    pub policy: PhasePolicy,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Creates a file that does not exist.
    Create,
    /// A file that is there gets other bytes.
    Modify,
    /// A file is removed.
    Delete,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Operation; 3] = [Operation::Create, Operation::Modify, Operation::Delete];

    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Modify => "modify",
            Operation::Delete => "delete",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The occasion on which the commands of a phase run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preflight {
    /// A call of `run_preflight`.
    #[default]
    OnRequest,
    /// Each write, which is undone if they fail.
    EachWrite,
}

impl Preflight {
    pub fn name(self) -> &'static str {
        match self {
            Preflight::OnRequest => "on_request",
            Preflight::EachWrite => "each_write",
        }
    }
}

/// The policy of a phase for the text that is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
// The words of version 1, which reach clients.
#[serde(deny_unknown_fields, expecting = "struct Policy")]
pub struct PhasePolicy {
    /// The profiles that are switched on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// The findings that are let through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exceptions: Vec<PolicyException>,
}

/// A rule that does not apply to some files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Exception")]
pub struct PolicyException {
    /// The rule, as findings name it.
    pub rule: String,
    /// The files, as a glob.
    pub path: String,
    pub reason: String,
}

/// A [`PolicyException`] under its name of version 1, which is in messages that reach clients.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    rule: String,
    path: String,
    reason: String,
}

impl From<Exception> for PolicyException {
    fn from(exception: Exception) -> PolicyException {
        PolicyException {
            rule: exception.rule,
            path: exception.path,
            reason: exception.reason,
        }
    }
}

/// The name of a phase: a capital letter, then capital letters, digits and `_`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PhaseId(String);

impl PhaseId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PhaseId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl From<PhaseId> for String {
    fn from(id: PhaseId) -> String {
        id.0
    }
}

/// A text that is not a name of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadPhaseId;

impl fmt::Display for BadPhaseId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "a phase id is a capital letter, then capital letters, digits and _, at most {MAX_PHASE_ID}"
        )
    }
}

impl std::error::Error for BadPhaseId {}

impl TryFrom<String> for PhaseId {
    type Error = BadPhaseId;

    fn try_from(text: String) -> Result<PhaseId, BadPhaseId> {
        let mut bytes = text.bytes();
        let good = bytes.next().is_some_and(|first| first.is_ascii_uppercase())
            && bytes.all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
            && text.len() <= MAX_PHASE_ID;
        good.then_some(PhaseId(text)).ok_or(BadPhaseId)
    }
}

/// A variable that the commands get: `NAME` is passed on from the server's own environment,
/// `NAME=value` has that value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Env {
    name: String,
    value: Option<String>,
}

impl Env {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value in the plan, or `None` if the server's own variable is passed on.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }
}

impl From<Env> for String {
    fn from(env: Env) -> String {
        match env.value {
            Some(value) => format!("{}={value}", env.name),
            None => env.name,
        }
    }
}

/// A text that is not a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadEnv;

impl fmt::Display for BadEnv {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a variable is NAME or NAME=value, the name of letters, digits and _")
    }
}

impl std::error::Error for BadEnv {}

impl TryFrom<String> for Env {
    type Error = BadEnv;

    fn try_from(text: String) -> Result<Env, BadEnv> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (text, None),
        };
        let mut bytes = name.bytes();
        let good = bytes
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
            && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !value.as_deref().is_some_and(|value| value.contains('\0'));
        good.then_some(Env { name, value }).ok_or(BadEnv)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn phase_ids_have_one_form() {
        for good in ["A", "BUILD_2", &"A".repeat(MAX_PHASE_ID)] {
            assert!(PhaseId::try_from(good.to_owned()).is_ok(), "{good}");
        }
        let long = "A".repeat(MAX_PHASE_ID + 1);
        for bad in ["", "a", "2A", "_A", "A-B", "A B", "Ä", "A\n", &long] {
            assert_eq!(PhaseId::try_from(bad.to_owned()), Err(BadPhaseId), "{bad}");
        }
    }

    #[test]
    fn environment_variables_are_parsed() {
        let read = |text: &str| Env::try_from(text.to_owned());
        let env = read("A_1=b=c").unwrap();
        assert_eq!((env.name(), env.value()), ("A_1", Some("b=c")));
        assert_eq!(read("PATH_X").unwrap().value(), None);
        assert_eq!(read("A=").unwrap().value(), Some(""));
        for bad in ["", "=x", "1A", "A B", "A-B=1", "A=\0"] {
            assert_eq!(read(bad), Err(BadEnv), "{bad:?}");
        }
    }

    #[test]
    fn messages_about_wrong_types_have_the_names_of_version_1() {
        let message = |policy: serde_json::Value| {
            let phase = json!({"id": "A", "allow": [], "operations": [], "policy": policy});
            let plan = json!({"title": "t", "objective": "o", "phase": [phase]});
            let refused = Plan::from_value(&plan).unwrap_err();
            match refused {
                PlanError::Shape { message, .. } => message,
                other => panic!("{other:?}"),
            }
        };
        for (policy, expected) in [
            (
                json!(5),
                "invalid type: integer `5`, expected struct Policy",
            ),
            (
                json!({"exceptions": [5]}),
                "invalid type: integer `5`, expected struct Exception",
            ),
            (
                json!({"exceptions": [["x"]]}),
                "invalid length 1, expected struct Exception with 3 elements",
            ),
        ] {
            assert_eq!(message(policy), expected);
        }
    }

    #[test]
    fn unknown_members_are_refused_and_defaults_are_strict() {
        let phase = json!({"id": "A", "allow": ["a"], "operations": ["modify", "create"]});
        let plan = json!({"title": "t", "objective": "o", "phase": [phase]});
        let read = Plan::from_value(&plan).unwrap();
        let only = &read.phases[0];
        assert_eq!(only.preflight, Preflight::OnRequest);
        assert_eq!(only.network, PlanNetwork::Off);
        assert!(only.verify.is_empty() && only.commands.is_empty() && only.writable.is_empty());
        let operations: Vec<_> = only.operations.iter().map(|o| o.name()).collect();
        assert_eq!(operations, ["create", "modify"]);

        for (pointer, member) in [("", "phases"), ("/phase/0", "alow")] {
            let mut plan = plan.clone();
            plan.pointer_mut(pointer).unwrap()[member] = json!([]);
            let refused = Plan::from_value(&plan).unwrap_err();
            assert!(matches!(refused, PlanError::Shape { .. }), "{refused:?}");
        }
        for missing in ["id", "allow", "operations"] {
            let mut plan = plan.clone();
            let phase = plan["phase"][0].as_object_mut().unwrap();
            phase.shift_remove(missing);
            assert!(Plan::from_value(&plan).is_err(), "{missing}");
        }
    }
}
