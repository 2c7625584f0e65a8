//! Computes the Landlock grants of a process, around the paths that it must not have.
//!
//! Landlock grants and never denies, and a grant covers everything below a path. So a directory is
//! granted as a whole only if nothing in it is hidden; else its entries are granted one by one. Names can
//! be listed in the whole working directory, but not in other directories that contain hidden paths.
//!
//! The cell opens each path of the list without following links, so a path that becomes a link in
//! between is not granted. A file that is renamed in between is granted or not by its old name, as if it
//! had been renamed a moment earlier or later.

use crate::error::StartError;
use crate::job::{Grant, OsText, Right};
use crate::paths::ResolvedPath;
use crate::spec::DEVICES;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The maximum number of grants for one process, and of hidden paths in what it may read.
pub const MAX_GRANTS: usize = 16_384;

/// The paths that grants are computed from, absolute and free of links.
pub(crate) struct GrantBuilder<'a> {
    pub(crate) cwd: &'a Path,
    pub(crate) read: &'a [ResolvedPath],
    pub(crate) write: &'a [ResolvedPath],
    pub(crate) hide: &'a BTreeSet<PathBuf>,
    pub(crate) max_grants: usize,
}

impl GrantBuilder<'_> {
    /// Returns all grants of the process.
    pub(crate) fn build(&self) -> Result<Vec<Grant>, StartError> {
        let mut all = Vec::new();
        for device in DEVICES {
            all.push(grant(Path::new(device), Right::Device));
        }
        for path in self.write {
            self.grant_path(path, Right::Write, &mut all)?;
        }
        for path in self.read {
            self.grant_path(path, Right::Read, &mut all)?;
        }
        if self.contains_hidden(self.cwd) {
            all.push(grant(self.cwd, Right::List));
        }
        Ok(without_covered(all))
    }

    /// Grants a path without the hidden paths in it. A missing path is skipped.
    fn grant_path(
        &self,
        path: &ResolvedPath,
        right: Right,
        all: &mut Vec<Grant>,
    ) -> Result<(), StartError> {
        let mut todo = match &path.real {
            Some(real) if !self.is_hidden(real) => vec![real.clone()],
            _ => return Ok(()),
        };
        while let Some(path) = todo.pop() {
            if self.hide.contains(&path) {
                continue;
            }
            if !self.contains_hidden(&path) || !path.is_dir() {
                all.push(grant(&path, right));
            } else if let Ok(entries) = std::fs::read_dir(&path) {
                // Each round descends one level towards a hidden path, so the depth is bounded by theirs.
                for entry in entries.flatten() {
                    let kind = entry.file_type();
                    if kind.is_ok_and(|kind| kind.is_file() || kind.is_dir()) {
                        todo.push(entry.path());
                    }
                    if all.len() + todo.len() > self.max_grants {
                        return Err(StartError::TooManyGrants);
                    }
                }
            }
            if all.len() > self.max_grants {
                return Err(StartError::TooManyGrants);
            }
        }
        Ok(())
    }

    fn is_hidden(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.hide.contains(above))
    }

    /// Returns true if a hidden path lies in this one. Paths are ordered by component, so those below a
    /// path follow it.
    fn contains_hidden(&self, path: &Path) -> bool {
        let next = self.hide.range(path.to_path_buf()..).next();
        next.is_some_and(|hidden| hidden.starts_with(path))
    }
}

/// Leaves out what another grant covers: a grant holds for everything below its path, and whoever may write
/// may read. Each grant costs four system calls.
fn without_covered(all: Vec<Grant>) -> Vec<Grant> {
    let paths_of = |right: Right| -> BTreeSet<PathBuf> {
        let of_right = all.iter().filter(|grant| grant.right == right);
        of_right.map(|grant| grant.path.path().to_owned()).collect()
    };
    let (written, read) = (paths_of(Right::Write), paths_of(Right::Read));
    let is_covered = |grant: &Grant| {
        let mut above = grant.path.path().ancestors().skip(1);
        match grant.right {
            Right::Write => above.any(|path| written.contains(path)),
            Right::Read => {
                written.contains(grant.path.path())
                    || above.any(|path| written.contains(path) || read.contains(path))
            }
            Right::List | Right::Device => false,
        }
    };
    let kept = all.iter().filter(|grant| !is_covered(grant));
    kept.cloned().collect()
}

fn grant(path: &Path, right: Right) -> Grant {
    Grant {
        path: OsText::from(path.to_path_buf()),
        right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::{Links, PathResolver};
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn make(root: &Path, files: &[String]) {
        for file in files {
            let path = root.join(file);
            if fs::create_dir_all(path.parent().unwrap()).is_ok() {
                let _ = fs::write(path, "");
            }
        }
    }

    fn resolve(paths: &[PathBuf]) -> Vec<ResolvedPath> {
        let resolved = PathResolver::default().resolve_all(paths, &mut Links::new());
        resolved.unwrap()
    }

    fn granted(
        base: &Path,
        read: &[&str],
        write: &[&str],
        hide: &[&str],
    ) -> Result<BTreeSet<String>, StartError> {
        let paths = |names: &[&str]| names.iter().map(|name| base.join(name)).collect::<Vec<_>>();
        let builder = GrantBuilder {
            cwd: &base.join("work"),
            read: &resolve(&paths(read)),
            write: &resolve(&paths(write)),
            hide: &paths(hide).into_iter().collect(),
            max_grants: 20,
        };
        let grants = builder.build()?;
        let ours = grants.iter().filter(|grant| grant.right != Right::Device);
        let line = |grant: &Grant| {
            let path = grant.path.path().strip_prefix(base).unwrap();
            format!("{:?} {}", grant.right, path.display())
        };
        Ok(ours.map(line).collect())
    }

    fn base() -> (tempfile::TempDir, PathBuf) {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().canonicalize().unwrap();
        (base, path)
    }

    fn every_file(root: &Path, below: &Path, all: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(root.join(below)).unwrap() {
            let path = below.join(entry.unwrap().file_name());
            match root.join(&path).is_dir() {
                true => every_file(root, &path, all),
                false => all.push(path),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn exactly_the_files_that_are_not_hidden_are_granted(
            files in proptest::collection::vec("[abs](/[abs]){0,3}", 0..12),
            hide in proptest::collection::vec("[abs](/[abs]){0,3}", 0..4),
        ) {
            let (_base, base) = base();
            make(&base.join("work"), &files);
            fs::create_dir_all(base.join("work")).unwrap();
            let hide: BTreeSet<PathBuf> = hide.iter().map(|path| base.join("work").join(path)).collect();
            let builder = GrantBuilder {
                cwd: &base.join("work"),
                read: &resolve(&[base.join("work")]),
                write: &[],
                hide: &hide,
                max_grants: 1000,
            };
            let grants = builder.build().unwrap();
            let mut all = Vec::new();
            every_file(&base.join("work"), Path::new(""), &mut all);
            for file in all {
                let file = base.join("work").join(file);
                let hidden = file.ancestors().any(|above| hide.contains(above));
                let granted = grants.iter().any(|grant| {
                    grant.right == Right::Read && file.starts_with(grant.path.path())
                });
                prop_assert_eq!(granted, !hidden, "{}", file.display());
            }
        }
    }

    #[test]
    fn directories_without_hidden_files_are_granted_as_a_whole() {
        let (_base, base) = base();
        let files = ["work/a/b/c", "work/d/e", "work/d/s", "work/w/x", "work/f"];
        make(&base, &files.map(String::from));
        symlink("/etc", base.join("work/link")).unwrap();
        let lines = granted(&base, &["work"], &["work/w"], &["work/d/s"]).unwrap();
        let expected = [
            "List work",
            "Read work/a",
            "Read work/d/e",
            "Read work/f",
            "Write work/w",
        ];
        assert_eq!(lines, expected.map(String::from).into());

        let lines = granted(&base, &["work"], &["work/w"], &[]).unwrap();
        assert_eq!(
            lines,
            ["Read work", "Write work/w"].map(String::from).into()
        );
    }

    #[test]
    fn hidden_paths_win_over_readable_and_writable_ones() {
        let (_base, base) = base();
        let files = [
            "home/tool/bin/x",
            "home/own/key",
            "home/f",
            "home/w/s",
            "home/w/t",
        ];
        make(&base, &files.map(String::from));
        let lines = granted(
            &base,
            &["home", "missing", "home/own/key"],
            &["home/w", "home/own"],
            &["home/own", "home/w/s"],
        )
        .unwrap();
        let expected = ["Read home/f", "Read home/tool", "Write home/w/t"];
        assert_eq!(lines, expected.map(String::from).into());
    }

    #[test]
    fn a_path_in_a_granted_directory_needs_no_grant() {
        let (_base, base) = base();
        let files = ["work/a/b", "work/w/x/y", "tool/bin/x", "tool/lib/y"];
        make(&base, &files.map(String::from));
        symlink("tool/bin", base.join("bin")).unwrap();
        let lines = granted(
            &base,
            &["bin", "tool", "work", "work/w/x", "tool/lib"],
            &["work/w", "work/w/x"],
            &[],
        );
        let expected = ["Read tool", "Read work", "Write work/w"];
        assert_eq!(lines.unwrap(), expected.map(String::from).into());
    }

    #[test]
    fn too_many_grants_are_refused() {
        let (_base, base) = base();
        let files: Vec<String> = (0..21).map(|n| format!("work/f{n}")).collect();
        make(&base, &files);
        assert_eq!(granted(&base, &["work"], &[], &[]).unwrap().len(), 1);
        assert!(matches!(
            granted(&base, &["work"], &[], &["work/s"]),
            Err(StartError::TooManyGrants)
        ));
    }
}
