//! Paths: from what was typed to one real place beneath the root, or to a reason why not.

mod error;
mod resolve;
mod root;
mod shown;
mod typed;

pub use error::{PathError, Reason, Special};
pub use resolve::{Found, Kind, Located, MAX_LINKS, locate};
pub use root::{Root, RootId};
pub(crate) use shown::shown;
pub use typed::{MAX_NAME_BYTES, MAX_PATH_BYTES, Typed};
