//! Computes new text from old: edits that name the text they replace, and patches of one file.

mod edits;
mod lines;
mod nearest;
mod patch;

pub(crate) use lines::cut;

pub use edits::{Edit, EditError, EditProblem, MAX_EDITS, apply_edits};
pub use nearest::{MAX_NEAR_TEXT, NearbyLine};
pub use patch::{InvalidPatch, MAX_HUNKS, PatchError, PatchMismatch, apply_patch};

/// The maximum size of a text after edits or a patch, in bytes.
pub const MAX_RESULT: usize = 5 * 1024 * 1024;
