//! Fingerprints of protected paths, which reveal changes by a command.

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The maximum number of files and directories in a fingerprint.
pub const MAX_FINGERPRINT_ENTRIES: usize = 100_000;
/// The maximum number of bytes that are read.
pub const MAX_FINGERPRINT_BYTES: u64 = 4 << 30;

/// Every path below the given ones, with its kind, mode, owner and contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    paths: BTreeMap<PathBuf, Look>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Look {
    mode: u32,
    owner: (u32, u32),
    contents: [u8; 32],
}

/// The reason why there is not a fingerprint.
#[derive(Debug)]
pub enum FingerprintError {
    /// There are more files, or more bytes in them, than the maximum.
    TooLarge,
    /// A path could not be read.
    Io { path: PathBuf, source: io::Error },
}

impl fmt::Display for FingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FingerprintError::TooLarge => {
                f.write_str("the protected paths are too large to be compared")
            }
            FingerprintError::Io { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for FingerprintError {}

impl Fingerprint {
    /// Takes the fingerprint of these paths and everything below them, without following links. A
    /// missing path is recorded as missing.
    pub fn take(paths: &[PathBuf]) -> Result<Fingerprint, FingerprintError> {
        let mut taken = BTreeMap::new();
        let mut bytes = MAX_FINGERPRINT_BYTES;
        let mut todo: Vec<PathBuf> = paths.to_vec();
        while let Some(path) = todo.pop() {
            let at = |source: io::Error| FingerprintError::Io {
                path: path.clone(),
                source,
            };
            let found = match statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT | Errno::NOTDIR) => continue,
                found => found.map_err(|error| at(error.into()))?,
            };
            if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
                todo.extend(entries(&path).map_err(at)?);
            }
            let contents = contents(&path, &found, &mut bytes).map_err(at)?;
            let look = Look {
                mode: found.st_mode,
                owner: (found.st_uid, found.st_gid),
                contents: contents.ok_or(FingerprintError::TooLarge)?,
            };
            taken.insert(path, look);
            if taken.len() + todo.len() > MAX_FINGERPRINT_ENTRIES {
                return Err(FingerprintError::TooLarge);
            }
        }
        Ok(Fingerprint { paths: taken })
    }

    /// Returns the paths in both whose mode or owner differs, in order: a sandbox does not preserve
    /// these.
    pub fn permissions<'a>(&'a self, later: &Fingerprint) -> Vec<&'a Path> {
        let differs = |path: &PathBuf, look: &Look| {
            let later = later.paths.get(path);
            later.is_some_and(|later| (later.mode, later.owner) != (look.mode, look.owner))
        };
        let all = self.paths.iter().filter(|(path, look)| differs(path, look));
        all.map(|(path, _)| path.as_path()).collect()
    }

    /// Puts back the modes of these paths, as far as that is possible.
    pub fn restore_modes(&self, paths: &[PathBuf]) {
        for path in paths {
            if let Some(look) = self.paths.get(path) {
                set_mode(path, look.mode);
            }
        }
    }

    /// Returns the paths that differ between the two, in order.
    pub fn differences<'a>(&'a self, later: &'a Fingerprint) -> Vec<&'a Path> {
        let mut all: Vec<&Path> = self
            .paths
            .iter()
            .filter(|(path, look)| later.paths.get(*path) != Some(look))
            .map(|(path, _)| path.as_path())
            .chain(
                later
                    .paths
                    .keys()
                    .filter(|path| !self.paths.contains_key(*path))
                    .map(PathBuf::as_path),
            )
            .collect();
        all.sort_unstable();
        all
    }
}

/// The modes and owners of some paths, without their contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeList(Vec<(PathBuf, Option<FileMode>)>);

/// The mode and the owner of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileMode {
    mode: u32,
    owner: (u32, u32),
}

impl ModeList {
    /// Notes the modes of these paths. Links are not followed.
    pub fn take(paths: Vec<PathBuf>) -> ModeList {
        let noted = paths.into_iter().map(|path| {
            let mode = mode_of(&path);
            (path, mode)
        });
        ModeList(noted.collect())
    }

    /// Puts back the modes that have changed since. Returns their paths.
    pub fn restore(&self) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for (path, before) in &self.0 {
            let now = mode_of(path);
            if let (Some(before), Some(now)) = (before, now)
                && *before != now
            {
                set_mode(path, before.mode);
                changed.push(path.clone());
            }
        }
        changed
    }
}

fn mode_of(path: &Path) -> Option<FileMode> {
    let found = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileMode {
        mode: found.st_mode,
        owner: (found.st_uid, found.st_gid),
    })
}

/// Sets the mode of a file or directory, but of nothing that a link leads to.
fn set_mode(path: &Path, mode: u32) {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(handle) = openat(CWD, path, flags, Mode::empty()) else {
        return;
    };
    let own = format!("/proc/self/fd/{}", handle.as_raw_fd());
    // If it fails, the difference is reported all the same.
    let _ = std::fs::set_permissions(own, std::fs::Permissions::from_mode(mode & 0o7777));
}

fn entries(path: &Path) -> io::Result<Vec<PathBuf>> {
    let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut all = Vec::new();
    for entry in Dir::read_from(openat(CWD, path, how, Mode::empty())?)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            all.push(path.join(OsStr::from_bytes(name)));
        }
    }
    Ok(all)
}

/// Hashes a file or a link. Returns `None` if too much was read already.
fn contents(path: &Path, found: &Stat, left: &mut u64) -> io::Result<Option<[u8; 32]>> {
    let mut hash = Sha256::new();
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => hash.update(readlinkat(CWD, path, Vec::new())?.as_bytes()),
        FileType::RegularFile => {
            let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let mut file = File::from(openat(CWD, path, how, Mode::empty())?);
            let mut buffer = vec![0; 64 * 1024];
            loop {
                let read = file.read(&mut buffer)?;
                if read == 0 {
                    break;
                }
                let Some(rest) = left.checked_sub(read as u64) else {
                    return Ok(None);
                };
                *left = rest;
                hash.update(&buffer[..read]);
            }
        }
        _ => {}
    }
    Ok(Some(hash.finalize().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::symlink;

    #[test]
    fn changed_modes_are_put_back() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("key");
        fs::write(&file, "secret").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let modes = ModeList::take(vec![file.clone(), root.path().join("missing")]);
        let before = Fingerprint::take(std::slice::from_ref(&file)).unwrap();
        assert!(modes.restore().is_empty());
        let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o7777;
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        assert_eq!(modes.restore(), std::slice::from_ref(&file));
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        before.restore_modes(std::slice::from_ref(&file));
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn every_kind_of_change_is_detected() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("hooks")).unwrap();
        for name in ["hooks/kept", "hooks/edited", "hooks/gone", "log", "mode"] {
            fs::write(at(name), "old").unwrap();
        }
        symlink("log", at("link")).unwrap();
        let paths = ["hooks", "log", "mode", "link", "missing"].map(at);
        let before = Fingerprint::take(&paths).unwrap();
        assert_eq!(before, Fingerprint::take(&paths).unwrap());

        fs::write(at("hooks/edited"), "new").unwrap();
        fs::remove_file(at("hooks/gone")).unwrap();
        fs::write(at("hooks/new"), "").unwrap();
        fs::set_permissions(at("mode"), Permissions::from_mode(0o777)).unwrap();
        fs::remove_file(at("link")).unwrap();
        symlink("mode", at("link")).unwrap();
        fs::write(at("missing"), "").unwrap();
        let after = Fingerprint::take(&paths).unwrap();
        let expected = [
            "hooks/edited",
            "hooks/gone",
            "hooks/new",
            "link",
            "missing",
            "mode",
        ]
        .map(at);
        assert_eq!(
            before.differences(&after),
            expected.iter().map(PathBuf::as_path).collect::<Vec<_>>()
        );
    }
}
