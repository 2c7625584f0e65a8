//! A unified diff of one file, applied strictly: the text of a hunk has to be there byte for byte.
//!
//! Accepted, because the meaning is clear: wrong counts and wrong line numbers in a hunk's
//! header, one Markdown fence around the whole, an empty line for an empty line of context, line ends
//! that differ as a whole, and a last line whose missing line break is not mentioned. What leaves a
//! doubt is refused: a hunk without any old line in a file that has some, and text that fits in several
//! places but not in the one that was named.

mod apply;
mod names;
mod parse;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use super::MAX_RESULT;
use super::nearest::{LineList, NearbyLine};
use std::fmt;

/// The maximum number of hunks in a patch; each may have to search the whole text.
pub const MAX_HUNKS: usize = 1000;

/// A patch that was refused; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchError {
    /// It is not a unified diff of this one file.
    Invalid {
        /// The line of the patch, from 1.
        line: usize,
        reason: InvalidPatch,
    },
    /// It is a unified diff, but of another text than the file has.
    DoesNotApply {
        /// The index of the hunk, from 0.
        hunk: usize,
        reason: PatchMismatch,
        /// The lines of the file that are most similar to the hunk's, or those at which the hunk
        /// fits.
        nearest: Vec<NearbyLine>,
    },
}

/// The reason why a text is not a unified diff of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidPatch {
    /// It is empty.
    Empty,
    /// A line before the first hunk that is not part of a diff: prose, or another format.
    NotADiff,
    /// A Markdown fence is opened and not closed at the end.
    OpenFence,
    /// Hunks without the two lines that name the file.
    NoFileNames,
    /// The file is named and no hunk follows.
    NoHunks,
    /// A line that begins with `@@` and has no line numbers.
    HunkHeader,
    /// A hunk without lines.
    EmptyHunk,
    /// A line of a hunk that begins with none of space, `+`, `-` and `\`.
    HunkLine,
    /// A line that has no line break at the end of the file, with others after it.
    NoNewlineInside,
    /// It is about more than one file.
    SeveralFiles,
    /// It names another file than the one that is written.
    OtherFile {
        /// The name in the patch.
        named: String,
    },
    /// It deletes the file; another tool does that.
    Deletes,
    /// It renames or copies a file.
    Renames,
    /// It changes the mode of a file, or makes one that is not a plain file.
    ChangesMode,
    /// It is a binary patch.
    Binary,
    /// It is a diff of a merge, with more than two sides.
    Combined,
    /// It neither adds nor removes anything.
    ChangesNothing,
    /// It has more than [`MAX_HUNKS`] hunks.
    TooManyHunks,
}

/// The reason why a diff does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchMismatch {
    /// The old lines of the hunk are not in the file.
    NotFound,
    /// They are not at the named line, and occur more than once elsewhere.
    NotUnique,
    /// The hunk has no old lines, so its position is unknown.
    NoContext,
    /// It changes lines that another hunk changes too.
    Overlaps,
    /// Its last line claims to end the file, and does not.
    NotAtEnd,
    /// It creates a file that exists already.
    FileExists,
    /// It changes a file that does not exist.
    NoFile,
    /// The text would have more than [`MAX_RESULT`] bytes.
    TooLarge,
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { line, reason } => write!(f, "line {line} of the patch: {reason}"),
            Self::DoesNotApply {
                hunk,
                reason,
                nearest,
            } => {
                let what = match reason {
                    PatchMismatch::NotUnique => "its lines begin at",
                    _ => "nearest lines:",
                };
                write!(f, "hunk {hunk}: {reason}{}", LineList(what, nearest))
            }
        }
    }
}

impl std::error::Error for PatchError {}

impl fmt::Display for InvalidPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "there is nothing in it",
            Self::NotADiff => {
                "this is no line of a unified diff; begin with `--- a/PATH` and `+++ b/PATH`, without other text"
            }
            Self::OpenFence => "this fence is not closed; leave the fences out",
            Self::NoFileNames => "`--- a/PATH` and `+++ b/PATH` have to come before the first hunk",
            Self::NoHunks => "no hunk follows; a hunk begins with `@@ -LINE,COUNT +LINE,COUNT @@`",
            Self::HunkHeader => "a hunk begins with `@@ -LINE,COUNT +LINE,COUNT @@`, with numbers",
            Self::EmptyHunk => "this hunk has no lines",
            Self::HunkLine => {
                "a line of a hunk begins with a space, `+` or `-`; this one begins with none of them"
            }
            Self::NoNewlineInside => "a line without a line break has to be the last of its file",
            Self::SeveralFiles => "it is about a second file; send one patch for each",
            Self::OtherFile { named } => {
                return write!(f, "it names the file `{named}`, which is not the one to be written");
            }
            Self::Deletes => "it deletes the file; use delete_file",
            Self::Renames => "it renames or copies a file; write the new file and delete the old one",
            Self::ChangesMode => "it sets the mode of a file; only text can be changed",
            Self::Binary => "it is a binary patch; send the content instead",
            Self::Combined => "it is the diff of a merge; send a diff between two versions",
            Self::ChangesNothing => "it adds and takes away nothing",
            Self::TooManyHunks => return write!(f, "it has more than {MAX_HUNKS} hunks"),
        })
    }
}

impl fmt::Display for PatchMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "its old lines are not in the file; read the file again",
            Self::NotUnique => {
                "its old lines are not at the line it names, and in several other places; give the right line or more context"
            }
            Self::NoContext => "it has no old lines that say where it belongs; give some context",
            Self::Overlaps => "it changes lines that another hunk changes too; make one of them",
            Self::NotAtEnd => "it says that its last line ends the file, and lines follow there",
            Self::FileExists => "it makes a new file, but there is one already",
            Self::NoFile => "it changes a file that is not there",
            Self::TooLarge => return write!(f, "the file would have more than {MAX_RESULT} bytes"),
        })
    }
}

/// Returns the text of the file at `path` after a patch. `old` is `None` if the file does not exist.
pub fn apply_patch(old: Option<&str>, patch: &str, path: &str) -> Result<String, PatchError> {
    let diff = parse::parse(patch, path)?;
    apply::apply(old, diff)
}
