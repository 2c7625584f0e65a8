//! The two roles: one plans, the other executes.

use std::fmt;

/// What a server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Plans.
    Antigravity,
    /// Executes what is planned and approved.
    Windsurf,
}

impl Role {
    /// Both.
    pub const ALL: [Role; 2] = [Role::Antigravity, Role::Windsurf];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Role::Antigravity => "ANTIGRAVITY",
            Role::Windsurf => "WINDSURF",
        }
    }

    /// The word that says what the role does.
    pub fn word(self) -> &'static str {
        match self {
            Role::Antigravity => "planner",
            Role::Windsurf => "executor",
        }
    }

    /// The role of this name or word, in any case.
    pub fn read(text: &str) -> Option<Role> {
        let is_it = |role: &Role| {
            text.eq_ignore_ascii_case(role.name()) || text.eq_ignore_ascii_case(role.word())
        };
        Role::ALL.into_iter().find(is_it)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
