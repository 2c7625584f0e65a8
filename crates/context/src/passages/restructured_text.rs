//! Finds the blocks of a reStructuredText document: headings by their underlines and overlines, literal blocks and
//! directives, and paragraphs.
//!
//! The first style of heading is the first level, the next new style is the second, and so on.

use super::blocks::{Block, BlockKind};
use std::ops::Range;

/// The deepest level. Further styles share it.
const DEEPEST: usize = 6;

/// An underline of at least this many characters may be shorter than its title.
const SAFE_UNDERLINE: usize = 4;

/// Visits every block in order.
pub(super) fn blocks(content: &str, visit: impl FnMut(Block)) {
    let mut scan = RestructuredScanner {
        content,
        open: OpenBlock::Nothing,
        literal_after: None,
        styles: Vec::new(),
        visit,
    };
    let mut at = 0;
    for line in content.split_inclusive('\n') {
        scan.line(at, line.trim_end());
        at += line.len();
    }
    scan.close();
}

/// The block that the lines so far belong to.
enum OpenBlock {
    Nothing,
    Text {
        range: Range<usize>,
        lines: usize,
        /// The character of its first line, if that line can be an overline.
        overline: Option<u8>,
        /// The range of its last line.
        last: Range<usize>,
        indent: usize,
    },
    /// A literal block or a directive, which goes on while lines have a greater indentation.
    Indented {
        range: Range<usize>,
        indent: usize,
    },
}

struct RestructuredScanner<'a, V> {
    content: &'a str,
    open: OpenBlock,
    /// The indentation of a paragraph that ended in `::`, if nothing has followed it.
    literal_after: Option<usize>,
    /// The styles of headings in the order of their appearance: the character, and true for an overline.
    styles: Vec<(u8, bool)>,
    visit: V,
}

impl<V: FnMut(Block)> RestructuredScanner<'_, V> {
    fn line(&mut self, at: usize, line: &str) {
        let range = at..at + line.len();
        let indent = line.len() - line.trim_start().len();
        if let OpenBlock::Indented {
            range: open,
            indent: outer,
        } = &mut self.open
        {
            if line.is_empty() {
                return;
            }
            if indent > *outer {
                open.end = range.end;
                return;
            }
            self.close();
        }
        if line.is_empty() {
            self.close();
            return;
        }
        if let Some(outer) = self.literal_after.take()
            && indent > outer
        {
            let indent = outer;
            self.open = OpenBlock::Indented { range, indent };
        } else if is_directive(line) {
            self.close();
            self.literal_after = None;
            self.open = OpenBlock::Indented { range, indent };
        } else {
            self.text(range, indent, line);
        }
    }

    /// Adds a line that starts or continues a paragraph, or completes a heading.
    fn text(&mut self, line: Range<usize>, indent: usize, text: &str) {
        let rule = rule(text);
        match &mut self.open {
            OpenBlock::Text {
                range,
                lines,
                overline,
                last,
                ..
            } => {
                let over = match *lines {
                    1 if overline.is_none() => Some(false),
                    2 if overline.is_some() && *overline == rule => Some(true),
                    _ => None,
                };
                if let (Some(over), Some(rule)) = (over, rule) {
                    let title = self.content.get(last.clone()).unwrap_or("");
                    let length = line.len() - indent;
                    let fits = length >= title.trim().chars().count() || length >= SAFE_UNDERLINE;
                    // `::` announces a literal block.
                    if fits && text != "::" && (over || !title.starts_with([' ', '\t'])) {
                        let (text, range) = (last.clone(), range.start..line.end);
                        self.open = OpenBlock::Nothing;
                        let level = self.level((rule, over));
                        self.emit(BlockKind::Heading { level, text }, range);
                        return;
                    }
                }
                range.end = line.end;
                *last = line;
                *lines += 1;
            }
            _ => {
                self.open = OpenBlock::Text {
                    range: line.clone(),
                    lines: 1,
                    overline: rule,
                    last: line,
                    indent,
                };
            }
        }
    }

    fn level(&mut self, style: (u8, bool)) -> u8 {
        let known = self.styles.iter().position(|known| *known == style);
        let index = known.unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        });
        u8::try_from((index + 1).min(DEEPEST)).unwrap_or(u8::MAX)
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.open, OpenBlock::Nothing) {
            OpenBlock::Nothing => {}
            OpenBlock::Text { range, indent, .. } => {
                let text = self.content.get(range.clone()).unwrap_or("");
                self.literal_after = text.ends_with("::").then_some(indent);
                self.emit(BlockKind::Text, range);
            }
            OpenBlock::Indented { range, .. } => self.emit(BlockKind::Fence, range),
        }
    }

    fn emit(&mut self, kind: BlockKind, range: Range<usize>) {
        (self.visit)(Block { kind, range });
    }
}

/// Returns the character of a line that consists of one repeated punctuation character.
fn rule(line: &str) -> Option<u8> {
    let first = *line.as_bytes().first()?;
    let repeated = line.bytes().all(|byte| byte == first);
    (first.is_ascii_punctuation() && repeated).then_some(first)
}

/// Returns true if a line starts a directive: `.. name::`.
fn is_directive(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix(".. ") else {
        return false;
    };
    let rest = rest.trim_start();
    // A substitution names itself first: `.. |name| image::`.
    let rest = match rest.strip_prefix('|') {
        Some(named) => named
            .split_once('|')
            .map_or("", |(_, rest)| rest.trim_start()),
        None => rest,
    };
    let name = rest.split_once("::").map_or("", |(name, _)| name);
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_+:.".contains(&byte);
    !name.is_empty() && name.bytes().all(of_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passages::test_text;

    fn describe_blocks(content: &str) -> Vec<String> {
        test_text::describe_blocks(content, |content, visit| blocks(content, visit))
    }

    #[test]
    fn levels_of_headings_follow_their_first_appearance() {
        let content =
            "=====\n Top\n=====\n\nOne\n---\ntext\n\nDeep\n~~~~\n\nTwo\n---\n\nWide\n====\n";
        insta::assert_debug_snapshot!(describe_blocks(content), @r#"
        [
            "h1 \"Top\": \"=====\\n Top\\n=====\"",
            "h2 \"One\": \"One\\n---\"",
            "text: \"text\"",
            "h3 \"Deep\": \"Deep\\n~~~~\"",
            "h2 \"Two\": \"Two\\n---\"",
            "h4 \"Wide\": \"Wide\\n====\"",
        ]
        "#);
    }

    #[test]
    fn literal_blocks_and_directives_are_like_fenced_code() {
        let content = "Look::\n\n  code\n\n  more\n\nafter\n\n.. code-block:: python\n   :linenos:\n\n   x = 1\n\n   y\n\n\
            .. note:: short\n.. comment\n\nend ::\n\nnot indented\n";
        insta::assert_debug_snapshot!(describe_blocks(content), @r#"
        [
            "text: \"Look::\"",
            "fence: \"  code\\n\\n  more\"",
            "text: \"after\"",
            "fence: \".. code-block:: python\\n   :linenos:\\n\\n   x = 1\\n\\n   y\"",
            "fence: \".. note:: short\"",
            "text: \".. comment\"",
            "text: \"end ::\"",
            "text: \"not indented\"",
        ]
        "#);
    }

    #[test]
    fn text_that_resembles_a_heading_is_text() {
        for content in [
            "A long title\n--",
            "----",
            "two\nlines\n-----",
            "=== ===\na   b\n=== ===",
            "====\nTitle\n----",
            "ab\n::",
            "  indented\n==========",
        ] {
            let described = describe_blocks(content);
            assert!(
                described.iter().all(|block| block.starts_with("text")),
                "{described:?}"
            );
        }
        assert_eq!(
            describe_blocks("a\n\n-----\n\nb"),
            ["text: \"a\"", "text: \"-----\"", "text: \"b\""]
        );
    }
}
