//! The blocks of a document, and those of Markdown in one pass: front matter, headings, fenced code and paragraphs.
//!
//! Only syntax that decides where a document may be cut is recognised. Lines end at `\n`; a line of any white space is
//! blank.

use super::front_matter;
use std::ops::Range;

/// A block of the document. Blank lines are between blocks, never at their ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    /// From the start of its first line to the end of its last line without trailing white space.
    pub(super) range: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// Front matter, with its title if it has one.
    FrontMatter { title: Option<String> },
    /// A heading, ATX or setext, with the range of its text.
    Heading { level: u8, text: Range<usize> },
    /// A fenced code block, fences included. Literal blocks and directives of reStructuredText are like it.
    Fence,
    /// The start of a definition in source code. Its text follows as paragraphs.
    Definition { level: u8, name: String },
    /// Anything else up to the next blank line.
    Text,
}

/// Visits every block in order.
pub(super) fn blocks(content: &str, visit: impl FnMut(Block)) {
    let mut scan = BlockScanner {
        content,
        open: OpenBlock::Nothing,
        visit,
    };
    let mut at = scan.front_matter();
    for line in content.get(at..).unwrap_or("").split_inclusive('\n') {
        scan.line(at, line.trim_end());
        at += line.len();
    }
    scan.close();
}

/// The block that the lines so far belong to.
enum OpenBlock {
    Nothing,
    Text(Range<usize>),
    Fence {
        range: Range<usize>,
        mark: FenceMarker,
    },
}

/// The marker of a fence. The closing fence has at least as many of the same character.
#[derive(Clone, Copy)]
struct FenceMarker {
    byte: u8,
    count: usize,
}

struct BlockScanner<'a, V> {
    content: &'a str,
    open: OpenBlock,
    visit: V,
}

impl<V: FnMut(Block)> BlockScanner<'_, V> {
    /// Emits the front matter, if there is one. Returns the offset of the rest.
    fn front_matter(&mut self) -> usize {
        let Some(found) = front_matter::find(self.content) else {
            return 0;
        };
        let end = found.end;
        self.emit(
            BlockKind::FrontMatter { title: found.title },
            0..found.text_end,
        );
        end
    }

    fn line(&mut self, at: usize, line: &str) {
        let end = at + line.len();
        if let OpenBlock::Fence { range, mark } = &mut self.open {
            if !line.is_empty() {
                range.end = end;
            }
            if mark.closes(line) {
                self.close();
            }
        } else if line.is_empty() {
            self.close();
        } else if let Some(mark) = FenceMarker::opening(line) {
            self.close();
            let range = at..end;
            self.open = OpenBlock::Fence { range, mark };
        } else if let Some((level, text)) = atx(line) {
            self.close();
            let text = at + text.start..at + text.end;
            self.emit(BlockKind::Heading { level, text }, at..end);
        } else {
            self.text(at, line);
        }
    }

    /// Adds a line that starts or continues a paragraph, or underlines the one above it.
    fn text(&mut self, at: usize, line: &str) {
        let end = at + line.len();
        match &mut self.open {
            OpenBlock::Text(range) => match underline(line) {
                Some(level) if may_be_heading(self.content, range) => {
                    let (start, text) = (range.start, range.clone());
                    self.open = OpenBlock::Nothing;
                    self.emit(BlockKind::Heading { level, text }, start..end);
                }
                _ => range.end = end,
            },
            _ => self.open = OpenBlock::Text(at..end),
        }
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.open, OpenBlock::Nothing) {
            OpenBlock::Nothing => {}
            OpenBlock::Text(range) => self.emit(BlockKind::Text, range),
            OpenBlock::Fence { range, .. } => self.emit(BlockKind::Fence, range),
        }
    }

    fn emit(&mut self, kind: BlockKind, range: Range<usize>) {
        (self.visit)(Block { kind, range });
    }
}

impl FenceMarker {
    /// Returns the marker of the fence that this line opens. Any indentation is allowed: a fence inside a list is
    /// indented like its item.
    fn opening(line: &str) -> Option<FenceMarker> {
        let line = line.trim_start_matches([' ', '\t']);
        let byte = *line.as_bytes().first()?;
        if byte != b'`' && byte != b'~' {
            return None;
        }
        let count = run(line, byte);
        let info = line.get(count..)?;
        let code_span = byte == b'`' && info.contains('`');
        (count >= 3 && !code_span).then_some(FenceMarker { byte, count })
    }

    fn closes(self, line: &str) -> bool {
        let line = line.trim_start_matches([' ', '\t']);
        let count = run(line, self.byte);
        count >= self.count && count == line.len()
    }
}

/// Returns the number of times that `byte` is repeated at the start.
fn run(line: &str, byte: u8) -> usize {
    line.bytes().take_while(|found| *found == byte).count()
}

/// Returns the line without its indentation, or `None` if it has more than the three spaces of a heading.
fn outdented(line: &str) -> Option<(usize, &str)> {
    let indent = run(line, b' ');
    (indent <= 3).then(|| (indent, line.get(indent..).unwrap_or("")))
}

/// Returns the level of an ATX heading and the range of its text in the line.
fn atx(line: &str) -> Option<(u8, Range<usize>)> {
    let (indent, line) = outdented(line)?;
    let level = run(line, b'#');
    if !(1..=6).contains(&level) {
        return None;
    }
    let rest = line.get(level..)?;
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return None;
    }
    let unclosed = rest.trim_end_matches('#');
    let words = match unclosed.ends_with([' ', '\t']) || unclosed.is_empty() {
        true => unclosed.trim_end(),
        false => rest,
    };
    let start = indent + level;
    Some((u8::try_from(level).ok()?, start..start + words.len()))
}

/// Returns the level that a setext underline gives to the paragraph above it.
fn underline(line: &str) -> Option<u8> {
    let (_, line) = outdented(line)?;
    let level = match line.as_bytes().first()? {
        b'=' => 1,
        b'-' => 2,
        _ => return None,
    };
    line.bytes()
        .all(|byte| Some(&byte) == line.as_bytes().first())
        .then_some(level)
}

/// Returns true if an underlined paragraph is a heading: not a list, a quotation, a table or a long paragraph.
fn may_be_heading(content: &str, range: &Range<usize>) -> bool {
    const MOST: usize = 400;
    // This runs for every line that could underline a paragraph, so it must not read a long one.
    if range.len() > MOST {
        return false;
    }
    let text = content.get(range.clone()).unwrap_or("").trim_start();
    let first = text.split([' ', '\t']).next().unwrap_or("");
    let bullet = matches!(first, "-" | "*" | "+");
    let number = first.strip_suffix(['.', ')']).unwrap_or("");
    let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    !bullet && !numbered && !text.starts_with(['>', '|'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passages::test_text;

    fn describe_blocks(content: &str) -> Vec<String> {
        test_text::describe_blocks(content, |content, visit| blocks(content, visit))
    }

    #[test]
    fn headings_fences_and_paragraphs_are_recognised() {
        let content = "---\ntitle: T\n---\n\n# One #\nword\nword\n```sh\n# no heading\n\n```\nTwo\n===\n\n#none\n   ### ###\n";
        insta::assert_debug_snapshot!(describe_blocks(content), @r##"
        [
            "front Some(\"T\"): \"---\\ntitle: T\\n---\"",
            "h1 \"One\": \"# One #\"",
            "text: \"word\\nword\"",
            "fence: \"```sh\\n# no heading\\n\\n```\"",
            "h1 \"Two\": \"Two\\n===\"",
            "text: \"#none\"",
            "h3 \"\": \"   ### ###\"",
        ]
        "##);
    }

    #[test]
    fn text_that_resembles_a_heading_is_text() {
        for content in [
            "####### seven",
            "    # indented",
            "- item\n---",
            "1. item\n---",
            "> quoted\n===",
            "| a |\n---",
            "\n---\n",
            "a\n- - -",
            "#hash",
        ] {
            let described = describe_blocks(content);
            assert_eq!(described.len(), 1, "{described:?}");
            assert!(described[0].starts_with("text"), "{described:?}");
        }
    }

    #[test]
    fn fence_closes_at_its_own_character_and_length() {
        assert_eq!(
            describe_blocks("````\n```\n~~~~\n````\nafter"),
            ["fence: \"````\\n```\\n~~~~\\n````\"", "text: \"after\""]
        );
        assert_eq!(
            describe_blocks("~~~\n\n# x\n\n"),
            ["fence: \"~~~\\n\\n# x\""]
        );
        assert_eq!(describe_blocks("```a``` b"), ["text: \"```a``` b\""]);
        assert_eq!(
            describe_blocks("- item\n\n      ```js\n      # x\n      ```"),
            [
                "text: \"- item\"",
                "fence: \"      ```js\\n      # x\\n      ```\""
            ]
        );
    }

    #[test]
    fn carriage_returns_and_unicode_white_space_are_blank() {
        assert_eq!(
            describe_blocks("# A\r\n\r\nb\r\n\u{85}\n\u{2028}c\r\n"),
            ["h1 \"A\": \"# A\"", "text: \"b\"", "text: \"\\u{2028}c\""]
        );
        assert_eq!(describe_blocks("\r\n \u{3000}\n\t\n"), Vec::<String>::new());
        assert_eq!(describe_blocks("\0\n"), ["text: \"\\0\""]);
    }
}
