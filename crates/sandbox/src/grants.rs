//! Computes the grants of a command, around the paths that it must not have.
//!
//! Landlock grants and never denies, and a grant covers everything below a path. So a directory is
//! granted as a whole only if nothing in it is hidden; else its entries are granted one by one. Names can
//! be listed everywhere in the root, but not in the parents of hidden directories outside it.
//!
//! The cell opens each path of the list without following links, so a path that becomes a link in
//! between is not granted. A file that is renamed in between is granted or not by its old name, as if it
//! had been renamed a moment earlier or later.
//!
//! Writable directories are granted as a whole and are not searched.

use crate::job::{Grant, OsText, Right};
use crate::outcome::{RunError, SetupStep};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The maximum number of files and directories below the root that are visited for one command.
pub const MAX_ENTRIES: usize = 1_000_000;
/// The maximum number of grants for one command.
pub const MAX_GRANTS: usize = 16_384;
/// The maximum depth below the root. Directories that lie deeper are not granted.
pub const MAX_DEPTH: usize = 128;

const DEVICES: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];

/// The paths that grants are computed from: canonical, those below the root relative to it.
pub(crate) struct GrantBuilder<'a> {
    pub(crate) root: &'a Path,
    pub(crate) write: &'a [PathBuf],
    pub(crate) read: &'a [PathBuf],
    pub(crate) hide: &'a [PathBuf],
    pub(crate) scratch: &'a Path,
    pub(crate) is_hidden: &'a dyn Fn(&Path) -> bool,
    pub(crate) max_grants: usize,
}

impl GrantBuilder<'_> {
    /// Returns all grants of the command.
    pub(crate) fn build(&self) -> Result<Vec<Grant>, RunError> {
        let mut all = Vec::new();
        for device in DEVICES {
            all.push(grant(Path::new(device), Right::Device));
        }
        all.push(grant(self.scratch, Right::Write));
        for path in self.write {
            all.push(grant(path, Right::Write));
        }
        all.extend(self.grant_root()?);
        for path in self.read {
            self.grant_outside(path, &mut all)?;
        }
        self.check_count(all)
    }

    /// Returns the grants below the root: whole directories if nothing in them is hidden.
    fn grant_root(&self) -> Result<Vec<Grant>, RunError> {
        let top = openat(CWD, self.root, DIRECTORY, Mode::empty()).map_err(root_error)?;
        let mut left = MAX_ENTRIES;
        let mut open = vec![OpenDirectory::read(top, PathBuf::new(), &mut left)?];
        loop {
            let depth = open.len();
            let Some(directory) = open.last_mut() else {
                return Ok(Vec::new());
            };
            if let Some((name, kind)) = directory.entries.pop() {
                if let Some((inner, path)) = self.grant_entry(directory, &name, kind, depth) {
                    open.push(OpenDirectory::read(inner, path, &mut left)?);
                }
                continue;
            }
            let Some(done) = open.pop() else {
                return Ok(Vec::new());
            };
            match open.last_mut() {
                Some(above) if done.whole => above.grants.push(grant(&done.path, Right::Read)),
                Some(above) => {
                    above.whole = false;
                    above.grants.extend(self.check_count(done.grants)?);
                }
                None if done.whole => return Ok(vec![grant(Path::new("."), Right::Read)]),
                None => {
                    let mut grants = self.check_count(done.grants)?;
                    grants.push(grant(Path::new("."), Right::List));
                    return Ok(grants);
                }
            }
        }
    }

    /// Adds the grant of one entry. Returns the entry if it is a directory, which must be visited first.
    fn grant_entry(
        &self,
        directory: &mut OpenDirectory,
        name: &OsStr,
        kind: FileType,
        depth: usize,
    ) -> Option<(OwnedFd, PathBuf)> {
        let path = directory.path.join(name);
        if self.write.contains(&path) {
            return None;
        }
        if (self.is_hidden)(&path) {
            directory.whole = false;
        } else if kind == FileType::RegularFile {
            directory.grants.push(grant(&path, Right::Read));
        } else if kind == FileType::Directory {
            match directory.open(name, depth) {
                Some(inner) => return Some((inner, path)),
                None => directory.whole = false,
            }
        }
        None
    }

    /// Grants a path outside the root, without the root and the hidden directories in it.
    fn grant_outside(&self, path: &Path, all: &mut Vec<Grant>) -> Result<(), RunError> {
        let Ok(path) = path.canonicalize() else {
            return Ok(());
        };
        let excluded = || self.hide.iter().map(PathBuf::as_path).chain([self.root]);
        let mut todo = vec![path];
        while let Some(path) = todo.pop() {
            if excluded().any(|excluded| path.starts_with(excluded)) {
                continue;
            }
            if !excluded().any(|excluded| excluded.starts_with(&path)) {
                all.push(grant(&path, Right::Read));
                continue;
            }
            // Each round descends one level towards an excluded path, so the depth is bounded by theirs.
            let Ok(entries) = std::fs::read_dir(&path) else {
                continue;
            };
            for entry in entries.flatten() {
                if entry
                    .file_type()
                    .is_ok_and(|kind| kind.is_file() || kind.is_dir())
                {
                    todo.push(entry.path());
                }
                if all.len() + todo.len() > self.max_grants {
                    return Err(RunError::TooManyGrants);
                }
            }
        }
        Ok(())
    }

    fn check_count(&self, grants: Vec<Grant>) -> Result<Vec<Grant>, RunError> {
        match grants.len() > self.max_grants {
            true => Err(RunError::TooManyGrants),
            false => Ok(grants),
        }
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A directory whose entries are being visited.
struct OpenDirectory {
    path: PathBuf,
    handle: OwnedFd,
    entries: Vec<(OsString, FileType)>,
    /// True as long as the directory can be granted as a whole.
    whole: bool,
    /// The grants of the entries, used if `whole` is false.
    grants: Vec<Grant>,
}

impl OpenDirectory {
    fn read(handle: OwnedFd, path: PathBuf, left: &mut usize) -> Result<OpenDirectory, RunError> {
        let mut directory = OpenDirectory {
            path,
            handle,
            entries: Vec::new(),
            whole: true,
            grants: Vec::new(),
        };
        let Ok(entries) = Dir::read_from(&directory.handle) else {
            directory.whole = false;
            return Ok(directory);
        };
        for entry in entries {
            let Ok(entry) = entry else {
                directory.whole = false;
                break;
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            *left = left.checked_sub(1).ok_or(RunError::TooManyEntries)?;
            let kind = match entry.file_type() {
                // Some file systems do not list the type.
                FileType::Unknown => statat(&directory.handle, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |found| {
                        FileType::from_raw_mode(found.st_mode)
                    }),
                kind => kind,
            };
            directory
                .entries
                .push((OsStr::from_bytes(name.to_bytes()).to_owned(), kind));
        }
        Ok(directory)
    }

    /// Opens a subdirectory. Returns `None` if it cannot be opened or lies too deep.
    fn open(&self, name: &OsStr, depth: usize) -> Option<OwnedFd> {
        (depth < MAX_DEPTH)
            .then(|| openat(&self.handle, name, DIRECTORY, Mode::empty()).ok())
            .flatten()
    }
}

fn grant(path: &Path, right: Right) -> Grant {
    Grant {
        path: OsText::from(path.to_path_buf()),
        right,
    }
}

fn root_error(error: Errno) -> RunError {
    RunError::Io {
        step: SetupStep::Grants,
        source: error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn is_secret(path: &Path) -> bool {
        path.file_name()
            .is_some_and(|name| name.as_bytes().starts_with(b"s"))
    }

    fn make(root: &Path, files: &[String]) {
        for file in files {
            let path = root.join(file);
            if fs::create_dir_all(path.parent().unwrap()).is_ok() {
                let _ = fs::write(path, "");
            }
        }
    }

    fn builder<'a>(root: &'a Path, write: &'a [PathBuf]) -> GrantBuilder<'a> {
        GrantBuilder {
            root,
            write,
            read: &[],
            hide: &[],
            scratch: Path::new("/scratch"),
            is_hidden: &is_secret,
            max_grants: 20,
        }
    }

    fn lines(grants: &[Grant]) -> BTreeSet<String> {
        grants
            .iter()
            .map(|grant| format!("{:?} {}", grant.right, grant.path.0.display()))
            .collect()
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
            files in proptest::collection::vec("[abs](/[abs]){0,4}", 0..20),
        ) {
            let root = tempfile::tempdir().unwrap();
            make(root.path(), &files);
            let grants = builder(root.path(), &[]).grant_root().unwrap();
            let reads: Vec<PathBuf> = grants
                .iter()
                .filter(|grant| grant.right == Right::Read)
                .map(|grant| PathBuf::from(&grant.path.0))
                .collect();
            let mut all = Vec::new();
            every_file(root.path(), Path::new(""), &mut all);
            for file in all {
                let hidden = file.ancestors().any(is_secret);
                let granted = reads.iter().any(|read| read == Path::new(".") || file.starts_with(read));
                prop_assert_eq!(granted, !hidden, "{}", file.display());
            }
        }
    }

    #[test]
    fn directories_without_hidden_files_are_granted_as_a_whole() {
        let root = tempfile::tempdir().unwrap();
        make(
            root.path(),
            &[
                "a/b/c".into(),
                "d/e".into(),
                "d/s".into(),
                "w/s".into(),
                "f".into(),
            ],
        );
        symlink("/etc", root.path().join("link")).unwrap();
        let write = [PathBuf::from("w")];
        let grants = builder(root.path(), &write).grant_root().unwrap();
        let expected = ["List .", "Read a", "Read d/e", "Read f"];
        assert_eq!(lines(&grants), expected.map(String::from).into());

        fs::remove_file(root.path().join("d/s")).unwrap();
        let grants = builder(root.path(), &write).grant_root().unwrap();
        assert_eq!(lines(&grants), ["Read .".to_owned()].into());
    }

    #[test]
    fn a_toolchain_is_granted_without_hidden_directories_and_the_root() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        make(
            &base,
            &[
                "home/tool/bin/x".into(),
                "home/own/key".into(),
                "home/work/s".into(),
                "home/f".into(),
            ],
        );
        let (root, hidden_directory) = (base.join("home/work"), base.join("home/own"));
        let read = [
            base.clone(),
            base.join("missing"),
            hidden_directory.join("key"),
            root.join("s"),
        ];
        let mut all = Vec::new();
        let builder = GrantBuilder {
            read: &read,
            hide: &[hidden_directory],
            ..builder(&root, &[])
        };
        for path in builder.read {
            builder.grant_outside(path, &mut all).unwrap();
        }
        let expected = [base.join("home/f"), base.join("home/tool")];
        assert_eq!(
            lines(&all),
            expected
                .map(|path| format!("Read {}", path.display()))
                .into()
        );
    }

    #[test]
    fn directories_that_lie_too_deep_are_not_granted() {
        let root = tempfile::tempdir().unwrap();
        let deep = "d/".repeat(MAX_DEPTH + 5);
        make(root.path(), &[format!("{deep}x")]);
        let grants = builder(root.path(), &[]).grant_root().unwrap();
        assert_eq!(lines(&grants), ["List .".to_owned()].into());
    }

    #[test]
    fn too_many_grants_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let files: Vec<String> = (0..21).map(|n| format!("f{n}")).collect();
        make(root.path(), &files);
        assert_eq!(builder(root.path(), &[]).grant_root().unwrap().len(), 1);
        make(root.path(), &["s".into()]);
        assert!(matches!(
            builder(root.path(), &[]).grant_root(),
            Err(RunError::TooManyGrants)
        ));
    }
}
