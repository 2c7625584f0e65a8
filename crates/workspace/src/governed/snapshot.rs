//! The governed files at one moment: their hashes and modes, and the directories that contain them.

use super::ignore_rules::IgnoreRules;
use crate::repository::RepositoryError;
use crate::write::read_hash_with;
use candor_disk::{Disk, DiskFile, FileStamp, FileStatus, Open};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The maximum number of governed files of a call.
pub const MAX_GOVERNED_FILES: usize = 10_000;
/// The maximum size of the governed files of a call, in bytes.
pub const MAX_GOVERNED_BYTES: u64 = 256 << 20;
/// The maximum number of files and directories that are visited.
const MAX_VISITED: usize = 1_000_000;
/// The maximum depth of a governed directory below the root.
const MAX_DEPTH: usize = 256;

/// The number of bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// A governed file or link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum GovernedFile {
    /// A regular file. The hash is SHA-256 in hex.
    File {
        hash: String,
        mode: u32,
        length: u64,
    },
    /// A symbolic link.
    Link { target: String },
}

/// The governed files at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Snapshot {
    pub(crate) files: BTreeMap<String, GovernedFile>,
    /// The stamps of the regular files.
    pub(crate) stamps: BTreeMap<String, FileStamp>,
    pub(crate) dirs: BTreeSet<String>,
    /// Things that are neither file, directory nor link, and names that are not text.
    pub(crate) odd: Vec<PathBuf>,
    /// True if there are more files or bytes than the maximum. Then some hashes are empty.
    pub(crate) is_too_large: bool,
}

impl Snapshot {
    /// Returns the regular files that may have been written since an earlier moment, even if their bytes are
    /// the same: then the bytes may not be durable.
    pub(super) fn touched_since<'s>(
        &'s self,
        earlier: &'s Snapshot,
    ) -> impl Iterator<Item = &'s String> {
        let files = self.files.iter().filter_map(|(path, file)| match file {
            GovernedFile::File { .. } => Some(path),
            GovernedFile::Link { .. } => None,
        });
        files.filter(|path| {
            let now = self.stamps.get(*path);
            now.is_none() || now != earlier.stamps.get(*path)
        })
    }
}

/// The reason why the governed files could not be listed.
#[derive(Debug)]
pub(crate) enum SnapshotError {
    /// There are more files, or more bytes in them, than the maximum.
    TooLarge,
    /// The tracked files are not known.
    Tracked(RepositoryError),
    /// A name is not text, or there is something that is neither file, directory nor link.
    Odd(PathBuf),
    Io {
        path: PathBuf,
        source: io::Error,
    },
    /// The files could not be saved in the state directory.
    NotSaved(io::Error),
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotError::TooLarge => write!(
                out,
                "the writable paths have more than {MAX_GOVERNED_FILES} files or {} MiB that git does not ignore",
                MAX_GOVERNED_BYTES >> 20
            ),
            SnapshotError::Tracked(error) => {
                write!(out, "the files that git tracks cannot be listed: {error}")
            }
            SnapshotError::Odd(path) => write!(
                out,
                "{} is neither a file, a directory nor a link, or its name is not text",
                path.display()
            ),
            SnapshotError::Io { path, source } => write!(out, "{}: {source}", path.display()),
            SnapshotError::NotSaved(source) => write!(
                out,
                "the files that commands may change could not be saved in the state directory: {source}"
            ),
        }
    }
}

impl std::error::Error for SnapshotError {}

/// The kind of a path.
enum Kind<F> {
    Missing,
    File(F),
    Directory,
    Link,
    Other,
}

fn kind_of<D: Disk>(root: &D, path: &Path) -> io::Result<Kind<D::File>> {
    match root.open(path, Open::Read) {
        Ok(file) => Ok(Kind::File(file)),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::NOENT) => Ok(Kind::Missing),
            Some(Errno::ISDIR) => Ok(Kind::Directory),
            Some(Errno::LOOP) => Ok(Kind::Link),
            Some(Errno::INVAL | Errno::NXIO | Errno::NODEV) => Ok(Kind::Other),
            _ => Err(error),
        },
    }
}

/// A walk through the writable paths.
struct Walk<'w, D> {
    root: &'w D,
    rules: &'w mut IgnoreRules,
    /// True before commands run: rules are still to be read, and the bounds are enforced.
    is_first: bool,
    taken: Snapshot,
    bytes: u64,
    visited: usize,
    /// Files are read through it.
    buffer: Vec<u8>,
}

/// Lists the governed files before commands run, and reads the rules that say what git ignores.
pub(crate) fn take_first<D: Disk>(
    root: &D,
    writable: &[String],
    rules: &mut IgnoreRules,
) -> Result<Snapshot, SnapshotError> {
    let taken = walk(root, writable, rules, true)?;
    match taken.odd.first() {
        Some(odd) => Err(SnapshotError::Odd(odd.clone())),
        None if taken.is_too_large => Err(SnapshotError::TooLarge),
        None => Ok(taken),
    }
}

/// Lists the governed files again. The rules stay those from before, whatever the commands wrote. Commands may
/// have written any number of files.
pub(crate) fn take_again<D: Disk>(
    root: &D,
    writable: &[String],
    rules: &mut IgnoreRules,
) -> Result<Snapshot, SnapshotError> {
    walk(root, writable, rules, false)
}

fn walk<D: Disk>(
    root: &D,
    writable: &[String],
    rules: &mut IgnoreRules,
    is_first: bool,
) -> Result<Snapshot, SnapshotError> {
    let mut walk = Walk {
        root,
        rules,
        is_first,
        taken: Snapshot::default(),
        bytes: 0,
        visited: 0,
        buffer: vec![0; CHUNK],
    };
    for path in writable {
        let path = Path::new(path);
        if is_first {
            for above in path.ancestors().skip(1) {
                walk.rules.read(root, above);
            }
        }
        walk.visit(path)?;
    }
    Ok(walk.taken)
}

impl<D: Disk> Walk<'_, D> {
    /// Visits a path and everything below it.
    fn visit(&mut self, top: &Path) -> Result<(), SnapshotError> {
        let mut todo = vec![top.to_path_buf()];
        while let Some(path) = todo.pop() {
            let at = |source: io::Error| SnapshotError::Io {
                path: path.clone(),
                source,
            };
            self.visited += 1;
            let is_over = self.is_first && self.taken.is_too_large;
            if is_over || self.visited > MAX_VISITED {
                return Err(SnapshotError::TooLarge);
            }
            let kind = kind_of(self.root, &path).map_err(at)?;
            let is_directory = matches!(kind, Kind::Directory);
            if matches!(kind, Kind::Missing) || !self.rules.is_governed(&path, is_directory) {
                continue;
            }
            let Some(text) = path.to_str().map(String::from) else {
                self.taken.odd.push(path);
                continue;
            };
            match kind {
                Kind::Missing => {}
                Kind::Directory => {
                    if path.components().count() >= MAX_DEPTH {
                        return Err(SnapshotError::TooLarge);
                    }
                    if self.is_first {
                        self.rules.read(self.root, &path);
                    }
                    let names = match self.root.list(&path) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                        names => names.map_err(at)?,
                    };
                    todo.extend(names.into_iter().rev().map(|name| path.join(name)));
                    self.taken.dirs.insert(text);
                }
                Kind::File(file) => {
                    let FileStatus {
                        length,
                        mode,
                        stamp,
                    } = file.status().map_err(at)?;
                    self.bytes += length;
                    let is_read = self.is_within_bounds(1);
                    let hash = match is_read {
                        true => read_hash_with(&file, &mut self.buffer).map_err(at)?,
                        false => String::new(),
                    };
                    let mode = mode & 0o777;
                    if let Some(stamp) = stamp {
                        self.taken.stamps.insert(text.clone(), stamp);
                    }
                    let file = GovernedFile::File { hash, mode, length };
                    self.taken.files.insert(text, file);
                }
                Kind::Link => {
                    let target = match self.root.read_link(&path) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                        target => target.map_err(at)?,
                    };
                    match target.to_str().map(String::from) {
                        Some(target) => {
                            self.is_within_bounds(1);
                            let link = GovernedFile::Link { target };
                            self.taken.files.insert(text, link);
                        }
                        None => self.taken.odd.push(path),
                    }
                }
                Kind::Other => self.taken.odd.push(path),
            }
        }
        Ok(())
    }

    /// Notes whether this many more files exceed the bounds. Returns false if they do.
    fn is_within_bounds(&mut self, more: usize) -> bool {
        let files = self.taken.files.len() + more;
        self.taken.is_too_large |= files > MAX_GOVERNED_FILES || self.bytes > MAX_GOVERNED_BYTES;
        !self.taken.is_too_large
    }
}
