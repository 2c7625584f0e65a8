//! Finds the blocks of source code: definitions at the two outermost levels, and paragraphs in them.
//!
//! There is no parser. A table for each language lists the words that definitions start with, and a lexer finds strings,
//! comments and brackets. A definition begins with the comment and the attributes directly above it, and goes on to the
//! next one.

mod definitions;
mod languages;
mod lexer;

use super::blocks::{Block, BlockKind};
use super::paragraphs::paragraphs;
use definitions::find_definitions;

pub use languages::Language;

/// A definition whose text before its first inner definition is shorter than this begins with that one.
const FEWEST_BYTES: usize = 400;

/// Visits every block in order.
pub(super) fn blocks(content: &str, language: Language, mut visit: impl FnMut(Block)) {
    let definitions = find_definitions(content, language);
    let first = definitions.first().map_or(content.len(), |one| one.start);
    paragraphs(content, 0..first, &mut visit);
    // A short beginning of an outer definition, which its first inner one takes along.
    let mut begun = None;
    let ends = definitions
        .iter()
        .skip(1)
        .map(|next| (next.start, next.level));
    let ends = ends.chain([(content.len(), 0)]);
    for (definition, (end, next_level)) in definitions.iter().zip(ends) {
        let start = begun.take().unwrap_or(definition.start);
        let (level, name) = (definition.level, definition.name.clone());
        visit(Block {
            kind: BlockKind::Definition { level, name },
            range: start..start,
        });
        let text = content.get(start..end).unwrap_or("").trim_end();
        match next_level > level && text.len() < FEWEST_BYTES {
            true => begun = Some(start),
            false => paragraphs(content, start..end, &mut visit),
        }
    }
}

#[cfg(test)]
mod tests;
