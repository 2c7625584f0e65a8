//! The paths that an agent never writes, those that it never reads, and those that no wildcard covers.
//!
//! The lists apply to real paths from the root, and to the paths of the links that led there
//! ([`ResolvedPath::any`](crate::path::ResolvedPath::any)). Names are compared as the least careful file
//! system would compare them: without regard to case, invisible characters, and trailing dots and spaces.
//! So `.GIT` is protected even if it is another directory.

mod deny_read;
mod executed;
mod fold_name;
mod path_rules;

pub use deny_read::{DEFAULT_DENY_READ, DenyRead};
pub use executed::{DEFAULT_EXECUTED, EXECUTED, ExecutedFiles};
use fold_name::fold_name;
pub use path_rules::{MAX_RULES_BYTES, MAX_RULES_LINES, PathRulesError, PathRulesProblem};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns true if a path from the root is never written by an agent: the audit log with its locks and rotated
/// parts, `.candor/`, `docs/plans/`, and everything called `.git` at any depth, file or directory,
/// since the hooks of a nested repository are run as those of the outer one are.
pub fn is_write_protected(path: &Path) -> bool {
    let names: Vec<Vec<u8>> = path.iter().map(|name| fold_name(name.as_bytes())).collect();
    let at_the_root = match names.as_slice() {
        [first, ..] if first == b".candor" || first.starts_with(b"audit-log.jsonl") => true,
        [first, second, ..] => first == b"docs" && second == b"plans",
        _ => false,
    };
    at_the_root || names.iter().any(|name| name == b".git")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn paths_of_the_server_and_git_are_protected() {
        for path in [
            "audit-log.jsonl",
            "audit-log.jsonl.1",
            "audit-log.jsonl.lock",
            "audit-log.jsonl.torn/x",
            ".candor",
            ".candor/deny_read",
            "docs/plans",
            "docs/plans/a.toml",
            "docs/plans/deep/a",
            ".git",
            ".git/hooks/pre-commit",
            "vendor/lib/.git",
            "vendor/lib/.git/config",
            ".GIT/hooks/pre-commit",
            "Docs/PLANS/a",
            "AUDIT-LOG.JSONL",
            ".g\u{200c}it/config",
            ".git./config",
            ".git /config",
            "doc\u{17f}/plans/a",
        ] {
            assert!(is_write_protected(Path::new(path)), "{path:?}");
        }
    }

    #[test]
    fn other_paths_are_writable() {
        for path in [
            "",
            "src/main.rs",
            "src/audit-log.jsonl",
            "audit-log.json",
            "docs",
            "docs/plans.md",
            "docs/reports/a.md",
            "sub/docs/plans/a",
            "sub/.candor/x",
            ".gitignore",
            ".github/workflows/ci.yml",
            ".gitmodules",
            "git/x",
            "\u{ff0e}git",
        ] {
            assert!(!is_write_protected(Path::new(path)), "{path:?}");
        }
        let bytes = Path::new(OsStr::from_bytes(b"\xff/.git\xff/x"));
        assert!(!is_write_protected(bytes));
    }
}
