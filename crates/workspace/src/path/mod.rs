//! Resolves typed paths to real paths beneath the root, or refuses them with a reason.

mod error;
mod resolve;
mod root;
mod shown;
mod typed;

pub use error::{InvalidPath, PathError, SpecialFile};
pub use resolve::{
    FileKind, FileStat, MAX_LINKS, MAX_MADE_DIRS, ResolvedPath, resolve_new_path, resolve_path,
};
pub use root::{Root, RootId};
pub(crate) use shown::shown;
pub use typed::{MAX_NAME_BYTES, MAX_PATH_BYTES, TypedPath};
