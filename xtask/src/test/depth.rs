//! The three depths of a test run: before a commit, by default, and everything.

use crate::args::TestArgs;

/// Selects the tests of a run and the counts of its drills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// No services, no slow tests.
    Quick,
    /// Every test, with small counts in the drills.
    Plain,
    /// Every test, with the full counts of the drills.
    Long,
}

impl Depth {
    pub(crate) fn of(args: &TestArgs, in_ci: bool) -> Depth {
        match (args.quick, args.long || in_ci) {
            (true, _) => Depth::Quick,
            (false, true) => Depth::Long,
            (false, false) => Depth::Plain,
        }
    }

    /// Returns the name of the nextest profile in `.config/nextest.toml`.
    pub(crate) fn profile(self) -> &'static str {
        match self {
            Depth::Quick => "quick",
            Depth::Plain | Depth::Long => "default",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_runs_long_unless_quick_is_asked_for() {
        let plain = TestArgs::default();
        let quick = TestArgs {
            quick: true,
            ..TestArgs::default()
        };
        assert_eq!(Depth::of(&plain, false), Depth::Plain);
        assert_eq!(Depth::of(&plain, true), Depth::Long);
        assert_eq!(Depth::of(&quick, true), Depth::Quick);
    }
}
