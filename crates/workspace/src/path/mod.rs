//! Paths: from what was typed to one real place beneath the root, or to a reason why not.

mod error;
mod resolve;
mod root;
mod shown;
mod typed;

pub use error::{InvalidPath, PathError, SpecialFile};
pub use resolve::{FileKind, FileStat, MAX_LINKS, ResolvedPath, resolve_path};
pub use root::{Root, RootId};
pub(crate) use shown::shown;
pub use typed::{MAX_NAME_BYTES, MAX_PATH_BYTES, TypedPath};
