//! Creates the writable directories of a command, by handle, so that no link leads elsewhere.

use super::run::PathRules;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

/// The reason why a directory cannot be writable.
#[derive(Debug)]
pub enum WritableError {
    /// The path is empty, absolute, or has a component such as `..`.
    Malformed,
    /// The rules forbid it, because it is, contains or lies in a protected path.
    Protected,
    /// The path is a link, or one of its parents is.
    Link,
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

/// Checks that a directory may be writable, and creates it if it is missing.
pub(super) fn create(root: &Path, path: &Path, rules: &PathRules<'_>) -> Result<(), WritableError> {
    check(path, rules)?;
    let mut here = openat(CWD, root, HANDLE, Mode::empty()).map_err(writable_error)?;
    for component in path.components() {
        here = enter(&here, component.as_os_str().as_ref()).map_err(writable_error)?;
    }
    Ok(())
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
            Ok(()) => "created".to_owned(),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn only_plain_directories_are_created() {
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
        assert_eq!(outcome(root, "file"), "NotDirectory");
        assert_eq!(outcome(root, "file/x"), "NotDirectory");
        assert_eq!(outcome(root, "protected/x"), "Protected");
        assert!(!root.join("protected").exists());
    }
}
