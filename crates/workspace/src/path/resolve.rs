//! Resolves a typed path to one real path beneath the root.
//!
//! Names are looked up one after the other, each in a directory that is held open, and links are
//! read and resolved here: nothing outside the root is ever opened or queried, so that a link to
//! the outside is refused in the same way whether its target exists or not. The resolved path
//! contains no link, and all later operations use it without following any ([`Root::disk`]): a link
//! that is put there in between is then an error, never a way out. There, ELOOP and EXDEV mean
//! [`PathError::Outside`] by a link; [`PathError::of_real`] maps them.

use super::error::{InvalidPath, PathError, SpecialFile};
use super::root::Root;
use super::typed::{MAX_PATH_BYTES, TypedPath};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Links that are followed on the way to one file: as many as Linux follows.
pub const MAX_LINKS: usize = 40;

/// The maximum number of directories that are made for one call.
pub const MAX_MADE_DIRS: usize = 32;

/// The maximum number of lookups if directories are moved meanwhile.
const MAX_LOOKUPS: usize = 16;

/// A path beneath the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The real path relative to the root, without links and `..`; empty for the root itself.
    pub real: PathBuf,
    /// `None` if the file does not exist.
    pub file_stat: Option<FileStat>,
    /// The links that were followed, relative to the root.
    pub links: Vec<PathBuf>,
    /// The directories of the path that do not exist, from the root down.
    pub missing_dirs: Vec<PathBuf>,
}

impl ResolvedPath {
    /// Returns true if a condition holds for the real path or for a link that led to it: a protected name
    /// stays protected if it is a link.
    pub fn any(&self, of: impl Fn(&Path) -> bool) -> bool {
        of(&self.real) || self.links.iter().any(|link| of(link))
    }
}

/// The metadata of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// File or directory.
    pub kind: FileKind,
    /// Bytes in it.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Names that it has: hard links.
    pub names: u64,
}

/// The kinds of files that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// An ordinary file.
    File,
    /// A directory.
    Directory,
}

/// Resolves a path. Links within the root are followed, including a link as the last name; a link
/// to something that does not exist resolves to that path.
pub fn resolve_path(root: &Root, typed: &TypedPath) -> Result<ResolvedPath, PathError> {
    resolve(root, typed, false)
}

/// Resolves the path of a file that may be created together with directories that do not exist.
pub fn resolve_new_path(root: &Root, typed: &TypedPath) -> Result<ResolvedPath, PathError> {
    resolve(root, typed, true)
}

fn resolve(root: &Root, typed: &TypedPath, may_make_dirs: bool) -> Result<ResolvedPath, PathError> {
    for _ in 0..MAX_LOOKUPS {
        match Lookup::new(root, typed, may_make_dirs).end() {
            Err(LookupError::Disturbed) => {}
            Err(LookupError::Refused(error)) => return Err(error),
            Ok(located) => return Ok(located),
        }
    }
    // Directories that are moved this often are an attack.
    Err(PathError::Outside { typed: false })
}

enum LookupError {
    Refused(PathError),
    /// A directory on the way was moved.
    Disturbed,
}

impl<E: Into<PathError>> From<E> for LookupError {
    fn from(error: E) -> LookupError {
        LookupError::Refused(error.into())
    }
}

enum LookupStep {
    Down(OsString),
    Up,
    /// Here must be a directory.
    Here,
}

struct Lookup<'r> {
    root: &'r Root,
    /// Real names from the root to `dir`.
    real: PathBuf,
    /// The directory in which the next name is looked up; `None` is the root.
    dir: Option<OwnedFd>,
    /// The remaining steps, the next one last.
    left: Vec<LookupStep>,
    links: Vec<PathBuf>,
    /// True if missing directories can be made.
    may_make_dirs: bool,
}

impl<'r> Lookup<'r> {
    fn new(root: &'r Root, typed: &TypedPath, may_make_dirs: bool) -> Lookup<'r> {
        let mut walk = Lookup {
            root,
            may_make_dirs,
            real: PathBuf::new(),
            dir: None,
            left: Vec::new(),
            links: Vec::new(),
        };
        walk.go_on(typed.path(), typed.is_directory());
        walk
    }

    fn go_on(&mut self, path: &Path, directory: bool) {
        if directory {
            self.left.push(LookupStep::Here);
        }
        for part in path.components().rev() {
            match part {
                Component::Normal(name) => self.left.push(LookupStep::Down(name.to_os_string())),
                Component::ParentDir => self.left.push(LookupStep::Up),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
    }

    fn end(mut self) -> Result<ResolvedPath, LookupError> {
        while let Some(step) = self.left.pop() {
            let name = match step {
                LookupStep::Here => continue,
                LookupStep::Up => {
                    self.up()?;
                    continue;
                }
                LookupStep::Down(name) => name,
            };
            let at = self.real.join(&name);
            if at.as_os_str().len() > MAX_PATH_BYTES {
                return Err(PathError::Invalid(InvalidPath::PathTooLong).into());
            }
            let handle = match self.open(&name) {
                Err(Errno::NOENT) if self.left.is_empty() => return Ok(self.located(at, None)),
                Err(Errno::NOENT) => return self.below_missing(at),
                other => other?,
            };
            let stat = rustix::fs::fstat(&handle)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => self.follow(at, &handle)?,
                FileType::Directory => {
                    self.real = at;
                    self.dir = Some(handle);
                }
                _ if !self.left.is_empty() => {
                    return Err(PathError::ParentIsFile { parent: at }.into());
                }
                FileType::RegularFile => return Ok(self.located(at, Some(file_stat(&stat)))),
                other => return Err(PathError::NotOrdinary(special(other)).into()),
            }
        }
        let stat = match &self.dir {
            Some(dir) => rustix::fs::fstat(dir)?,
            None => rustix::fs::fstat(self.root)?,
        };
        let real = std::mem::take(&mut self.real);
        Ok(self.located(real, Some(file_stat(&stat))))
    }

    /// Returns the path of a file below a directory that does not exist.
    fn below_missing(mut self, dir: PathBuf) -> Result<ResolvedPath, LookupError> {
        let missing = PathError::ParentMissing {
            parent: dir.clone(),
        };
        if !self.may_make_dirs || self.left.len() > MAX_MADE_DIRS {
            return Err(missing.into());
        }
        let mut missing_dirs = vec![dir.clone()];
        let mut real = dir;
        while let Some(step) = self.left.pop() {
            let LookupStep::Down(name) = step else {
                return Err(missing.into());
            };
            real.push(name);
            if !self.left.is_empty() {
                missing_dirs.push(real.clone());
            }
        }
        if real.as_os_str().len() > MAX_PATH_BYTES {
            return Err(PathError::Invalid(InvalidPath::PathTooLong).into());
        }
        let located = self.located(real, None);
        Ok(ResolvedPath {
            missing_dirs,
            ..located
        })
    }

    fn located(self, real: PathBuf, file_stat: Option<FileStat>) -> ResolvedPath {
        ResolvedPath {
            real,
            file_stat,
            links: self.links,
            missing_dirs: Vec::new(),
        }
    }

    /// Returns a handle of a directory entry, of the link itself if it is one, without opening the file.
    fn open(&self, name: &OsStr) -> rustix::io::Result<OwnedFd> {
        let dir = match &self.dir {
            Some(dir) => dir.as_fd(),
            None => self.root.as_fd(),
        };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(dir, name, flags, Mode::empty())
    }

    /// Goes to the directory above, by its real path, because a directory that is moved meanwhile
    /// has another one above it.
    fn up(&mut self) -> Result<(), LookupError> {
        if !self.real.pop() {
            return Err(PathError::Outside { typed: false }.into());
        }
        self.dir = match self.root.open_dir(&self.real, OFlags::PATH) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::AGAIN) => {
                return Err(LookupError::Disturbed);
            }
            other => Some(other?),
        };
        Ok(())
    }

    fn follow(&mut self, at: PathBuf, link: &OwnedFd) -> Result<(), LookupError> {
        if self.links.len() == MAX_LINKS {
            return Err(PathError::Loop.into());
        }
        self.links.push(at);
        let target = rustix::fs::readlinkat(link, "", Vec::new())?.into_bytes();
        let directory = target.ends_with(b"/") || target.ends_with(b"/.");
        let target = PathBuf::from(OsString::from_vec(target));
        if target.is_absolute() {
            let outside = PathError::Outside { typed: false };
            let rest = self.root.strip(&target).ok_or(outside)?;
            self.real.clear();
            self.dir = None;
            self.go_on(rest, directory);
        } else {
            self.go_on(&target, directory);
        }
        Ok(())
    }
}

#[allow(
    clippy::useless_conversion,
    reason = "the width of st_nlink differs between machines"
)]
fn file_stat(stat: &Stat) -> FileStat {
    FileStat {
        kind: match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => FileKind::Directory,
            _ => FileKind::File,
        },
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mode: stat.st_mode & 0o7777,
        names: u64::from(stat.st_nlink),
    }
}

fn special(kind: FileType) -> SpecialFile {
    match kind {
        FileType::Fifo => SpecialFile::Fifo,
        FileType::Socket => SpecialFile::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => SpecialFile::Device,
        _ => SpecialFile::Other,
    }
}

#[cfg(test)]
mod tests;
