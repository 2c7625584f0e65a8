//! Describes masked words and blocks for the tests of this folder.

use super::blocks::{Block, BlockKind};
use std::ops::Range;

/// Returns the content with a `·` for each range that `find` masks.
pub(super) fn show_masked(
    content: &str,
    find: impl FnOnce(&str, &mut dyn FnMut(Range<usize>)),
) -> String {
    let (mut text, mut at) = (String::new(), 0);
    find(content, &mut |range| {
        text.push_str(&content[at..range.start]);
        text.push('·');
        at = range.end;
    });
    text + &content[at..]
}

/// Returns one line for each block that `blocks` finds.
pub(super) fn describe_blocks(
    content: &str,
    blocks: impl FnOnce(&str, &mut dyn FnMut(Block)),
) -> Vec<String> {
    let mut lines = Vec::new();
    blocks(content, &mut |block| {
        let text = &content[block.range];
        lines.push(match block.kind {
            BlockKind::FrontMatter { title } => format!("front {title:?}: {text:?}"),
            BlockKind::Heading { level, text: words } => {
                format!("h{level} {:?}: {text:?}", content[words].trim())
            }
            BlockKind::Fence => format!("fence: {text:?}"),
            _ => format!("text: {text:?}"),
        });
    });
    lines
}
