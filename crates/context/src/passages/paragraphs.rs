//! Finds the paragraphs of plain text: lines up to the next blank one.

use super::blocks::{Block, BlockKind};
use std::ops::Range;

/// Visits the paragraphs of a range of the document, which starts at the start of a line.
pub(super) fn paragraphs(content: &str, range: Range<usize>, mut visit: impl FnMut(Block)) {
    let mut open: Option<Range<usize>> = None;
    let mut at = range.start;
    for line in content.get(range).unwrap_or("").split_inclusive('\n') {
        let end = at + line.trim_end().len();
        match &mut open {
            _ if end == at => close(&mut open, &mut visit),
            Some(open) => open.end = end,
            None => open = Some(at..end),
        }
        at += line.len();
    }
    close(&mut open, &mut visit);
}

fn close(open: &mut Option<Range<usize>>, visit: &mut impl FnMut(Block)) {
    if let Some(range) = open.take() {
        let kind = BlockKind::Text;
        visit(Block { kind, range });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_end_at_blank_lines() {
        let content = "skipped\n  a\n# b\r\n \t\r\n\n```\nc\u{3000}\n\n---\n";
        let mut texts = Vec::new();
        paragraphs(content, 8..content.len(), |block| {
            texts.push(&content[block.range])
        });
        assert_eq!(texts, ["  a\n# b", "```\nc", "---"]);
    }
}
