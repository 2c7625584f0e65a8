//! Finds the files below a root that a command must not read.

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The maximum number of files and directories below the root that are visited for one command.
pub const MAX_ENTRIES: usize = 1_000_000;
/// The maximum depth below the root. Directories that lie deeper are hidden.
pub const MAX_DEPTH: usize = 128;

/// The reason why the files could not be found.
#[derive(Debug)]
pub(super) enum HiddenFilesError {
    TooMany,
    Io(io::Error),
}

/// Returns the hidden paths below the root, relative to it. Directories that cannot be searched are hidden
/// too.
pub(super) fn find(
    root: &Path,
    is_hidden: &dyn Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, HiddenFilesError> {
    let top = openat(CWD, root, DIRECTORY, Mode::empty())
        .map_err(|error| HiddenFilesError::Io(error.into()))?;
    let mut hidden = Vec::new();
    let mut left = MAX_ENTRIES;
    let mut open = Vec::new();
    match OpenDirectory::read(top, PathBuf::new(), &mut left)? {
        Some(directory) => open.push(directory),
        None => return Err(HiddenFilesError::Io(io::ErrorKind::PermissionDenied.into())),
    }
    while let Some(directory) = open.last_mut() {
        let Some((name, kind)) = directory.entries.pop() else {
            open.pop();
            continue;
        };
        let path = directory.path.join(&name);
        if is_hidden(&path) {
            hidden.push(path);
        } else if kind == FileType::Directory {
            let inner = openat(&directory.handle, &name, DIRECTORY, Mode::empty()).ok();
            let inner = match inner.filter(|_| open.len() < MAX_DEPTH) {
                Some(inner) => OpenDirectory::read(inner, path.clone(), &mut left)?,
                None => None,
            };
            match inner {
                Some(inner) => open.push(inner),
                None => hidden.push(path),
            }
        }
    }
    Ok(hidden)
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
}

impl OpenDirectory {
    /// Reads a directory. Returns `None` if it cannot be read to its end.
    fn read(
        handle: OwnedFd,
        path: PathBuf,
        left: &mut usize,
    ) -> Result<Option<OpenDirectory>, HiddenFilesError> {
        let Ok(entries) = Dir::read_from(&handle) else {
            return Ok(None);
        };
        let mut listed = Vec::new();
        for entry in entries {
            let Ok(entry) = entry else {
                return Ok(None);
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            *left = left.checked_sub(1).ok_or(HiddenFilesError::TooMany)?;
            let kind = match entry.file_type() {
                // Some file systems do not list the type.
                FileType::Unknown => statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |found| {
                        FileType::from_raw_mode(found.st_mode)
                    }),
                kind => kind,
            };
            listed.push((OsStr::from_bytes(name.to_bytes()).to_owned(), kind));
        }
        Ok(Some(OpenDirectory {
            path,
            handle,
            entries: listed,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn found(root: &Path) -> BTreeSet<String> {
        let is_secret = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            name.as_bytes().starts_with(b"s")
        };
        let hidden = find(root, &is_secret).unwrap();
        hidden
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }

    fn make(root: &Path, files: &[&str]) {
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
    }

    #[test]
    fn hidden_files_and_directories_are_found() {
        let root = tempfile::tempdir().unwrap();
        make(root.path(), &["a/b/c", "d/s", "d/e", "s1/s2", "w/s", "f"]);
        symlink("/etc", root.path().join("link")).unwrap();
        let expected = ["d/s", "s1", "w/s"].map(String::from);
        assert_eq!(found(root.path()), expected.into());
    }

    #[test]
    fn directories_that_lie_too_deep_are_hidden() {
        let root = tempfile::tempdir().unwrap();
        let deep = "d/".repeat(MAX_DEPTH + 5);
        make(root.path(), &[&format!("{deep}x")]);
        let hidden = found(root.path());
        let deepest = vec!["d"; MAX_DEPTH].join("/");
        assert_eq!(hidden, [deepest].into());
    }
}
