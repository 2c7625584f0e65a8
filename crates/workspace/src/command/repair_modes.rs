//! Repairs the modes of what commands wrote: files are no longer setuid or setgid, and their owner can read
//! everything.

use super::hidden_files::{MAX_DEPTH, MAX_ENTRIES};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, openat, openat2,
    renameat_with, statat,
};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const SET_IDS: u32 = 0o6000;

/// Repairs the modes in these paths, relative to the root. Ignored files are repaired too.
pub(crate) fn repair_modes(root: &Path, paths: &[PathBuf]) -> io::Result<()> {
    let root = openat(CWD, root, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let mut left = MAX_ENTRIES;
    for path in paths {
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let Ok(top) = openat2(&root, path, HANDLE, Mode::empty(), how) else {
            continue;
        };
        repair_tree(top, &mut left)?;
    }
    Ok(())
}

/// A directory whose entries are being visited.
struct OpenDirectory {
    handle: OwnedFd,
    /// The entries that need a visit and have had none.
    names: Vec<CString>,
}

fn repair_tree(top: OwnedFd, left: &mut usize) -> io::Result<()> {
    let mut open = Vec::new();
    let mut lifted = 0;
    open.extend(repair(&top, left)?);
    while let Some(directory) = open.last_mut() {
        let Some(name) = directory.names.pop() else {
            open.pop();
            continue;
        };
        let Ok(handle) = openat(&directory.handle, &name, HANDLE, Mode::empty()) else {
            continue;
        };
        let inner = repair(&handle, left)?;
        if open.len() < MAX_DEPTH {
            open.extend(inner);
        } else if inner.is_some() {
            lift(&mut open, &name, &mut lifted)?;
        }
    }
    Ok(())
}

/// Moves a directory that lies too deep up into the top one, where it is visited later. Only a hostile command
/// makes such a directory, and a file there is not one that a plan allows.
fn lift(open: &mut [OpenDirectory], name: &CString, lifted: &mut u64) -> io::Result<()> {
    let (Some(top), Some(deep)) = (open.first(), open.last()) else {
        return Ok(());
    };
    let free = loop {
        *lifted += 1;
        let free = CString::new(format!("{LIFTED}{lifted}"))?;
        let no_replace = RenameFlags::NOREPLACE;
        match renameat_with(&deep.handle, name, &top.handle, &free, no_replace) {
            Err(Errno::EXIST) => {}
            moved => {
                moved?;
                break free;
            }
        }
    };
    if let Some(top) = open.first_mut() {
        top.names.push(free);
    }
    Ok(())
}

/// The beginning of the names of directories that were moved up.
const LIFTED: &str = ".candor-deep-";

const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Repairs one file or directory. Returns a directory, for its entries to be visited.
fn repair(handle: &OwnedFd, left: &mut usize) -> io::Result<Option<OpenDirectory>> {
    let found = rustix::fs::fstat(handle)?;
    let mode = found.st_mode & 0o7777;
    let kind = FileType::from_raw_mode(found.st_mode);
    let wanted = match kind {
        FileType::RegularFile => mode & !SET_IDS | 0o400,
        FileType::Directory => mode | 0o700,
        _ => return Ok(None),
    };
    if wanted != mode {
        // The handle names the file itself, so no link leads elsewhere.
        let own = format!("/proc/self/fd/{}", handle.as_raw_fd());
        std::fs::set_permissions(own, std::fs::Permissions::from_mode(wanted))?;
    }
    match kind {
        FileType::Directory => read(handle, left).map(Some),
        _ => Ok(None),
    }
}

fn read(handle: &OwnedFd, left: &mut usize) -> io::Result<OpenDirectory> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = openat(handle, ".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&handle)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        *left = left
            .checked_sub(1)
            .ok_or_else(|| io::Error::other("the writable paths have too many files"))?;
        let Ok(found) = statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let needs_visit = match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => true,
            FileType::RegularFile => found.st_mode & SET_IDS != 0 || found.st_mode & 0o400 == 0,
            _ => false,
        };
        if needs_visit {
            names.push(name.to_owned());
        }
    }
    Ok(OpenDirectory { handle, names })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::symlink;

    #[test]
    fn directories_that_lie_too_deep_are_moved_up() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path();
        let deep: PathBuf = std::iter::once("w").chain(["d"; 300]).collect();
        fs::create_dir_all(root.join(&deep)).unwrap();
        let file = root.join(&deep).join("file");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o4755)).unwrap();
        repair_modes(root, &[PathBuf::from("w")]).unwrap();
        let mut depth = 0;
        let mut todo = vec![(root.join("w"), 1)];
        while let Some((path, level)) = todo.pop() {
            depth = depth.max(level);
            for entry in fs::read_dir(path).unwrap() {
                let entry = entry.unwrap();
                let metadata = entry.metadata().unwrap();
                match metadata.is_dir() {
                    true => todo.push((entry.path(), level + 1)),
                    false => assert_eq!(metadata.permissions().mode() & 0o7777, 0o755),
                }
            }
        }
        assert!(depth <= MAX_DEPTH + 1, "{depth}");
    }

    #[test]
    fn set_ids_are_cleared_and_links_are_left() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("root");
        fs::create_dir_all(root.join("w/d")).unwrap();
        let outside = base.path().join("outside");
        for (path, mode) in [
            ("w/a", 0o4755),
            ("w/d/b", 0o2711),
            ("w/c", 0o000),
            ("x", 0o4755),
        ] {
            fs::write(root.join(path), "").unwrap();
            fs::set_permissions(root.join(path), Permissions::from_mode(mode)).unwrap();
        }
        fs::write(&outside, "").unwrap();
        fs::set_permissions(&outside, Permissions::from_mode(0o4755)).unwrap();
        symlink(&outside, root.join("w/link")).unwrap();
        repair_modes(&root, &[PathBuf::from("w"), PathBuf::from("missing")]).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&root.join("w/a")), 0o755);
        assert_eq!(mode(&root.join("w/d/b")), 0o711);
        assert_eq!(mode(&root.join("w/c")), 0o400);
        assert_eq!(mode(&root.join("x")), 0o4755);
        assert_eq!(mode(&outside), 0o4755);
    }
}
