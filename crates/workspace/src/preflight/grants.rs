//! What a command is granted, worked out around what it must not have.
//!
//! Landlock grants and never denies, and a grant covers everything below. So a directory is granted
//! whole only where nothing in it must stay out of reach; else its entries are judged one by one. The
//! names in the root can be listed everywhere, those beside our own directories cannot.
//!
//! The list is made here and carried out in the cell, which opens each path without following links:
//! what becomes a link in between is not granted. A file that somebody renames in between is granted
//! or not by its old name, as if it had been renamed a moment earlier or later.
//!
//! Writable directories are granted whole and not looked through: what lies there is the command's.

use super::job::{Grant, Raw, Right};
use super::outcome::{RunError, Step};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How many files and directories of a workspace are looked at for one command.
pub const MAX_ENTRIES: usize = 1_000_000;
/// How many paths are granted for one command.
pub const MAX_GRANTS: usize = 16_384;
/// How deep below the root directories are looked at; what is deeper is not granted beside a file
/// that must not be read.
pub const MAX_DEPTH: usize = 128;

const DEVICES: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];

/// What the grants are worked out from; paths are canonical, those of the workspace relative.
pub(super) struct Ground<'a> {
    pub(super) root: &'a Path,
    pub(super) writable: &'a [PathBuf],
    pub(super) readable: &'a [PathBuf],
    pub(super) never: &'a [PathBuf],
    pub(super) scratch: &'a Path,
    pub(super) unreadable: &'a dyn Fn(&Path) -> bool,
    /// How many paths may be granted.
    pub(super) most: usize,
}

impl Ground<'_> {
    /// Everything that is granted.
    pub(super) fn grants(&self) -> Result<Vec<Grant>, RunError> {
        let mut all = Vec::new();
        for device in DEVICES {
            all.push(grant(Path::new(device), Right::Device));
        }
        all.push(grant(self.scratch, Right::Write));
        for path in self.writable {
            all.push(grant(path, Right::Write));
        }
        all.extend(self.of_root()?);
        for path in self.readable {
            self.around(path, &mut all)?;
        }
        self.bounded(all)
    }

    /// What may be read in the root: whole directories where nothing in them is withheld.
    fn of_root(&self) -> Result<Vec<Grant>, RunError> {
        let top = openat(CWD, self.root, DIRECTORY, Mode::empty()).map_err(unreadable_root)?;
        let mut left = MAX_ENTRIES;
        let mut open = vec![Level::read(top, PathBuf::new(), &mut left)?];
        loop {
            let depth = open.len();
            let Some(level) = open.last_mut() else {
                return Ok(Vec::new());
            };
            if let Some((name, kind)) = level.entries.pop() {
                if let Some((inner, path)) = self.judge(level, &name, kind, depth) {
                    open.push(Level::read(inner, path, &mut left)?);
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
                    above.grants.extend(self.bounded(done.grants)?);
                }
                None if done.whole => return Ok(vec![grant(Path::new("."), Right::Read)]),
                None => {
                    let mut grants = self.bounded(done.grants)?;
                    grants.push(grant(Path::new("."), Right::List));
                    return Ok(grants);
                }
            }
        }
    }

    /// Takes note of one entry; answers the directory that has to be looked through first.
    fn judge(
        &self,
        level: &mut Level,
        name: &OsStr,
        kind: FileType,
        depth: usize,
    ) -> Option<(OwnedFd, PathBuf)> {
        let path = level.path.join(name);
        if self.writable.contains(&path) {
            return None;
        }
        if (self.unreadable)(&path) {
            level.whole = false;
        } else if kind == FileType::RegularFile {
            level.grants.push(grant(&path, Right::Read));
        } else if kind == FileType::Directory {
            match level.open(name, depth) {
                Some(inner) => return Some((inner, path)),
                None => level.whole = false,
            }
        }
        None
    }

    /// Grants a path outside the root, but nothing of the root and nothing of our own.
    fn around(&self, path: &Path, all: &mut Vec<Grant>) -> Result<(), RunError> {
        let Ok(path) = path.canonicalize() else {
            return Ok(());
        };
        let withheld = || self.never.iter().map(PathBuf::as_path).chain([self.root]);
        let mut todo = vec![path];
        while let Some(path) = todo.pop() {
            if withheld().any(|fence| path.starts_with(fence)) {
                continue;
            }
            if !withheld().any(|fence| fence.starts_with(&path)) {
                all.push(grant(&path, Right::Read));
                continue;
            }
            // Each round goes one step down towards a fence, so the depth is that of the fences.
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
                if all.len() + todo.len() > self.most {
                    return Err(RunError::TooManyGrants);
                }
            }
        }
        Ok(())
    }

    fn bounded(&self, grants: Vec<Grant>) -> Result<Vec<Grant>, RunError> {
        match grants.len() > self.most {
            true => Err(RunError::TooManyGrants),
            false => Ok(grants),
        }
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A directory that is being looked through.
struct Level {
    path: PathBuf,
    handle: OwnedFd,
    entries: Vec<(OsString, FileType)>,
    /// Whether it can be granted whole so far.
    whole: bool,
    /// What is granted where it cannot.
    grants: Vec<Grant>,
}

impl Level {
    fn read(handle: OwnedFd, path: PathBuf, left: &mut usize) -> Result<Level, RunError> {
        let mut level = Level {
            path,
            handle,
            entries: Vec::new(),
            whole: true,
            grants: Vec::new(),
        };
        let Ok(directory) = Dir::read_from(&level.handle) else {
            level.whole = false;
            return Ok(level);
        };
        for entry in directory {
            let Ok(entry) = entry else {
                level.whole = false;
                break;
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            *left = left.checked_sub(1).ok_or(RunError::TooManyEntries)?;
            let kind = match entry.file_type() {
                // Some file systems do not say it in the listing.
                FileType::Unknown => statat(&level.handle, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |found| {
                        FileType::from_raw_mode(found.st_mode)
                    }),
                kind => kind,
            };
            level
                .entries
                .push((OsStr::from_bytes(name.to_bytes()).to_owned(), kind));
        }
        Ok(level)
    }

    /// The directory of this name, unless it cannot be opened or lies too deep.
    fn open(&self, name: &OsStr, depth: usize) -> Option<OwnedFd> {
        (depth < MAX_DEPTH)
            .then(|| openat(&self.handle, name, DIRECTORY, Mode::empty()).ok())
            .flatten()
    }
}

fn grant(path: &Path, right: Right) -> Grant {
    Grant {
        path: Raw::from(path.to_path_buf()),
        right,
    }
}

fn unreadable_root(error: Errno) -> RunError {
    RunError::Io {
        step: Step::Grants,
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

    fn secret(path: &Path) -> bool {
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

    fn ground<'a>(root: &'a Path, writable: &'a [PathBuf]) -> Ground<'a> {
        Ground {
            root,
            writable,
            readable: &[],
            never: &[],
            scratch: Path::new("/scratch"),
            unreadable: &secret,
            most: 20,
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
        /// The oracle asks for each file whether it or a directory above it is withheld.
        #[test]
        fn exactly_what_is_not_withheld_is_covered(
            files in proptest::collection::vec("[abs](/[abs]){0,4}", 0..20),
        ) {
            let root = tempfile::tempdir().unwrap();
            make(root.path(), &files);
            let grants = ground(root.path(), &[]).of_root().unwrap();
            let reads: Vec<PathBuf> = grants
                .iter()
                .filter(|grant| grant.right == Right::Read)
                .map(|grant| PathBuf::from(&grant.path.0))
                .collect();
            let mut all = Vec::new();
            every_file(root.path(), Path::new(""), &mut all);
            for file in all {
                let withheld = file.ancestors().any(secret);
                let covered = reads.iter().any(|read| read == Path::new(".") || file.starts_with(read));
                prop_assert_eq!(covered, !withheld, "{}", file.display());
            }
        }
    }

    #[test]
    fn directories_are_granted_whole_where_nothing_is_withheld() {
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
        let writable = [PathBuf::from("w")];
        let grants = ground(root.path(), &writable).of_root().unwrap();
        let expected = ["List .", "Read a", "Read d/e", "Read f"];
        assert_eq!(lines(&grants), expected.map(String::from).into());

        fs::remove_file(root.path().join("d/s")).unwrap();
        let grants = ground(root.path(), &writable).of_root().unwrap();
        assert_eq!(lines(&grants), ["Read .".to_owned()].into());
    }

    #[test]
    fn a_toolchain_is_granted_around_our_own_directories_and_the_root() {
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
        let (root, own) = (base.join("home/work"), base.join("home/own"));
        let readable = [
            base.clone(),
            base.join("missing"),
            own.join("key"),
            root.join("s"),
        ];
        let mut all = Vec::new();
        let ground = Ground {
            readable: &readable,
            never: &[own],
            ..ground(&root, &[])
        };
        for path in ground.readable {
            ground.around(path, &mut all).unwrap();
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
    fn what_lies_too_deep_is_not_granted() {
        let root = tempfile::tempdir().unwrap();
        let deep = "d/".repeat(MAX_DEPTH + 5);
        make(root.path(), &[format!("{deep}x")]);
        let grants = ground(root.path(), &[]).of_root().unwrap();
        assert_eq!(lines(&grants), ["List .".to_owned()].into());
    }

    #[test]
    fn too_many_grants_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let files: Vec<String> = (0..21).map(|n| format!("f{n}")).collect();
        make(root.path(), &files);
        assert_eq!(ground(root.path(), &[]).of_root().unwrap().len(), 1);
        make(root.path(), &["s".into()]);
        assert!(matches!(
            ground(root.path(), &[]).of_root(),
            Err(RunError::TooManyGrants)
        ));
    }
}
