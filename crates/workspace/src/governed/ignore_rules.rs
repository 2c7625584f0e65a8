//! The rules of git that say which files in writable paths are not governed.

use crate::reading::{MAX_GITIGNORE_BYTES, parse_rules};
use candor_disk::{Disk, DiskFile, Open};
use ignore::Match;
use ignore::gitignore::Gitignore;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The name of the files with rules.
pub(super) const GITIGNORE: &str = ".gitignore";

/// The rules of the repository that are not in its tree.
const EXCLUDE: &str = ".git/info/exclude";

/// The rules as they were before commands ran.
#[derive(Debug, Default)]
pub(crate) struct IgnoreRules {
    /// The rules of each directory.
    by_directory: BTreeMap<PathBuf, Gitignore>,
    exclude: Option<Gitignore>,
    /// Files in git's index, which are governed even if a rule matches them.
    tracked: BTreeSet<String>,
}

impl IgnoreRules {
    /// Returns rules without any file of the tree. `tracked` are the files in git's index.
    pub(crate) fn new<D: Disk>(root: &D, tracked: BTreeSet<String>) -> IgnoreRules {
        IgnoreRules {
            by_directory: BTreeMap::new(),
            exclude: read(root, Path::new(EXCLUDE)),
            tracked,
        }
    }

    /// Reads the rules of a directory, if it has some.
    pub(super) fn read<D: Disk>(&mut self, root: &D, directory: &Path) {
        if self.by_directory.contains_key(directory) {
            return;
        }
        if let Some(rules) = read(root, &directory.join(GITIGNORE)) {
            self.by_directory.insert(directory.to_path_buf(), rules);
        }
    }

    /// Adds the rules of a directory as they were saved.
    pub(super) fn add(&mut self, directory: &Path, bytes: &[u8]) {
        if let Some(rules) = parse_rules(bytes) {
            self.by_directory.insert(directory.to_path_buf(), rules);
        }
    }

    /// Returns the tracked files that a rule matches.
    pub(super) fn tracked_and_ignored(&self) -> impl Iterator<Item = &String> {
        let tracked = self.tracked.iter();
        tracked.filter(|path| self.is_ignored(Path::new(path), false))
    }

    /// Returns true if a file is governed, or if a directory may contain governed files.
    pub(super) fn is_governed(&self, path: &Path, is_directory: bool) -> bool {
        !self.is_ignored(path, is_directory) || self.is_tracked(path, is_directory)
    }

    fn is_tracked(&self, path: &Path, is_directory: bool) -> bool {
        let Some(text) = path.to_str() else {
            return false;
        };
        match is_directory {
            false => self.tracked.contains(text),
            true => {
                let inside = format!("{text}/");
                let mut after = self.tracked.range(inside.clone()..);
                after.next().is_some_and(|next| next.starts_with(&inside))
            }
        }
    }

    /// Returns true if a rule matches a path or a directory above it.
    fn is_ignored(&self, path: &Path, is_directory: bool) -> bool {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.pop();
        let mut above = above.into_iter().rev();
        above.any(|directory| self.matches(directory, true)) || self.matches(path, is_directory)
    }

    fn matches(&self, path: &Path, is_directory: bool) -> bool {
        for directory in path.ancestors().skip(1) {
            let rules = self.by_directory.get(directory);
            let (Some(rules), Ok(rest)) = (rules, path.strip_prefix(directory)) else {
                continue;
            };
            match rules.matched(rest, is_directory) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        let exclude = self.exclude.as_ref();
        exclude.is_some_and(|rules| rules.matched(path, is_directory).is_ignore())
    }
}

fn read<D: Disk>(root: &D, path: &Path) -> Option<Gitignore> {
    let file = root.open(path, Open::Read).ok()?;
    parse_rules(&file.read_all(MAX_GITIGNORE_BYTES as usize).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_sim_disk::SimDisk;

    fn write(disk: &SimDisk, path: &str, text: &str) {
        let file = disk.open(path, Open::Create(0o644)).unwrap();
        file.append_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn nearest_rules_win_and_tracked_files_are_governed() {
        let disk = SimDisk::new(1);
        for dir in [".git", ".git/info", "src", "src/gen"] {
            disk.create_dir(dir, 0o755).unwrap();
        }
        write(&disk, ".gitignore", "/target\n*.log\n");
        write(&disk, "src/.gitignore", "!kept.log\n");
        write(&disk, ".git/info/exclude", "*.tmp\n");
        let tracked = ["src/old.log", "target/kept/a"].map(String::from);
        let mut rules = IgnoreRules::new(&disk, tracked.into());
        for directory in ["", "src", "src/gen"] {
            rules.read(&disk, Path::new(directory));
        }
        for (path, is_directory, governed) in [
            ("src/a.rs", false, true),
            ("src/a.log", false, false),
            ("src/kept.log", false, true),
            ("src/old.log", false, true),
            ("src/a.tmp", false, false),
            ("target", true, true),
            ("target/kept", true, true),
            ("target/kept/a", false, true),
            ("target/kept/b", false, false),
            ("target/debug", true, false),
            ("target/debug/a.rs", false, false),
        ] {
            assert_eq!(
                rules.is_governed(Path::new(path), is_directory),
                governed,
                "{path}"
            );
        }
        let both: Vec<_> = rules.tracked_and_ignored().collect();
        assert_eq!(both, ["src/old.log", "target/kept/a"]);
    }
}
