//! The reasons why a path is refused.

use super::shown::shown;
use super::typed::{MAX_NAME_BYTES, MAX_PATH_BYTES};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// The reason why a path cannot be used.
#[derive(Debug)]
pub enum PathError {
    /// The text cannot be the path of a file on any disk.
    Invalid(InvalidPath),
    /// The path contains `..`.
    Traversal,
    /// The path is not beneath the root.
    Outside {
        /// True if the text itself leaves the root; false if a link leads out.
        typed: bool,
    },
    /// A directory on the way does not exist.
    ParentMissing {
        /// The first that is missing, from the root.
        parent: PathBuf,
    },
    /// A part of the path is not a directory.
    ParentIsFile {
        /// The file in the way, relative to the root.
        parent: PathBuf,
    },
    /// The path is something that is neither a file nor a directory.
    NotOrdinary(SpecialFile),
    /// Links lead to links, without an end.
    Loop,
    /// The operating system does not permit it: EACCES or EPERM.
    Denied(io::Error),
    /// The operating system failed in another way.
    Io(io::Error),
}

/// The reason why a text can be no path of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidPath {
    /// The path is empty.
    Empty,
    /// It contains a NUL.
    Nul,
    /// The path is longer than [`MAX_PATH_BYTES`].
    PathTooLong,
    /// One name is longer than [`MAX_NAME_BYTES`], or than the file system permits.
    NameTooLong,
    /// It is the root itself.
    Root,
    /// It is a file, where a directory is needed.
    NotDirectory,
}

/// A file that is neither regular nor a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialFile {
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A device, by characters or by blocks.
    Device,
    /// Anything else.
    Other,
}

impl PathError {
    /// Converts an error of the operating system about a path that was resolved before and contains no
    /// link: a link found there now, or a way out of the root, was put there in between.
    pub fn of_real(error: io::Error) -> PathError {
        match Errno::from_io_error(&error) {
            Some(Errno::LOOP | Errno::XDEV) => PathError::Outside { typed: false },
            Some(Errno::ACCESS | Errno::PERM) => PathError::Denied(error),
            Some(Errno::NAMETOOLONG) => PathError::Invalid(InvalidPath::NameTooLong),
            _ => PathError::Io(error),
        }
    }
}

impl From<Errno> for PathError {
    fn from(errno: Errno) -> PathError {
        PathError::of_real(errno.into())
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathError::Invalid(reason) => reason.fmt(out),
            PathError::Traversal => out.write_str(
                "the path contains `..`; name the file by its path from the workspace root",
            ),
            PathError::Outside { typed: true } => out.write_str(
                "the path is outside the workspace; name the file by its path from the workspace root",
            ),
            PathError::Outside { typed: false } => {
                out.write_str("a link on the way leads out of the workspace")
            }
            PathError::ParentMissing { parent } => {
                write!(out, "the directory {} does not exist", shown(parent))
            }
            PathError::ParentIsFile { parent } => {
                write!(out, "{} is not a directory", shown(parent))
            }
            PathError::NotOrdinary(special) => write!(
                out,
                "the path names {}, and only ordinary files can be used",
                match special {
                    SpecialFile::Fifo => "a named pipe",
                    SpecialFile::Socket => "a socket",
                    SpecialFile::Device => "a device",
                    SpecialFile::Other => "no file",
                }
            ),
            PathError::Loop => out.write_str("the links on the way lead nowhere: there are too many"),
            PathError::Denied(error) => write!(out, "the operating system does not permit it: {error}"),
            PathError::Io(error) => write!(out, "the path cannot be used: {error}"),
        }
    }
}

impl fmt::Display for InvalidPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidPath::Empty => out.write_str("the path is empty"),
            InvalidPath::Nul => out.write_str("the path contains a NUL character"),
            InvalidPath::PathTooLong => {
                write!(out, "the path is longer than {MAX_PATH_BYTES} bytes")
            }
            InvalidPath::NameTooLong => write!(
                out,
                "a name in the path is longer than {MAX_NAME_BYTES} bytes, or than its file system permits"
            ),
            InvalidPath::NotDirectory => out.write_str("the path is not a directory"),
            InvalidPath::Root => {
                out.write_str("the path is the workspace root itself, not a file in it")
            }
        }
    }
}

impl std::error::Error for PathError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PathError::Denied(error) | PathError::Io(error) => Some(error),
            _ => None,
        }
    }
}
