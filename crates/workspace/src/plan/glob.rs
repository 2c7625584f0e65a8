//! Lists of globs and the files that they match: `*` and `?` stay within a name, `**` crosses directories,
//! `{a,b}` is either, `[a-z]` one character; case and bytes count as they are.
//!
//! The engine lets some of the usual syntax match `/` (negated classes, ranges over it) or single
//! bytes of a character (classes that are not ASCII). Those are refused, so that a glob never means
//! more than its reader thinks.

use super::bounds::MAX_GLOB_BYTES;
use globset::{Candidate, GlobBuilder, GlobSet};
use std::fmt;

/// The maximum nesting of `{}`.
const MAX_BRACES: usize = 4;

/// The reason why a text is not a glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GlobFlaw {
    /// It is empty.
    Empty,
    /// It is too long.
    TooLong,
    /// It begins with `/`, or with `~`.
    Absolute,
    /// It has a `..`, which no resolved path has.
    Parent,
    /// It has a `.` or an empty name between `/`, or ends in `/`: no path does.
    EmptyName,
    /// It has a control character.
    Control,
    /// It has a class other than of ASCII letters, digits, `_`, `-` and `.`.
    Class,
    /// Its braces are nested too deeply.
    Braces,
    /// It is otherwise malformed.
    Malformed(String),
}

impl fmt::Display for GlobFlaw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            GlobFlaw::Empty => "is empty",
            GlobFlaw::TooLong => "is too long",
            GlobFlaw::Absolute => "is absolute; write it relative to the root",
            GlobFlaw::Parent => "has `..`; globs cannot lead out of the root",
            GlobFlaw::EmptyName => {
                "has an empty or `.` name, which no path has; for a whole directory write `dir/**`"
            }
            GlobFlaw::Control => "has a control character",
            GlobFlaw::Class => {
                "has a class other than of ASCII letters, digits, `_`, `-`, `.`, or a negated one"
            }
            GlobFlaw::Braces => "has braces nested too deeply",
            GlobFlaw::Malformed(why) => return write!(out, "is malformed: {why}"),
        })
    }
}

impl std::error::Error for GlobFlaw {}

/// A compiled list of globs.
#[derive(Debug, Clone)]
pub struct Globs(GlobSet);

impl Globs {
    /// Compiles globs. Returns the index and the flaw of the first text that is not a glob.
    pub fn new(globs: &[String]) -> Result<Globs, (usize, GlobFlaw)> {
        let mut set = GlobSet::builder();
        for (index, glob) in globs.iter().enumerate() {
            set.add(compile(glob).map_err(|flaw| (index, flaw))?);
        }
        let set = set.build();
        let set = set.map_err(|error| (0, GlobFlaw::Malformed(error.kind().to_string())))?;
        Ok(Globs(set))
    }

    /// Returns true if one of them means this path, relative to the root; the root itself none does.
    pub fn matches(&self, path: &[u8]) -> bool {
        !path.is_empty() && self.0.is_match_candidate(&Candidate::from_bytes(path))
    }

    /// Returns the indexes of those that mean this path.
    pub(super) fn matching(&self, path: &[u8]) -> Vec<usize> {
        match path {
            [] => Vec::new(),
            path => self.0.matches_candidate(&Candidate::from_bytes(path)),
        }
    }
}

fn compile(glob: &str) -> Result<globset::Glob, GlobFlaw> {
    check(glob)?;
    let mut builder = GlobBuilder::new(glob);
    let builder = builder.literal_separator(true).backslash_escape(true);
    let compiled = builder.build();
    compiled.map_err(|error| GlobFlaw::Malformed(error.kind().to_string()))
}

/// Checks that a text is a glob that means what it seems to mean.
pub(super) fn check(glob: &str) -> Result<(), GlobFlaw> {
    match glob {
        "" => return Err(GlobFlaw::Empty),
        long if long.len() > MAX_GLOB_BYTES => return Err(GlobFlaw::TooLong),
        absolute if absolute.starts_with(['/', '~']) => return Err(GlobFlaw::Absolute),
        _ => {}
    }
    if glob.chars().any(char::is_control) {
        return Err(GlobFlaw::Control);
    }
    if glob.split(['/', '{', '}', ',']).any(|name| name == "..") {
        return Err(GlobFlaw::Parent);
    }
    if glob.split('/').any(|name| name.is_empty() || name == ".") {
        return Err(GlobFlaw::EmptyName);
    }
    check_syntax(glob)
}

fn check_syntax(glob: &str) -> Result<(), GlobFlaw> {
    let mut rest = glob.chars();
    let mut braces = 0;
    while let Some(c) = rest.next() {
        match c {
            '\\' => _ = rest.next(),
            '{' if braces == MAX_BRACES => return Err(GlobFlaw::Braces),
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            '[' => {
                let (class, after) = rest.as_str().split_once(']').ok_or(GlobFlaw::Class)?;
                check_class(class.as_bytes())?;
                rest = after.chars();
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_class(class: &[u8]) -> Result<(), GlobFlaw> {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let crosses = |range: &[u8]| matches!(range, [from, b'-', to] if (*from..=*to).contains(&b'/'));
    let good = !class.is_empty() && class.iter().all(plain) && !class.windows(3).any(crosses);
    good.then_some(()).ok_or(GlobFlaw::Class)
}

/// The characters of wildcards and alternatives.
pub(super) const WILDCARDS: [char; 6] = ['*', '?', '[', '{', '}', '\\'];

/// Returns the directories at the beginning of a glob that it names without any wildcard.
pub(super) fn literal_base(glob: &str) -> &str {
    let wild = glob.find(['*', '?', '[', '{', '\\']);
    let Some(wild) = wild else {
        return glob;
    };
    let before = glob.get(..wild).unwrap_or_default();
    before.rsplit_once('/').map_or("", |(base, _)| base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(glob: &str, path: &str) -> bool {
        let globs = Globs::new(&[glob.to_owned()]).unwrap();
        globs.matches(path.as_bytes())
    }

    /// Matches a glob of names, `*`, `?` and whole `**` by backtracking.
    fn oracle(glob: &[&str], path: &[&str]) -> bool {
        match (glob, path) {
            ([], path) => path.is_empty(),
            (["**"], path) => !path.is_empty(),
            (["**", rest @ ..], path) => {
                (0..=path.len()).any(|skipped| oracle(rest, &path[skipped..]))
            }
            (_, []) => false,
            ([name, globs @ ..], [first, rest @ ..]) => {
                name_matches(name.as_bytes(), first.as_bytes()) && oracle(globs, rest)
            }
        }
    }

    fn name_matches(glob: &[u8], name: &[u8]) -> bool {
        match (glob, name) {
            ([], name) => name.is_empty(),
            ([b'*', rest @ ..], name) => {
                (0..=name.len()).any(|skipped| name_matches(rest, &name[skipped..]))
            }
            ([b'?', globs @ ..], [_, rest @ ..]) => name_matches(globs, rest),
            ([one, globs @ ..], [other, rest @ ..]) => one == other && name_matches(globs, rest),
            (_, []) => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn glob_agrees_with_the_oracle(
            glob in prop::collection::vec("[ab.]{1,2}|[ab*?.]{1,3}|\\*\\*|\\*", 1..5),
            path in prop::collection::vec("[ab.]{1,3}|a|b", 1..5),
        ) {
            let (glob, path) = (glob.join("/"), path.join("/"));
            // No path that is judged has such names.
            let plain = path.split('/').all(|name| name != "." && name != "..");
            if plain && check(&glob).is_ok() {
                let names: Vec<_> = glob.split('/').collect();
                let expected = oracle(&names, &path.split('/').collect::<Vec<_>>());
                prop_assert_eq!(matches(&glob, &path), expected, "{} on {}", glob, path);
            }
        }

        #[test]
        fn arbitrary_globs_do_not_panic(glob in "[ab/*?{},\\[\\]!^.\\\\-]{0,24}") {
            let _ = Globs::new(&[glob]);
        }

        #[test]
        fn only_two_stars_cross_a_directory(
            glob in "[a?*\\[\\]\\-.{},z0]{1,10}", path in "[a0.]{1,3}/[a0.]{1,3}",
        ) {
            if !glob.contains("**") && let Ok(globs) = Globs::new(std::slice::from_ref(&glob)) {
                prop_assert!(!globs.matches(path.as_bytes()), "{} on {}", glob, path);
            }
        }
    }

    #[test]
    fn wildcards_match_as_documented() {
        for (glob, yes, no) in [
            ("src/*", "src/.a", "src/a/b"),
            ("src/**", "src/a/b", "src"),
            ("src/**/x", "src/x", "src/x/y"),
            ("**/x", "x", "xx"),
            ("**", "a/b/.c", ""),
            ("a**b", "axb", "a/b"),
            ("{a,b}/*.rs", "b/x.rs", "c/x.rs"),
            ("x[0-9].rs", "x7.rs", "x/.rs"),
            ("A/b", "A/b", "a/b"),
            ("\\*", "*", "a"),
            ("é?", "éx", "e\u{301}x"),
        ] {
            assert!(matches(glob, yes), "{glob} on {yes}");
            assert!(!matches(glob, no), "{glob} on {no}");
        }
        // A name of composed characters is not the one of decomposed characters.
        assert!(!matches("caf\u{e9}", "cafe\u{301}"));
        let globs = Globs::new(&["a/*".to_owned()]).unwrap();
        assert!(globs.matches(b"a/\xff\xfe"));
    }

    #[test]
    fn invalid_globs_are_refused() {
        let flaw = |glob: &str| check(glob).unwrap_err();
        assert_eq!(flaw(""), GlobFlaw::Empty);
        assert_eq!(flaw(&"a".repeat(257)), GlobFlaw::TooLong);
        assert_eq!(flaw("/etc/*"), GlobFlaw::Absolute);
        assert_eq!(flaw("~/x"), GlobFlaw::Absolute);
        for parent in ["..", "../a", "a/../b", "a/..", "{a,..}/b", "{../a,b}"] {
            assert_eq!(flaw(parent), GlobFlaw::Parent, "{parent}");
        }
        for empty in ["src/", "a//b", "./a", "a/./b", "."] {
            assert_eq!(flaw(empty), GlobFlaw::EmptyName, "{empty}");
        }
        assert_eq!(flaw("a\nb"), GlobFlaw::Control);
        for class in ["[!a]", "[^a]", "[", "[]", "[é]", "a[.-9]", "[+-9]", "[a/b]"] {
            assert_eq!(flaw(class), GlobFlaw::Class, "{class}");
        }
        assert_eq!(flaw("{{{{{a}}}}}"), GlobFlaw::Braces);
        for bad in ["{a", "a}", "a\\", "[z-a]"] {
            let flaw = Globs::new(&["ok".to_owned(), bad.to_owned()]).unwrap_err();
            assert!(
                matches!(flaw, (1, GlobFlaw::Malformed(_))),
                "{bad}: {flaw:?}"
            );
        }
    }

    #[test]
    fn hostile_globs_match_quickly() {
        let stars = format!("{}x", "**/".repeat(85));
        let braces = "{a,b}".repeat(51);
        let mixed = "*a".repeat(128);
        let globs: Vec<String> = [stars, braces, mixed]
            .into_iter()
            .cycle()
            .take(64)
            .collect();
        let globs = Globs::new(&globs).unwrap();
        let long = format!("{}y", "a/".repeat(2000));
        assert!(!globs.matches(long.as_bytes()));
        assert!(globs.matches(b"a/b/x"));
    }

    #[test]
    fn literal_base_ends_before_the_first_wildcard() {
        for (glob, base) in [
            ("a/b", "a/b"),
            ("a/b/*", "a/b"),
            ("a/b*", "a"),
            ("**", ""),
            ("{a,b}/c", ""),
        ] {
            assert_eq!(literal_base(glob), base);
        }
    }
}
