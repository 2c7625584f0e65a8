//! The directories that a plan lets its commands change: checked against what is protected, and made
//! where they are missing, by handle, so that no link leads elsewhere.

use super::order::Fence;
use super::outcome::WritableFault;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

/// Refuses what cannot be writable, and makes what is missing.
pub(super) fn make(root: &Path, path: &Path, fence: &Fence<'_>) -> Result<(), WritableFault> {
    check(path, fence)?;
    let mut here = openat(CWD, root, HANDLE, Mode::empty()).map_err(fault)?;
    for component in path.components() {
        here = enter(&here, component.as_os_str().as_ref()).map_err(fault)?;
    }
    Ok(())
}

fn check(path: &Path, fence: &Fence<'_>) -> Result<(), WritableFault> {
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !plain || path.as_os_str().is_empty() {
        return Err(WritableFault::Malformed);
    }
    let inside = path
        .ancestors()
        .filter(|above| !above.as_os_str().is_empty())
        .any(|above| (fence.protected)(above) || (fence.unreadable)(above));
    let around = fence
        .protected_paths
        .iter()
        .any(|protected| protected.starts_with(path) || path.starts_with(protected));
    match inside || around {
        true => Err(WritableFault::Protected),
        false => Ok(()),
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

fn fault(error: Errno) -> WritableFault {
    match error {
        Errno::LOOP => WritableFault::Link,
        Errno::NOTDIR => WritableFault::NotDirectory,
        error => WritableFault::Io(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    fn tried(root: &Path, path: &str) -> String {
        let fixed = [".git", ".candor", "docs/plans", "audit-log.jsonl"].map(PathBuf::from);
        let fence = Fence {
            unreadable: &|path| path.starts_with(".env"),
            protected: &|path| path.to_string_lossy().starts_with("audit-log.jsonl"),
            protected_paths: &fixed,
        };
        match make(root, Path::new(path), &fence) {
            Ok(()) => "made".to_owned(),
            Err(fault) => format!("{fault:?}"),
        }
    }

    #[test]
    fn only_plain_directories_away_from_what_is_protected_are_made() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::write(root.join("file"), "").unwrap();
        symlink("/tmp", root.join("out")).unwrap();
        symlink("file", root.join("in")).unwrap();
        for path in ["target", "target", "a/b/c", "docs/built", ".github"] {
            assert_eq!(tried(root, path), "made", "{path}");
            assert!(root.join(path).is_dir());
        }
        for path in ["", ".", "./x", "..", "a/../b", "/tmp"] {
            assert_eq!(tried(root, path), "Malformed", "{path}");
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
            assert_eq!(tried(root, path), "Protected", "{path}");
        }
        for path in ["out", "out/x", "in"] {
            assert_eq!(tried(root, path), "Link", "{path}");
        }
        assert_eq!(tried(root, "file"), "NotDirectory");
        assert_eq!(tried(root, "file/x"), "NotDirectory");
    }
}
