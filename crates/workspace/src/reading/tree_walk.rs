//! A walk through directories beneath the root, by handle and in the order of names.
//!
//! Each directory is opened in the one above it, without following links: a directory that is
//! replaced by a link meanwhile is not entered. `.git`, and directories that a `.gitignore` names,
//! are left out unless the walk begins in them.

use super::ignore_files::IgnoreFiles;
use super::{ReadError, WorkspaceReader};
use crate::path::{FileKind, PathError, ResolvedPath, TypedPath};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The maximum number of names in one walk.
pub const MAX_WALK_NAMES: usize = 200_000;

/// Directories within directories that a walk goes into.
pub const MAX_WALK_DEPTH: usize = 64;

/// The reason why an answer is not all there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncation {
    /// There were more entries than the maximum of an answer.
    Answer,
    /// There were more names, files or bytes than the maximum of a call, or deeper directories.
    Work,
    /// The call was stopped.
    Time,
}

/// The start of a walk.
pub(super) enum WalkStart {
    /// A directory, by its real path.
    Directory(PathBuf),
    /// A file, by the typed and by the real path.
    File(TypedPath, PathBuf),
}

impl WorkspaceReader<'_> {
    /// Finds the file or directory that a walk begins with. The default is the root.
    pub(super) fn start(&self, path: Option<&str>) -> Result<WalkStart, ReadError> {
        let typed = match path {
            None => TypedPath::root(),
            Some(text) => TypedPath::read_or_root(text, self.root)?,
        };
        let ResolvedPath {
            real, file_stat, ..
        } = self.find(&typed)?;
        match file_stat.map(|stat| stat.kind) {
            None => Err(ReadError::NotFound { path: real }),
            Some(FileKind::Directory) => Ok(WalkStart::Directory(real)),
            Some(FileKind::File) => Ok(WalkStart::File(typed, real)),
        }
    }

    pub(super) fn walk(&self, real: &Path, depth: usize) -> Result<TreeWalk<'_>, ReadError> {
        let dir = self.root.open_dir(real, OFlags::RDONLY).map_err(of_real)?;
        let mut walk = TreeWalk {
            stop: self.stop,
            depth: depth.min(MAX_WALK_DEPTH),
            frames: Vec::new(),
            ignores: IgnoreFiles::default(),
            next: None,
            looked_at: 0,
            unreadable: 0,
            cut: None,
        };
        // The ignore files above the beginning apply too.
        let above: Vec<&Path> = real.ancestors().skip(1).collect();
        for above in above.into_iter().rev() {
            if (self.stop)() {
                break;
            }
            if let Ok(dir) = self.root.open_dir(above, OFlags::PATH) {
                walk.ignores.add(&dir, above);
            }
        }
        walk.enter(dir, real.to_path_buf()).map_err(of_real)?;
        Ok(walk)
    }
}

fn of_real(errno: Errno) -> ReadError {
    PathError::from(errno).into()
}

/// A walk that has begun.
pub(super) struct TreeWalk<'a> {
    stop: &'a dyn Fn() -> bool,
    depth: usize,
    /// The directories that are open, each within the one before.
    frames: Vec<WalkFrame>,
    ignores: IgnoreFiles,
    /// The directory to enter next, in the last frame.
    next: Option<OsString>,
    looked_at: usize,
    /// Directories that could not be entered.
    pub(super) unreadable: u64,
    /// The reason why the walk ended early.
    pub(super) cut: Option<Truncation>,
}

struct WalkFrame {
    dir: OwnedFd,
    path: PathBuf,
    names: std::vec::IntoIter<(OsString, FileType)>,
    /// The number of ignore files that apply above.
    ignores: usize,
}

/// An entry of a walk.
pub(super) struct WalkEntry {
    /// From the root.
    pub(super) path: PathBuf,
    pub(super) kind: FileType,
    /// True if a `.gitignore` names it.
    pub(super) ignored: bool,
}

impl WalkEntry {
    fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }
}

impl TreeWalk<'_> {
    /// Returns the next entry, directories before their entries.
    pub(super) fn next(&mut self) -> Option<WalkEntry> {
        if let Some(name) = self.next.take() {
            self.enter_next(&name);
        }
        loop {
            if (self.stop)() {
                self.cut = Some(Truncation::Time);
                return None;
            }
            let frame = self.frames.last_mut()?;
            let Some((name, kind)) = frame.names.next() else {
                self.ignores.truncate(frame.ignores);
                self.frames.pop();
                continue;
            };
            let path = frame.path.join(&name);
            let is_directory = kind == FileType::Directory;
            let ignored = self.ignores.ignores(&path, is_directory);
            let is_open = is_directory && !ignored && name != ".git";
            if is_open && self.frames.len() < self.depth {
                self.next = Some(name);
            } else if is_open && self.frames.len() == MAX_WALK_DEPTH {
                self.cut = Some(Truncation::Work);
            }
            return Some(WalkEntry {
                path,
                kind,
                ignored,
            });
        }
    }

    fn enter_next(&mut self, name: &OsStr) {
        let Some(frame) = self.frames.last() else {
            return;
        };
        let path = frame.path.join(name);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let entered = rustix::fs::openat(&frame.dir, name, flags, Mode::empty())
            .and_then(|dir| self.enter(dir, path));
        match entered {
            Ok(()) => {}
            // Gone or replaced meanwhile: nothing is there to be read.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(_) => self.unreadable += 1,
        }
    }

    fn enter(&mut self, dir: OwnedFd, path: PathBuf) -> rustix::io::Result<()> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            if self.looked_at == MAX_WALK_NAMES {
                self.cut = Some(Truncation::Work);
                break;
            }
            self.looked_at += 1;
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    match rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                        Err(_) => continue,
                    }
                }
                kind => kind,
            };
            names.push((OsString::from_vec(name.to_bytes().to_vec()), kind));
        }
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        let ignores = self.ignores.len();
        self.ignores.add(&dir, &path);
        self.frames.push(WalkFrame {
            dir,
            path,
            names: names.into_iter(),
            ignores,
        });
        Ok(())
    }

    /// Returns the size of the last file that the walk returned.
    pub(super) fn size(&self, item: &WalkEntry) -> Option<u64> {
        let nofollow = AtFlags::SYMLINK_NOFOLLOW;
        let stat = rustix::fs::statat(self.dir()?, item.name(), nofollow).ok()?;
        u64::try_from(stat.st_size).ok()
    }

    /// Opens the last file that the walk returned, if it still is a file. Returns its size too.
    pub(super) fn open(&self, item: &WalkEntry) -> Option<(File, u64)> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.dir()?, item.name(), flags, Mode::empty()).ok()?;
        let file = File::from(file);
        let metadata = file.metadata().ok()?;
        metadata.is_file().then_some((file, metadata.len()))
    }

    fn dir(&self) -> Option<BorrowedFd<'_>> {
        self.frames.last().map(|frame| frame.dir.as_fd())
    }
}

#[cfg(test)]
mod tests;
