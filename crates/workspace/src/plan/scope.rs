//! Decides whether a phase allows an operation on a file.

use super::glob::{GlobFlaw, Globs};
use super::model::{Operation, Phase, PhaseId, Plan};
use crate::protected::ExecutedFiles;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The reason why a plan does not allow something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeError {
    /// The plan has no such phase.
    UnknownPhase {
        asked: String,
        /// The phases that it has.
        known: Vec<PhaseId>,
    },
    /// None of the phase's globs means the file.
    Target {
        phase: PhaseId,
        /// The file, relative to the root.
        path: Vec<u8>,
        /// The globs.
        allow: Vec<String>,
    },
    /// Other programs run or obey the file, and only wildcards of the phase match it.
    Executed {
        phase: PhaseId,
        /// The file, relative to the root.
        path: Vec<u8>,
    },
    /// The phase allows the file, but not this operation.
    Operation {
        phase: PhaseId,
        operation: Operation,
        allowed: BTreeSet<Operation>,
    },
    /// A glob of the phase means nothing that could be enforced, so the phase allows nothing.
    Glob {
        phase: PhaseId,
        glob: String,
        flaw: GlobFlaw,
    },
}

impl fmt::Display for ScopeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScopeError::UnknownPhase { asked, known } => {
                let known: Vec<_> = known.iter().map(PhaseId::as_str).collect();
                let known = listed(&known);
                write!(out, "the plan has no phase {asked:?}; its phases: {known}")
            }
            ScopeError::Target { phase, path, allow } => {
                let path = String::from_utf8_lossy(path);
                let allow: Vec<_> = allow.iter().map(String::as_str).collect();
                let allow = listed(&allow);
                write!(
                    out,
                    "phase {phase} does not allow {path:?}; it allows: {allow}"
                )
            }
            ScopeError::Executed { phase, path } => {
                let path = String::from_utf8_lossy(path);
                write!(
                    out,
                    "phase {phase} does not name {path:?}, which other programs run or obey; a wildcard does not cover it"
                )
            }
            ScopeError::Operation {
                phase,
                operation,
                allowed,
            } => {
                let allowed: Vec<_> = allowed.iter().map(|o| o.name()).collect();
                let allowed = listed(&allowed);
                write!(
                    out,
                    "phase {phase} does not allow to {operation}; it allows: {allowed}"
                )
            }
            ScopeError::Glob { phase, glob, flaw } => {
                write!(
                    out,
                    "phase {phase} allows nothing: its glob {glob:?} {flaw}"
                )
            }
        }
    }
}

impl std::error::Error for ScopeError {}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        names => names.join(", "),
    }
}

/// Finds the phase of a plan that has this id.
pub fn phase<'p>(plan: &'p Plan, id: &str) -> Result<&'p Phase, ScopeError> {
    let found = plan.phases.iter().find(|phase| phase.id.as_str() == id);
    found.ok_or_else(|| ScopeError::UnknownPhase {
        asked: id.to_owned(),
        known: plan.phases.iter().map(|phase| phase.id.clone()).collect(),
    })
}

/// A phase with its compiled globs.
#[derive(Debug, Clone)]
pub struct Scope<'p> {
    phase: &'p Phase,
    globs: Arc<Globs>,
}

impl<'p> Scope<'p> {
    /// Returns the scope of a phase.
    pub fn of(phase: &'p Phase) -> Result<Scope<'p>, ScopeError> {
        let globs = Globs::new(&phase.allow).map_err(|(index, flaw)| ScopeError::Glob {
            phase: phase.id.clone(),
            glob: phase.allow.get(index).cloned().unwrap_or_default(),
            flaw,
        })?;
        Ok(Scope::with(phase, Arc::new(globs)))
    }

    /// Returns the scope of a phase whose globs are already compiled.
    pub(crate) fn with(phase: &'p Phase, globs: Arc<Globs>) -> Scope<'p> {
        Scope { phase, globs }
    }

    /// Returns the compiled globs, for a cache.
    pub(crate) fn globs(&self) -> Arc<Globs> {
        Arc::clone(&self.globs)
    }

    /// Returns true if a glob of the phase matches this path and, if it is an executed file, names it.
    pub fn covers(&self, path: &[u8], executed: &ExecutedFiles) -> bool {
        let mut matching = self.globs.matching(path).into_iter();
        matching.any(|index| {
            let glob = self.phase.allow.get(index);
            glob.is_some_and(|glob| executed.is_covered(path, glob))
        })
    }

    /// Checks that the operation is allowed on the file at this path: the real one, relative to the
    /// root, byte for byte.
    pub fn allows(
        &self,
        operation: Operation,
        path: &[u8],
        executed: &ExecutedFiles,
    ) -> Result<(), ScopeError> {
        if !self.globs.matches(path) {
            return Err(ScopeError::Target {
                phase: self.phase.id.clone(),
                path: path.to_vec(),
                allow: self.phase.allow.clone(),
            });
        }
        if !self.covers(path, executed) {
            return Err(ScopeError::Executed {
                phase: self.phase.id.clone(),
                path: path.to_vec(),
            });
        }
        if !self.phase.operations.contains(&operation) {
            return Err(ScopeError::Operation {
                phase: self.phase.id.clone(),
                operation,
                allowed: self.phase.operations.clone(),
            });
        }
        Ok(())
    }
}

/// Checks that a phase allows an operation on the file at this path; see [`Scope::allows`].
pub fn allows(phase: &Phase, operation: Operation, path: &[u8]) -> Result<(), ScopeError> {
    Scope::of(phase)?.allows(operation, path, &ExecutedFiles::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plan(allow: &[&str], operations: &[&str]) -> Plan {
        let phase = json!({"id": "A", "allow": allow, "operations": operations});
        Plan::from_value(json!({"title": "t", "objective": "o", "phase": [phase]})).unwrap()
    }

    #[test]
    fn target_and_operation_must_both_be_allowed() {
        let plan = plan(&["src/**", "a.txt"], &["create", "modify"]);
        let only = phase(&plan, "A").unwrap();
        assert_eq!(allows(only, Operation::Create, b"src/x/y"), Ok(()));
        assert_eq!(allows(only, Operation::Modify, b"a.txt"), Ok(()));
        let error_of =
            |operation, path: &[u8]| allows(only, operation, path).unwrap_err().to_string();
        assert_eq!(
            error_of(Operation::Delete, b"a.txt"),
            "phase A does not allow to delete; it allows: create, modify"
        );
        assert_eq!(
            error_of(Operation::Delete, b"A.txt"),
            "phase A does not allow \"A.txt\"; it allows: src/**, a.txt"
        );
        assert_eq!(
            phase(&plan, "B").unwrap_err().to_string(),
            "the plan has no phase \"B\"; its phases: A"
        );
    }

    #[test]
    fn empty_plan_allows_nothing() {
        for plan in [plan(&[], &["create"]), plan(&["**"], &[]), plan(&[], &[])] {
            for operation in Operation::ALL {
                for path in [&b"a"[..], b"", b".", b"src/x"] {
                    assert!(allows(&plan.phases[0], operation, path).is_err());
                }
            }
        }
    }

    #[test]
    fn invalid_glob_invalidates_the_scope() {
        let plan = plan(&["src/**", "[!a]"], &["create"]);
        let refused = allows(&plan.phases[0], Operation::Create, b"src/x").unwrap_err();
        let ScopeError::Glob { glob, flaw, .. } = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((&glob[..], flaw), ("[!a]", GlobFlaw::Class));
    }
}
