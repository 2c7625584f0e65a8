//! Patterns of commands that a phase grants: literal arguments, `*` for one argument and, at the end, `**`
//! for any number of arguments.

use std::fmt;

/// The element that stands for exactly one argument.
const ONE: &str = "*";

/// The element that stands for any number of arguments.
const ANY: &str = "**";

/// A pattern of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandPattern<'p> {
    /// The elements before a final `**`.
    first: &'p [String],
    /// True if any number of arguments may follow.
    open: bool,
}

/// The reason why a list of arguments is not a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternFlaw {
    Empty,
    /// The program is blank.
    NoProgram,
    /// The program is a wildcard.
    WildProgram,
    /// `**` is not the last element.
    OpenMiddle,
    /// An argument has a NUL.
    Nul,
}

impl fmt::Display for PatternFlaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            PatternFlaw::Empty | PatternFlaw::NoProgram => "has no program",
            PatternFlaw::WildProgram => {
                "has a wildcard as its program; name the program, or grant every command with [\"**\"]"
            }
            PatternFlaw::OpenMiddle => "has ** before its end; only the last element may be **",
            PatternFlaw::Nul => "has a NUL in an argument",
        })
    }
}

impl<'p> CommandPattern<'p> {
    pub fn new(elements: &'p [String]) -> Result<CommandPattern<'p>, PatternFlaw> {
        let (first, open) = match elements.split_last() {
            None => return Err(PatternFlaw::Empty),
            Some((last, first)) if last == ANY => (first, true),
            Some(_) => (elements, false),
        };
        if first.iter().any(|element| element.contains('\0')) {
            return Err(PatternFlaw::Nul);
        }
        if first.iter().any(|element| element == ANY) {
            return Err(PatternFlaw::OpenMiddle);
        }
        match first.first().map(String::as_str) {
            Some(ONE) => Err(PatternFlaw::WildProgram),
            Some(program) if program.trim().is_empty() => Err(PatternFlaw::NoProgram),
            _ => Ok(CommandPattern { first, open }),
        }
    }

    /// Returns true if a command matches.
    pub fn matches(&self, argv: &[String]) -> bool {
        let is_long_enough = match self.open {
            true => argv.len() >= self.first.len(),
            false => argv.len() == self.first.len(),
        };
        let mut pairs = self.first.iter().zip(argv);
        !argv.is_empty()
            && is_long_enough
            && pairs.all(|(element, argument)| element == ONE || element == argument)
    }

    /// Returns true if it grants every command.
    pub fn is_any(&self) -> bool {
        self.open && self.first.is_empty()
    }

    /// Returns the program, unless every program is granted.
    pub fn program(&self) -> Option<&'p str> {
        self.first.first().map(String::as_str)
    }

    /// Returns true if the agent chooses an argument.
    pub fn has_wildcard(&self) -> bool {
        self.open || self.first.iter().any(|element| element == ONE)
    }
}

/// Returns true if one of the patterns grants a command. A malformed pattern grants nothing.
pub fn is_granted(patterns: &[Vec<String>], argv: &[String]) -> bool {
    let mut patterns = patterns.iter();
    patterns.any(|pattern| CommandPattern::new(pattern).is_ok_and(|pattern| pattern.matches(argv)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn wildcards_stand_for_arguments() {
        for (pattern, command, expected) in [
            ("cargo test **", "cargo test", true),
            ("cargo test **", "cargo test -p a --lib", true),
            ("cargo test **", "cargo", false),
            ("cargo test **", "cargo build test", false),
            ("cargo test", "cargo test --lib", false),
            ("git show *", "git show HEAD", true),
            ("git show *", "git show", false),
            ("git show *", "git show HEAD -p", false),
            ("git * HEAD", "git show HEAD", true),
            ("cargo", "/tmp/cargo", false),
            ("**", "anything at all", true),
            ("make *.o", "make x.o", false),
        ] {
            let elements = words(pattern);
            let parsed = CommandPattern::new(&elements).unwrap();
            assert_eq!(
                parsed.matches(&words(command)),
                expected,
                "{pattern}: {command}"
            );
        }
        let any = words("**");
        assert!(!CommandPattern::new(&any).unwrap().matches(&[]));
    }

    #[test]
    fn malformed_patterns_have_their_flaw() {
        for (pattern, flaw) in [
            ("", PatternFlaw::Empty),
            ("*", PatternFlaw::WildProgram),
            ("* **", PatternFlaw::WildProgram),
            ("a ** b", PatternFlaw::OpenMiddle),
            ("a ** **", PatternFlaw::OpenMiddle),
            ("** a", PatternFlaw::OpenMiddle),
        ] {
            assert_eq!(CommandPattern::new(&words(pattern)), Err(flaw), "{pattern}");
        }
        assert_eq!(
            CommandPattern::new(&[String::new()]),
            Err(PatternFlaw::NoProgram)
        );
        let nul = [String::from("a"), String::from("b\0")];
        assert_eq!(CommandPattern::new(&nul), Err(PatternFlaw::Nul));
    }

    /// Matches like the pattern, by trying every length of `**`.
    fn oracle(pattern: &[String], argv: &[String]) -> bool {
        match (pattern.split_first(), argv.split_first()) {
            (None, None) => true,
            (Some((element, rest)), _) if element == ANY => {
                (0..=argv.len()).any(|taken| oracle(rest, &argv[taken..]))
            }
            (Some((element, pattern)), Some((argument, argv))) => {
                (element == ONE || element == argument) && oracle(pattern, argv)
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn pattern_agrees_with_a_plain_oracle(
            pattern in proptest::collection::vec("a|b|\\*|\\*\\*", 1..5),
            argv in proptest::collection::vec("a|b|c", 1..6),
        ) {
            if let Ok(parsed) = CommandPattern::new(&pattern) {
                prop_assert_eq!(parsed.matches(&argv), oracle(&pattern, &argv));
            }
        }
    }
}
