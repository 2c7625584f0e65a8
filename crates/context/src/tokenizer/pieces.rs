//! Cuts a text into the pieces that are encoded one by one: words, numbers, punctuation and white space.

use regex::Regex;
use std::ops::ControlFlow;

/// The most bytes of a piece. A longer one is cut, so that the memory of a count is bounded.
pub(super) const MOST_PIECE: usize = 1 << 20;

/// The pattern of `o200k_base` without its second last alternative, `\s+(?!\S)`, which [`Pieces`] applies itself: the
/// regular expressions that take linear time have no look-ahead.
const PATTERN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"|\s*[\r\n]+",
    r"|\s+",
);

/// A compiled pattern.
pub(super) struct Pieces(Regex);

impl Pieces {
    /// Compiles the pattern. Returns `None` if it is wrong, which a test excludes.
    pub(super) fn new() -> Option<Pieces> {
        Regex::new(PATTERN).ok().map(Pieces)
    }

    /// Visits the pieces in order until `visit` breaks. Together they are the whole text.
    pub(super) fn visit<'a>(
        &self,
        text: &'a str,
        mut visit: impl FnMut(&'a str) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut at = 0;
        while let Some(found) = self.0.find_at(text, at) {
            let end = match found.end() < text.len() {
                true => without_last_space(found.as_str()) + found.start(),
                false => found.end(),
            };
            let mut rest = text.get(found.start()..end).unwrap_or("");
            while rest.len() > MOST_PIECE {
                let (piece, more) = rest.split_at(rest.floor_char_boundary(MOST_PIECE));
                visit(piece)?;
                rest = more;
            }
            visit(rest)?;
            at = end;
        }
        ControlFlow::Continue(())
    }
}

/// Returns the length of a piece before a character that is not white space: white space leaves its last character to the
/// piece that follows, unless that ends a line or is all there is.
fn without_last_space(piece: &str) -> usize {
    match piece.chars().next_back() {
        Some('\r' | '\n') | None => piece.len(),
        Some(last) if last.is_whitespace() && last.len_utf8() < piece.len() => {
            piece.len() - last.len_utf8()
        }
        Some(_) => piece.len(),
    }
}
