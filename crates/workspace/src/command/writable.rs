//! Creates the writable paths of a command, by handle, so that no link leads elsewhere.

use super::run::PathRules;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, statat, unlinkat,
};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

/// The reason why a path cannot be writable.
#[derive(Debug)]
pub enum WritableError {
    /// The path is empty, absolute, or has a component such as `..`.
    Malformed,
    /// The rules forbid it, because it is, contains or lies in a protected path.
    Protected,
    /// The path is a link, or one of its parents is.
    Link,
    /// A file is where a directory is needed, or the path is neither a file nor a directory.
    NotDirectory,
    Io(io::Error),
}

impl fmt::Display for WritableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WritableError::Malformed => f.write_str("it is not a relative path below the root"),
            WritableError::Protected => f.write_str("it is, holds or lies in a protected path"),
            WritableError::Link => f.write_str("it is a link or lies behind one"),
            WritableError::NotDirectory => f.write_str("it is not a directory"),
            WritableError::Io(error) => error.fmt(f),
        }
    }
}

/// The outcome of [`create`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Created {
    /// The path was there.
    Nothing,
    Directory,
    File,
}

/// Checks that a path may be writable, and creates it if it is missing: as a file if its name has an
/// extension, else as a directory.
pub(super) fn create(
    root: &Path,
    path: &Path,
    rules: &PathRules<'_>,
) -> Result<Created, WritableError> {
    check(path, rules)?;
    let mut here = openat(CWD, root, HANDLE, Mode::empty()).map_err(writable_error)?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(WritableError::Malformed);
    };
    for component in parent.components() {
        here = enter(&here, component.as_os_str().as_ref()).map_err(writable_error)?;
    }
    let name = Path::new(name);
    match kind(&here, name).map_err(writable_error)? {
        Some(FileType::Directory | FileType::RegularFile) => Ok(Created::Nothing),
        Some(FileType::Symlink) => Err(WritableError::Link),
        Some(_) => Err(WritableError::NotDirectory),
        None if name.extension().is_some() => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            openat(&here, name, flags, Mode::from_raw_mode(0o644)).map_err(writable_error)?;
            Ok(Created::File)
        }
        None => {
            enter(&here, name).map_err(writable_error)?;
            Ok(Created::Directory)
        }
    }
}

fn kind(above: &OwnedFd, name: &Path) -> Result<Option<FileType>, Errno> {
    match statat(above, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a file that was created for a command, if it is still empty.
pub(super) fn remove_empty(root: &Path, path: &Path) {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    let opened = openat(CWD, root, HANDLE, Mode::empty())
        .and_then(|root| openat2(root, parent, HANDLE, Mode::empty(), how));
    let Ok(parent) = opened else {
        return;
    };
    let is_empty = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
        FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && found.st_size == 0
    });
    if is_empty {
        // A file that stays is found as a change.
        let _ = unlinkat(&parent, name, AtFlags::empty());
    }
}

fn check(path: &Path, rules: &PathRules<'_>) -> Result<(), WritableError> {
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !plain || path.as_os_str().is_empty() {
        return Err(WritableError::Malformed);
    }
    match (rules.can_be_writable)(path) {
        true => Ok(()),
        false => Err(WritableError::Protected),
    }
}

const HANDLE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn enter(above: &OwnedFd, name: &Path) -> Result<OwnedFd, Errno> {
    let open = || {
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(above, name, HANDLE, Mode::empty(), how)
    };
    match open() {
        Err(Errno::NOENT) => {}
        opened => return opened,
    }
    match mkdirat(above, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => open(),
        Err(error) => Err(error),
    }
}

fn writable_error(error: Errno) -> WritableError {
    match error {
        Errno::LOOP => WritableError::Link,
        Errno::NOTDIR => WritableError::NotDirectory,
        error => WritableError::Io(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn outcome(root: &Path, path: &str) -> String {
        let rules = PathRules {
            is_hidden: &|_| false,
            can_be_writable: &|path| !path.starts_with("protected"),
        };
        match create(root, Path::new(path), &rules) {
            Ok(_) => "created".to_owned(),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn file_that_stays_empty_is_removed() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path();
        for path in ["Cargo.lock", "a/b.txt"] {
            assert_eq!(outcome(root, path), "created");
            assert!(root.join(path).is_file());
            remove_empty(root, Path::new(path));
            assert!(!root.join(path).exists());
            assert_eq!(outcome(root, path), "created");
            fs::write(root.join(path), "x").unwrap();
            remove_empty(root, Path::new(path));
            assert!(root.join(path).exists());
        }
        remove_empty(root, Path::new("missing/x.y"));
    }

    #[test]
    fn only_plain_paths_are_created() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::write(root.join("file"), "").unwrap();
        symlink("/tmp", root.join("out")).unwrap();
        symlink("file", root.join("in")).unwrap();
        for path in ["target", "target", "a/b/c", "docs/built", ".github"] {
            assert_eq!(outcome(root, path), "created", "{path}");
            assert!(root.join(path).is_dir());
        }
        for path in ["", ".", "./x", "..", "a/../b", "/tmp"] {
            assert_eq!(outcome(root, path), "Malformed", "{path}");
        }
        for path in ["out", "out/x", "in"] {
            assert_eq!(outcome(root, path), "Link", "{path}");
        }
        assert_eq!(outcome(root, "file"), "created");
        assert_eq!(outcome(root, "file/x"), "NotDirectory");
        assert_eq!(outcome(root, "protected/x"), "Protected");
        assert!(!root.join("protected").exists());
    }
}
