//! Reads a file, the names in a directory, or the lines that match. Everything is bounded, and the
//! answer reports what a bound left out.

mod file_filter;
mod ignore_files;
mod list_files;
mod read_file;
mod search_files;
mod tree_walk;

use crate::path::{FileKind, PathError, ResolvedPath, Root, TypedPath, resolve_path, shown};
use crate::protected::DenyRead;
use candor_disk::{Disk, Open, RealFile};
pub use file_filter::MAX_FILTER_GLOB_BYTES;
pub use ignore_files::MAX_GITIGNORE_BYTES;
pub(crate) use ignore_files::parse_rules;
pub use list_files::{
    EntryKind, LIST_DEPTH, ListAnswer, ListEntry, ListRequest, MAX_LISTED, MAX_LISTED_BYTES,
};
pub use read_file::{
    ContentEncoding, MAX_CONTENT_BYTES, MAX_SCAN_BYTES, MAX_WHOLE_BYTES, ReadAnswer, ReadRequest,
};
use rustix::io::Errno;
pub use search_files::{
    LineMatch, MATCH_CHARS, MAX_MATCHES, MAX_PATTERN_CHARS, MAX_SEARCHED_BYTES, MAX_SEARCHED_FILE,
    MAX_SEARCHED_FILES, MAX_SEARCHED_LINE, SearchAnswer, SearchRequest, SkippedFiles,
};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
pub use tree_walk::{MAX_WALK_DEPTH, MAX_WALK_NAMES, Truncation};

/// The maximum number of tries to open a file that is moved meanwhile.
const TRIES: usize = 16;

/// Reads, lists and searches files in a workspace.
#[derive(Clone, Copy)]
pub struct WorkspaceReader<'a> {
    /// The workspace.
    pub root: &'a Root,
    pub deny: &'a DenyRead,
    /// Returns true if the call must stop: its time is over, or its caller is gone. It is called
    /// often.
    pub stop: &'a dyn Fn() -> bool,
}

/// The reason why something cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// The path does not resolve to a path in the workspace.
    Path(PathError),
    /// The file is one of those that are not to be read.
    Denied {
        /// The file.
        path: PathBuf,
    },
    /// The file does not exist.
    NotFound { path: PathBuf },
    /// The path is a directory, and the request is for a file.
    IsDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The path is a file, and the request is for a directory.
    NotADirectory {
        /// The file.
        path: PathBuf,
    },
    /// The file is longer than the maximum for one read, or for the search of a line.
    TooLarge {
        /// Bytes of the file.
        size: u64,
        /// Bytes that are permitted.
        limit: u64,
    },
    /// The content is not UTF-8.
    NotText {
        /// The offset of the first wrong byte.
        at: u64,
    },
    /// The glob cannot be used; why not.
    Glob(String),
    /// The pattern cannot be used; why not.
    Pattern(String),
    /// The call was stopped before there was anything to return.
    Stopped,
    /// The operating system failed.
    Io(io::Error),
}

impl WorkspaceReader<'_> {
    /// Finds a path that may be read.
    fn find(&self, typed: &TypedPath) -> Result<ResolvedPath, ReadError> {
        let located = resolve_path(self.root, typed)?;
        match located.any(|path| self.deny.denies(path)) {
            true => Err(ReadError::Denied { path: located.real }),
            false => Ok(located),
        }
    }

    /// Finds and opens a file that may be read. Returns it with its real path.
    fn open(&self, typed: &TypedPath) -> Result<(RealFile, PathBuf), ReadError> {
        let disk = self.root.disk();
        let mut last = PathError::Outside { typed: false };
        for _ in 0..TRIES {
            let ResolvedPath {
                real, file_stat, ..
            } = self.find(typed)?;
            match file_stat.map(|stat| stat.kind) {
                None => return Err(ReadError::NotFound { path: real }),
                Some(FileKind::Directory) => return Err(ReadError::IsDirectory { path: real }),
                Some(FileKind::File) => {}
            }
            match disk.open(&real, Open::Read) {
                Ok(file) => return Ok((file, real)),
                Err(error) if was_moved(&error) => last = PathError::of_real(error),
                Err(error) => return Err(PathError::of_real(error).into()),
            }
        }
        Err(last.into())
    }
}

/// Returns true if an error means that a file has moved since it was found.
fn was_moved(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::LOOP
                | Errno::XDEV
                | Errno::NOENT
                | Errno::NOTDIR
                | Errno::ISDIR
                | Errno::INVAL
                | Errno::AGAIN
        )
    )
}

/// Returns the path as an answer contains it, and whether its bytes are exactly that.
fn display_path(path: &Path) -> (String, bool) {
    match path.to_str() {
        Some(text) => (text.to_owned(), true),
        None => (path.to_string_lossy().into_owned(), false),
    }
}

impl From<PathError> for ReadError {
    fn from(error: PathError) -> ReadError {
        match error {
            PathError::Io(error) => ReadError::Io(error),
            error => ReadError::Path(error),
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        PathError::of_real(error).into()
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Path(error) => error.fmt(out),
            ReadError::Denied { path } => write!(
                out,
                "{} is not to be read here; a person can permit it in .candor/deny_read",
                shown(path)
            ),
            ReadError::NotFound { path } => write!(out, "{} does not exist", shown(path)),
            ReadError::IsDirectory { path } => write!(
                out,
                "{} is a directory; list_files shows what is in it",
                shown(path)
            ),
            ReadError::NotADirectory { path } => {
                write!(out, "{} is a file, not a directory", shown(path))
            }
            ReadError::TooLarge { size, limit } => write!(
                out,
                "the file has {size} bytes and {limit} can be read; ask for fewer lines, or earlier ones, with offset and limit"
            ),
            ReadError::NotText { at } => write!(
                out,
                "the file is not UTF-8 at byte {at}; ask for it with encoding base64"
            ),
            ReadError::Glob(why) => write!(out, "the glob cannot be used: {why}"),
            ReadError::Pattern(why) => write!(out, "the pattern cannot be used: {why}"),
            ReadError::Stopped => out.write_str("stopped before anything was read"),
            ReadError::Io(error) => write!(out, "cannot be read: {error}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Path(error) => Some(error),
            ReadError::Io(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod fixture;
