//! Files that other programs run or obey, such as workflows and build scripts: a wildcard of a plan
//! never covers them, so that a person who allows a directory does not hand over the machine that
//! builds it.

use super::path_rules::{PathRules, PathRulesError};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The person's file that adds to the list, relative to the root.
pub const EXECUTED: &str = ".candor/executed";

/// Directories and names of executed files, in the form of `.candor/deny_read`.
pub const DEFAULT_EXECUTED: &str = "\
**/.github/workflows/
**/.github/actions/
.circleci/
.buildkite/
.husky/
.githooks/
.vscode/
.idea/
.devcontainer/
.claude/
.cursor/
.codex/
.gemini/
.cargo/
build.rs
Makefile
makefile
GNUmakefile
justfile
.envrc
.mcp.json
.gitattributes
.gitmodules
.pre-commit-config.yaml
lefthook.yml
.gitlab-ci.yml
Jenkinsfile
azure-pipelines.yml
.travis.yml
AGENTS.md
CLAUDE.md
.cursorrules
.windsurfrules
";

/// Names of build descriptions, which an approver sees before other files.
const BUILD_DESCRIPTIONS: &str = "\
package.json
Cargo.toml
pyproject.toml
setup.py
conftest.py
CMakeLists.txt
Dockerfile
*.gradle*
pom.xml
";

/// The files that other programs run or obey.
#[derive(Debug, Clone)]
pub struct ExecutedFiles(Option<PathRules>);

impl ExecutedFiles {
    /// Parses a person's file. Its lines follow the default ones.
    pub fn parse(bytes: &[u8]) -> Result<ExecutedFiles, PathRulesError> {
        Ok(ExecutedFiles(Some(PathRules::parse(
            DEFAULT_EXECUTED,
            bytes,
        )?)))
    }

    /// Returns the names of build descriptions instead of executed files.
    pub fn build_descriptions() -> ExecutedFiles {
        ExecutedFiles(PathRules::parse(BUILD_DESCRIPTIONS, b"").ok())
    }

    /// Returns true if the file at a path from the root is run or obeyed.
    pub fn contains(&self, path: &[u8]) -> bool {
        self.0
            .as_ref()
            .is_none_or(|rules| rules.inclusion(as_path(path)).is_some())
    }

    /// Returns true if a glob that matches a path covers it, although it may be an executed file: the
    /// glob names the file, or its directories before the first wildcard reach into the directory of
    /// executed files.
    pub fn is_covered(&self, path: &[u8], glob: &str) -> bool {
        let inclusion = match &self.0 {
            Some(rules) => match rules.inclusion(as_path(path)) {
                None => return true,
                Some(inclusion) => inclusion.directory,
            },
            None => None,
        };
        names_the_file(glob)
            || inclusion.is_some_and(|directory| literal_directories(glob) >= directory)
    }
}

impl Default for ExecutedFiles {
    /// Returns the default list only.
    fn default() -> ExecutedFiles {
        // Every file counts as executed if the list cannot be used.
        ExecutedFiles::parse(b"").unwrap_or(ExecutedFiles(None))
    }
}

fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

fn is_wild(name: &str) -> bool {
    name.contains(['*', '?', '[', '{', '}', '\\'])
}

/// Returns true if the last name of a glob has no wildcard and is not part of an alternative.
fn names_the_file(glob: &str) -> bool {
    let last = glob.rsplit('/').next().unwrap_or_default();
    !is_wild(last)
}

/// Returns the number of directories that a glob names before its first wildcard.
fn literal_directories(glob: &str) -> usize {
    let names = glob.split('/').collect::<Vec<_>>();
    let literal = names.iter().take_while(|name| !is_wild(name)).count();
    // The last name is the one of a file.
    literal.min(names.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Globs;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    #[test]
    fn executed_files_are_found_at_any_depth_and_in_any_spelling() {
        let executed = ExecutedFiles::default();
        for path in [
            ".github/workflows/ci.yml",
            ".GitHub/Workflows/deep/ci.yml",
            "sub/.github/actions/a/action.yml",
            ".claude/settings.json",
            "crates/a/.cargo/config.toml",
            "build.rs",
            "crates/a/BUILD.RS",
            "makefile.",
            "Make\u{200b}file",
            ".mcp.json",
            "docs/AGENTS.md",
        ] {
            assert!(executed.contains(path.as_bytes()), "{path}");
        }
        for path in [
            ".github/CODEOWNERS",
            ".github/workflows",
            "workflows/ci.yml",
            "src/build.rs.txt",
            "cargo/config.toml",
            "package.json",
            "Cargo.toml",
            "src/make.rs",
        ] {
            assert!(!executed.contains(path.as_bytes()), "{path}");
        }
        let builds = ExecutedFiles::build_descriptions();
        assert!(builds.contains(b"a/package.json") && builds.contains(b"app/build.gradle.kts"));
        assert!(!builds.contains(b"build.rs"));
    }

    #[test]
    fn only_a_glob_that_names_an_executed_file_covers_it() {
        let executed = ExecutedFiles::default();
        for (path, glob, covered) in [
            (".github/workflows/x.yml", "**", false),
            (".github/workflows/x.yml", ".github/**", false),
            (".github/workflows/x.yml", ".github/workflows*/x*", false),
            (".github/workflows/x.yml", ".github/{workflows,a}/*", false),
            (".github/workflows/x.yml", ".github/workflows/*", true),
            (".github/workflows/x.yml", ".github/workflows/x*.yml", true),
            (".github/workflows/x.yml", ".github/workflows/x.yml", true),
            (".github/workflows/x.yml", "**/x.yml", true),
            ("build.rs", "*.rs", false),
            ("build.rs", "build.*", false),
            ("build.rs", "{build,a}.rs", false),
            ("a/build.rs", "a/**", false),
            ("a/build.rs", "**/build.rs", true),
            (".husky/pre-commit", ".husky/**", true),
            ("src/a.rs", "**", true),
        ] {
            let globs = Globs::new(&[glob.to_owned()]).unwrap();
            assert!(globs.matches(path.as_bytes()), "{path} {glob}");
            assert_eq!(
                executed.is_covered(path.as_bytes(), glob),
                covered,
                "{path} {glob}"
            );
        }
    }

    #[test]
    fn person_adds_and_takes_back() {
        let executed = ExecutedFiles::parse(b"ci/\n*.sh\n!build.rs\n!.vscode/\n").unwrap();
        for (path, is_executed) in [
            ("ci/x", true),
            ("a/run.sh", true),
            ("build.rs", false),
            (".vscode/tasks.json", false),
            ("Makefile", true),
        ] {
            assert_eq!(executed.contains(path.as_bytes()), is_executed, "{path}");
        }
        assert!(!executed.is_covered(b"ci/x", "**"));
        assert!(executed.is_covered(b"ci/x", "ci/*"));
        assert!(!executed.is_covered(b"a/run.sh", "a/*.sh"));
        assert!(
            !ExecutedFiles::parse(b"!**\n")
                .unwrap()
                .contains(b"build.rs")
        );
        assert_eq!(ExecutedFiles::parse(b"ok\n[\n").unwrap_err().line, 2);
    }

    /// Decides by the words of the guide, name by name.
    fn oracle(path: &[&str], glob: &[&str]) -> bool {
        // A name without a slash at its end also means a directory.
        let dirs = [".claude", ".husky", "build.rs"];
        let is_dir = |name: &&str| dirs.contains(&name.to_ascii_lowercase().as_str());
        let (file, above) = path.split_last().unwrap();
        let dir = above.iter().position(is_dir);
        if dir.is_none() && !file.eq_ignore_ascii_case("build.rs") {
            return true;
        }
        let wild = |name: &&str| name.contains('*');
        if glob.last().is_some_and(|last| !wild(last)) {
            return true;
        }
        let first_wild = glob.iter().position(wild).unwrap();
        dir.is_some_and(|dir| first_wild > dir)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn coverage_agrees_with_the_guide(
            path in prop::collection::vec("\\.claude|\\.Husky|build\\.rs|a|b", 1..5),
            shape in prop::collection::vec(0..4u8, 1..5),
        ) {
            // A glob that matches the path: names, `*`, a name and `*`, or `**` for the rest.
            let mut glob = Vec::new();
            for (name, shape) in path.iter().zip(shape.iter().chain(std::iter::repeat(&0))) {
                match shape {
                    0 => glob.push(name.clone()),
                    1 => glob.push(String::from("*")),
                    2 => glob.push(format!("{name}*")),
                    _ => {
                        glob.push(String::from("**"));
                        break;
                    }
                }
            }
            let (text, full) = (glob.join("/"), path.join("/"));
            prop_assert!(Globs::new(std::slice::from_ref(&text)).unwrap().matches(full.as_bytes()));
            let names: Vec<&str> = path.iter().map(String::as_str).collect();
            let globs: Vec<&str> = glob.iter().map(String::as_str).collect();
            static EXECUTED: LazyLock<ExecutedFiles> = LazyLock::new(ExecutedFiles::default);
            prop_assert_eq!(
                EXECUTED.is_covered(full.as_bytes(), &text),
                oracle(&names, &globs),
                "{} by {}", full, text
            );
        }
    }
}
