//! Lists of paths: lines of globs, first the default ones, then those of a person.
//!
//! One glob a line, as in a `.gitignore`: without a slash it is the name of a file or directory at
//! any depth, with one it is a path from the root; a slash at the end means directories only;
//! everything in a matched directory is matched too; `#` begins a comment; a line that begins with
//! `!` is an exception. The last line that matches decides. So a person's lines extend the default
//! ones, and a first line `!**` replaces them.

use super::fold_name::fold_name;
use globset::{Glob, GlobBuilder, GlobSet};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Bytes of a person's file that are read.
pub const MAX_RULES_BYTES: usize = 64 * 1024;

/// Lines that it may have.
pub const MAX_RULES_LINES: usize = 1000;

/// Bytes that one line may have.
pub(super) const MAX_LINE: usize = 512;

/// A list of paths.
#[derive(Debug, Clone)]
pub(super) struct PathRules {
    rules: Vec<PathRule>,
    /// Matched against single names.
    names: RuleGlobs,
    /// Matched against paths from the root.
    paths: RuleGlobs,
}

#[derive(Debug, Clone, Copy)]
struct PathRule {
    includes: bool,
    directories_only: bool,
}

#[derive(Debug, Clone)]
struct RuleGlobs {
    set: GlobSet,
    /// The rule that each glob belongs to.
    rules: Vec<usize>,
}

/// The way in which a list includes a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inclusion {
    /// The number of names of the uppermost directory that is included with everything in it, or
    /// `None` if only the file itself is included.
    pub(super) directory: Option<usize>,
}

impl PathRules {
    /// Parses a person's file. Its lines follow the default ones.
    pub(super) fn parse(default: &str, bytes: &[u8]) -> Result<PathRules, PathRulesError> {
        let mut lines = PathRulesParser::default();
        for line in default.lines() {
            let at = |problem| PathRulesError { line: 0, problem };
            lines.add(line).map_err(at)?;
        }
        let mut last = 0;
        for (number, line) in (1..).zip(text_lines(bytes)) {
            let at = |problem| PathRulesError {
                line: number,
                problem,
            };
            if bytes.len() > MAX_RULES_BYTES || number > MAX_RULES_LINES {
                return Err(at(PathRulesProblem::FileTooLong));
            }
            let text = std::str::from_utf8(line).map_err(|_| at(PathRulesProblem::NotText))?;
            lines.add(text).map_err(at)?;
            last = number;
        }
        let too_complex = |_| PathRulesError {
            line: last,
            problem: PathRulesProblem::TooComplex,
        };
        lines.build().map_err(too_complex)
    }

    /// Returns how the list includes the file at a path from the root, if it does.
    pub(super) fn inclusion(&self, path: &Path) -> Option<Inclusion> {
        let names: Vec<Vec<u8>> = path.iter().map(|name| fold_name(name.as_bytes())).collect();
        let mut so_far = PathBuf::new();
        let mut decides = None;
        let mut directory = None;
        for (index, name) in names.iter().enumerate() {
            let name = Path::new(OsStr::from_bytes(name));
            so_far.push(name);
            let is_directory = index + 1 < names.len();
            let applies = |rule: &usize| is_directory || !self.rules[*rule].directories_only;
            for (globs, path) in [(&self.names, name), (&self.paths, so_far.as_path())] {
                let matched = globs.set.matches(path).into_iter();
                let rules = matched.map(|glob| globs.rules[glob]);
                decides = decides.max(rules.filter(applies).max());
            }
            let includes = decides.is_some_and(|rule: usize| self.rules[rule].includes);
            if includes && is_directory && directory.is_none() {
                directory = Some(index + 1);
            }
        }
        let includes = decides.is_some_and(|rule: usize| self.rules[rule].includes);
        includes.then_some(Inclusion { directory })
    }
}

#[derive(Default)]
struct PathRulesParser {
    rules: Vec<PathRule>,
    names: Vec<(Glob, usize)>,
    paths: Vec<(Glob, usize)>,
}

impl PathRulesParser {
    fn add(&mut self, line: &str) -> Result<(), PathRulesProblem> {
        if line.len() > MAX_LINE {
            return Err(PathRulesProblem::LineTooLong);
        }
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (includes, glob) = match line.strip_prefix('!') {
            Some(rest) => (false, rest),
            None => (true, line),
        };
        let (directories_only, glob) = match glob.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, glob),
        };
        let (globs, glob) = match glob.contains('/') {
            true => (&mut self.paths, glob.strip_prefix('/').unwrap_or(glob)),
            false => (&mut self.names, glob),
        };
        if glob.is_empty() {
            return Err(PathRulesProblem::NoGlob("nothing is named".to_owned()));
        }
        let glob = GlobBuilder::new(glob)
            .literal_separator(true)
            .case_insensitive(true)
            .build()
            .map_err(|error| PathRulesProblem::NoGlob(error.kind().to_string()))?;
        globs.push((glob, self.rules.len()));
        self.rules.push(PathRule {
            includes,
            directories_only,
        });
        Ok(())
    }

    fn build(self) -> Result<PathRules, globset::Error> {
        let globs = |globs: Vec<(Glob, usize)>| {
            let (globs, rules): (Vec<Glob>, Vec<usize>) = globs.into_iter().unzip();
            let set = GlobSet::new(globs)?;
            Ok(RuleGlobs { set, rules })
        };
        Ok(PathRules {
            rules: self.rules,
            names: globs(self.names)?,
            paths: globs(self.paths)?,
        })
    }
}

/// Returns the lines of a file that may begin with a byte order mark and have line ends of Windows.
fn text_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.split(|byte| *byte == b'\n')
}

/// The reason why a person's file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRulesError {
    /// The line, counted from one.
    pub line: usize,
    pub problem: PathRulesProblem,
}

/// A flaw of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathRulesProblem {
    /// The file is longer than [`MAX_RULES_BYTES`] or [`MAX_RULES_LINES`].
    FileTooLong,
    /// The line is longer than a line may be.
    LineTooLong,
    /// The line is not UTF-8.
    NotText,
    /// The line is not a glob; why not.
    NoGlob(String),
    /// All lines together are too much for one matcher.
    TooComplex,
}

impl fmt::Display for PathRulesError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: ", self.line)?;
        match &self.problem {
            PathRulesProblem::FileTooLong => write!(
                out,
                "a file of at most {MAX_RULES_LINES} lines and {MAX_RULES_BYTES} bytes is read"
            ),
            PathRulesProblem::LineTooLong => write!(out, "longer than {MAX_LINE} bytes"),
            PathRulesProblem::NotText => out.write_str("not UTF-8"),
            PathRulesProblem::NoGlob(why) => write!(out, "not a glob: {why}"),
            PathRulesProblem::TooComplex => {
                out.write_str("the globs up to here are too many or too large")
            }
        }
    }
}

impl std::error::Error for PathRulesError {}
