//! The files that agents must not read: lines of globs, first the default secrets, then those of a
//! person.
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

/// Bytes of the person's file that are read.
pub const MAX_DENY_READ_BYTES: usize = 64 * 1024;

/// Lines that it may have.
pub const MAX_DENY_READ_LINES: usize = 1000;

/// Bytes that one line may have.
const MAX_LINE: usize = 512;

/// Patterns of files that usually contain secrets: environment files, private keys, and
/// credentials, including git's credential store.
pub const DEFAULT_DENY_READ: &str = "\
credentials
!**/credentials/**
credentials.json
application_default_credentials.json
.env*
*.pem
*.key
*.p12
*.pfx
*.jks
*.keystore
*.kdbx
*.ppk
id_rsa
id_dsa
id_ecdsa
id_ecdsa_sk
id_ed25519
id_ed25519_sk
secring.gpg
private-keys-v1.d/
.netrc
_netrc
.npmrc
.pypirc
.pgpass
.htpasswd
.dockercfg
.git-credentials
.vault-token
**/.docker/config.json
**/.kube/config
**/.aws/credentials
**/.cargo/credentials.toml
**/.config/gh/hosts.yml
**/.git/config
**/.git/config.worktree
**/.git/worktrees/**/config.worktree
**/.git/modules/**/config
";

/// The files that must not be read.
#[derive(Debug, Clone)]
pub struct DenyRead(Option<DenyRules>);

impl DenyRead {
    /// Parses a person's file. Its lines follow the default ones.
    pub fn parse(bytes: &[u8]) -> Result<DenyRead, DenyReadError> {
        let mut lines = DenyReadParser::default();
        for line in DEFAULT_DENY_READ.lines() {
            let at = |problem| DenyReadError { line: 0, problem };
            lines.add(line).map_err(at)?;
        }
        let mut last = 0;
        for (number, line) in (1..).zip(text_lines(bytes)) {
            let at = |problem| DenyReadError {
                line: number,
                problem,
            };
            if bytes.len() > MAX_DENY_READ_BYTES || number > MAX_DENY_READ_LINES {
                return Err(at(DenyReadProblem::FileTooLong));
            }
            let text = std::str::from_utf8(line).map_err(|_| at(DenyReadProblem::NotText))?;
            lines.add(text).map_err(at)?;
            last = number;
        }
        let too_complex = |_| DenyReadError {
            line: last,
            problem: DenyReadProblem::TooComplex,
        };
        Ok(DenyRead(Some(lines.build().map_err(too_complex)?)))
    }

    /// Denies everything, for a person's file that cannot be used.
    pub fn everything() -> DenyRead {
        DenyRead(None)
    }

    /// Returns true if the file at a path from the root is not to be read.
    pub fn denies(&self, path: &Path) -> bool {
        self.0.as_ref().is_none_or(|rules| rules.denies(path))
    }
}

impl Default for DenyRead {
    /// Returns the default secrets only.
    fn default() -> DenyRead {
        DenyRead::parse(b"").unwrap_or(DenyRead::everything())
    }
}

#[derive(Debug, Clone)]
struct DenyRules {
    rules: Vec<DenyRule>,
    /// Matched against single names.
    names: RuleGlobs,
    /// Matched against paths from the root.
    paths: RuleGlobs,
}

#[derive(Debug, Clone, Copy)]
struct DenyRule {
    denies: bool,
    directories_only: bool,
}

#[derive(Debug, Clone)]
struct RuleGlobs {
    set: GlobSet,
    /// The rule that each glob belongs to.
    rules: Vec<usize>,
}

impl DenyRules {
    fn denies(&self, path: &Path) -> bool {
        let names: Vec<Vec<u8>> = path.iter().map(|name| fold_name(name.as_bytes())).collect();
        let mut so_far = PathBuf::new();
        let mut decides = None;
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
        }
        decides.is_some_and(|rule: usize| self.rules[rule].denies)
    }
}

#[derive(Default)]
struct DenyReadParser {
    rules: Vec<DenyRule>,
    names: Vec<(Glob, usize)>,
    paths: Vec<(Glob, usize)>,
}

impl DenyReadParser {
    fn add(&mut self, line: &str) -> Result<(), DenyReadProblem> {
        if line.len() > MAX_LINE {
            return Err(DenyReadProblem::LineTooLong);
        }
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let (denies, glob) = match line.strip_prefix('!') {
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
            return Err(DenyReadProblem::NoGlob("nothing is named".to_owned()));
        }
        let glob = GlobBuilder::new(glob)
            .literal_separator(true)
            .case_insensitive(true)
            .build()
            .map_err(|error| DenyReadProblem::NoGlob(error.kind().to_string()))?;
        globs.push((glob, self.rules.len()));
        self.rules.push(DenyRule {
            denies,
            directories_only,
        });
        Ok(())
    }

    fn build(self) -> Result<DenyRules, globset::Error> {
        let globs = |globs: Vec<(Glob, usize)>| {
            let (globs, rules): (Vec<Glob>, Vec<usize>) = globs.into_iter().unzip();
            let set = GlobSet::new(globs)?;
            Ok(RuleGlobs { set, rules })
        };
        Ok(DenyRules {
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
pub struct DenyReadError {
    /// The line, counted from one.
    pub line: usize,
    pub problem: DenyReadProblem,
}

/// A flaw of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DenyReadProblem {
    /// The file is longer than [`MAX_DENY_READ_BYTES`] or [`MAX_DENY_READ_LINES`].
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

impl fmt::Display for DenyReadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: ", self.line)?;
        match &self.problem {
            DenyReadProblem::FileTooLong => write!(
                out,
                "a file of at most {MAX_DENY_READ_LINES} lines and {MAX_DENY_READ_BYTES} bytes is read"
            ),
            DenyReadProblem::LineTooLong => write!(out, "longer than {MAX_LINE} bytes"),
            DenyReadProblem::NotText => out.write_str("not UTF-8"),
            DenyReadProblem::NoGlob(why) => write!(out, "not a glob: {why}"),
            DenyReadProblem::TooComplex => {
                out.write_str("the globs up to here are too many or too large")
            }
        }
    }
}

impl std::error::Error for DenyReadError {}

#[cfg(test)]
mod tests;
