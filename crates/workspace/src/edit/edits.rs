//! Edits that name the text they replace. Either all of them fit, or nothing changes.

use super::MAX_RESULT;
use super::lines::{LineEnds, around, number};
use super::nearest::{LineList, NearbyLine, nearest};
use memchr::memmem::Finder;
use std::fmt;

/// The maximum number of edits in a call; each may have to search the whole text.
pub const MAX_EDITS: usize = 200;

/// The maximum number of lines that are named if a text occurs more than once.
const MAX_NAMED_LINES: usize = 3;

/// A text and its replacement.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Edit {
    /// The text to replace. It must occur in the file, and only once unless `all` is true.
    pub old: String,
    pub new: String,
    /// True if every occurrence is replaced.
    #[serde(default)]
    pub all: bool,
}

/// An edit that does not fit; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditError {
    /// The index of the edit, from 0.
    pub index: usize,
    pub problem: EditProblem,
    /// The lines most similar to `old`, or those in which `old` occurs; line numbers refer to the
    /// text after the edits before this one.
    pub nearest: Vec<NearbyLine>,
}

/// The reason why an edit does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditProblem {
    /// `old` is empty, so it has no position.
    EmptyOld,
    /// `old` is not in the text.
    NotFound {
        /// True if the only difference is that the text has CRLF and `old` has LF.
        line_ends: bool,
    },
    /// `old` occurs more than once and `all` is not set.
    NotUnique {
        /// The number of occurrences without overlaps; 2 if they overlap.
        count: usize,
    },
    /// The text would have more than [`MAX_RESULT`] bytes.
    TooLarge,
    /// There are more than [`MAX_EDITS`] edits.
    TooMany,
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "edit {}: ", self.index)?;
        match self.problem {
            EditProblem::EmptyOld => {
                f.write_str("`old` is empty; say the text that is to be replaced")
            }
            EditProblem::NotFound { line_ends: false } => {
                write!(
                    f,
                    "`old` is not in the file{}",
                    LineList("nearest lines:", &self.nearest)
                )
            }
            EditProblem::NotFound { line_ends: true } => write!(
                f,
                "`old` is not in the file, whose lines end with CRLF while those of `old` end with LF{}",
                LineList("nearest lines:", &self.nearest)
            ),
            EditProblem::NotUnique { count } => write!(
                f,
                "`old` occurs {count} times; say more of the lines around it, or `all`{}",
                LineList("it is in lines", &self.nearest)
            ),
            EditProblem::TooLarge => {
                write!(f, "the file would have more than {MAX_RESULT} bytes")
            }
            EditProblem::TooMany => write!(f, "there are more than {MAX_EDITS} edits"),
        }
    }
}

impl std::error::Error for EditError {}

/// Applies all edits, one after another, and returns the new text.
pub fn apply_edits(text: &str, edits: &[Edit]) -> Result<String, EditError> {
    let mut text = String::from(text);
    for (index, edit) in edits.iter().enumerate() {
        let refused = |(problem, nearest)| EditError {
            index,
            problem,
            nearest,
        };
        if index == MAX_EDITS {
            return Err(refused((EditProblem::TooMany, Vec::new())));
        }
        text = apply(&text, edit).map_err(refused)?;
    }
    Ok(text)
}

fn apply(text: &str, edit: &Edit) -> Result<String, (EditProblem, Vec<NearbyLine>)> {
    if edit.old.is_empty() {
        return Err((EditProblem::EmptyOld, Vec::new()));
    }
    let finder = Finder::new(&edit.old);
    let Some(first) = finder.find(text.as_bytes()) else {
        let line_ends = edit.old.contains('\n')
            && LineEnds::of(&edit.old) == LineEnds::Lf
            && LineEnds::of(text) == LineEnds::Crlf;
        return Err((
            EditProblem::NotFound { line_ends },
            nearest(text, &edit.old),
        ));
    };
    let count = finder.find_iter(text.as_bytes()).count();
    if !edit.all {
        // The next one may overlap the first.
        let next = finder.find(&text.as_bytes()[first + 1..]);
        if let Some(next) = next.map(|offset| offset + first + 1) {
            let mut offsets: Vec<usize> = finder
                .find_iter(text.as_bytes())
                .take(MAX_NAMED_LINES)
                .collect();
            if count == 1 {
                offsets.push(next);
            }
            let named = offsets
                .iter()
                .map(|&at| NearbyLine::new(number(text, at), around(text, at)));
            return Err((
                EditProblem::NotUnique {
                    count: count.max(2),
                },
                named.collect(),
            ));
        }
    }
    let size =
        (text.len() - count * edit.old.len()).checked_add(count.saturating_mul(edit.new.len()));
    if size.is_none_or(|size| size > MAX_RESULT) {
        return Err((EditProblem::TooLarge, Vec::new()));
    }
    Ok(text.replace(&edit.old, &edit.new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit {
            old: String::from(old),
            new: String::from(new),
            all: false,
        }
    }

    fn all(old: &str, new: &str) -> Edit {
        Edit {
            all: true,
            ..edit(old, new)
        }
    }

    fn error_of(text: &str, edits: &[Edit]) -> String {
        apply_edits(text, edits).unwrap_err().to_string()
    }

    #[test]
    fn edits_are_applied_in_sequence() {
        let edits = [edit("a", "b"), all("b", "cc")];
        assert_eq!(apply_edits("a b\n", &edits).unwrap(), "cc cc\n");
        assert_eq!(apply_edits("same", &[]).unwrap(), "same");
        assert_eq!(
            apply_edits("a\u{301}é", &[edit("é", "")]).unwrap(),
            "a\u{301}"
        );
    }

    #[test]
    fn refusals_name_the_edit_and_the_nearest_lines() {
        assert_eq!(
            error_of("a", &[edit("a", "b"), edit("", "x")]),
            "edit 1: `old` is empty; say the text that is to be replaced"
        );
        assert_eq!(
            error_of("let a = 1;\nlet b = 2;\n", &[edit("let a = 2;", "")]),
            "edit 0: `old` is not in the file; nearest lines: 1: `let a = 1;`, 2: `let b = 2;`"
        );
        assert_eq!(
            error_of("x = 1;\r\ny = 2;\r\n", &[edit("x = 1;\ny = 2;\n", "")]),
            "edit 0: `old` is not in the file, whose lines end with CRLF while those of `old` end with LF; nearest lines: 1: `x = 1;`, 2: `y = 2;`"
        );
        assert_eq!(
            error_of("a x\nb\nc x\n", &[edit("x", "y")]),
            "edit 0: `old` occurs 2 times; say more of the lines around it, or `all`; it is in lines 1: `a x`, 3: `c x`"
        );
        let many = vec![edit("a", "a"); MAX_EDITS + 1];
        assert_eq!(
            error_of("a", &many),
            "edit 200: there are more than 200 edits"
        );
    }

    #[test]
    fn overlapping_occurrences_are_counted() {
        let refused = apply_edits("aaa", &[edit("aa", "b")]).unwrap_err();
        assert_eq!(refused.problem, EditProblem::NotUnique { count: 2 });
        assert_eq!(refused.nearest.len(), 2);
        assert_eq!(apply_edits("aaa", &[all("aa", "b")]).unwrap(), "ba");
    }

    #[test]
    fn oversized_result_is_refused() {
        let text = "a".repeat(MAX_RESULT);
        let refused = apply_edits(&text, &[all("a", &"b".repeat(1 << 20))]).unwrap_err();
        assert_eq!(refused.problem, EditProblem::TooLarge);
        assert!(apply_edits(&text, &[all("a", "b")]).is_ok());
    }

    #[test]
    fn large_texts_are_refused_in_linear_time() {
        for text in [
            "a".repeat(MAX_RESULT),
            "a\n".repeat(MAX_RESULT / 2),
            "\n".repeat(MAX_RESULT),
        ] {
            let expected = format!("{}b", "a\n".repeat(1 << 20));
            assert!(apply_edits(&text, &[edit(&expected, "")]).is_err());
        }
    }

    proptest! {
        #[test]
        fn edit_agrees_with_replace(text in "[ab\n]{0,12}", old in "[ab\n]{0,3}", new in "[abc]{0,3}", every: bool) {
            let count = (0..text.len()).filter(|&at| !old.is_empty() && text[at..].starts_with(&old)).count();
            let expected = match (old.is_empty(), count, every) {
                (true, ..) | (_, 0, _) => None,
                (_, 1, _) | (.., true) => Some(text.replace(&old, &new)),
                _ => None,
            };
            let result = apply_edits(&text, &[Edit { old, new, all: every }]);
            prop_assert_eq!(result.ok(), expected);
        }
    }
}
