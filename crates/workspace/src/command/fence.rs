//! The paths of a workspace that a command must not read or write.

use std::path::{Path, PathBuf};

/// The rules of a workspace about its paths. Every path is relative to the root.
#[derive(Clone, Copy)]
pub struct Fence<'a> {
    /// Returns true if a command must not read the path.
    pub is_hidden: &'a dyn Fn(&Path) -> bool,
    /// Returns true if a command must not write the path.
    pub is_protected: &'a dyn Fn(&Path) -> bool,
    /// The protected paths that are listed by name, so that no directory above them is writable
    /// either.
    pub protected_paths: &'a [PathBuf],
}

impl Fence<'_> {
    /// Returns true if a directory neither is nor lies in nor contains a protected path, and is not in a
    /// hidden one.
    pub fn can_be_writable(&self, path: &Path) -> bool {
        let inside = path
            .ancestors()
            .filter(|above| !above.as_os_str().is_empty())
            .any(|above| (self.is_protected)(above) || (self.is_hidden)(above));
        let around = self
            .protected_paths
            .iter()
            .any(|protected| protected.starts_with(path) || path.starts_with(protected));
        !inside && !around
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_away_from_protected_paths_can_be_writable() {
        let fixed = [".git", ".candor", "docs/plans", "audit-log.jsonl"].map(PathBuf::from);
        let fence = Fence {
            is_hidden: &|path| path.starts_with(".env"),
            is_protected: &|path| path.to_string_lossy().starts_with("audit-log.jsonl"),
            protected_paths: &fixed,
        };
        for path in ["target", "a/b/c", "docs/built", ".github"] {
            assert!(fence.can_be_writable(Path::new(path)), "{path}");
        }
        for path in [
            "docs",
            "docs/plans",
            "docs/plans/x",
            ".git",
            ".git/hooks",
            "audit-log.jsonl.d",
            ".env/x",
            "audit-log.jsonl.1/x",
        ] {
            assert!(!fence.can_be_writable(Path::new(path)), "{path}");
        }
    }
}
