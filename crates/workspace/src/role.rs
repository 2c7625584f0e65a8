//! The two roles of agents: one plans, the other executes.

use std::fmt;

/// The role of the agent that a server works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Planner,
    /// Executes approved plans.
    Executor,
}

impl Role {
    pub const ALL: [Role; 2] = [Role::Planner, Role::Executor];

    /// Returns the specification's name of the role, used on the wire, in the log and in file names.
    pub fn wire_name(self) -> &'static str {
        match self {
            Role::Planner => "ANTIGRAVITY",
            Role::Executor => "WINDSURF",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Role::Planner => "planner",
            Role::Executor => "executor",
        }
    }

    /// Returns both names, for texts that people read.
    pub fn label(self) -> &'static str {
        match self {
            Role::Planner => "planner (ANTIGRAVITY)",
            Role::Executor => "executor (WINDSURF)",
        }
    }

    /// Parses either name of a role, in any case.
    pub fn parse(text: &str) -> Option<Role> {
        let has_name = |role: &Role| {
            text.eq_ignore_ascii_case(role.wire_name()) || text.eq_ignore_ascii_case(role.name())
        };
        Role::ALL.into_iter().find(has_name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.wire_name())
    }
}
