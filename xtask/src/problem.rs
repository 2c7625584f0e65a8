//! Errors for the person at the terminal: a message with hint lines below it.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    message: String,
    hints: Vec<String>,
}

impl Problem {
    pub(crate) fn new(message: impl Into<String>) -> Problem {
        Problem {
            message: message.into(),
            hints: Vec::new(),
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hints.push(hint.into());
        self
    }

    /// Returns the message without its hints.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "error: {}", self.message)?;
        for hint in &self.hints {
            write!(out, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

/// Adds the attempted action to a system error.
pub(crate) trait ProblemContext<T> {
    fn context(self, doing: impl FnOnce() -> String) -> Result<T, Problem>;
}

impl<T, E: fmt::Display> ProblemContext<T> for Result<T, E> {
    fn context(self, doing: impl FnOnce() -> String) -> Result<T, Problem> {
        self.map_err(|error| Problem::new(format!("{}: {error}", doing())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_stand_on_their_own_lines() {
        let problem = Problem::new("no fuzz target `x`").hint("one of: read, write");
        assert_eq!(
            problem.to_string(),
            "error: no fuzz target `x`\nhint: one of: read, write"
        );
    }
}
