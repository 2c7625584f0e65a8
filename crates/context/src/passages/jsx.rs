//! Finds what MDX adds to Markdown and gives no words: `import` and `export` statements, and the names of tags and
//! attributes.
//!
//! Code blocks and code spans are left alone: they show code to the reader.

use super::blocks::{BlockKind, blocks};
use std::ops::Range;

/// Visits the ranges that give no words. They are ordered and disjoint.
pub(super) fn find(content: &str, mut visit: impl FnMut(Range<usize>)) {
    blocks(content, |block| match block.kind {
        BlockKind::Text => {
            let start = statements(content, block.range.clone(), &mut visit);
            Tags::new(content, start..block.range.end).find(&mut visit);
        }
        BlockKind::Heading { .. } => Tags::new(content, block.range).find(&mut visit),
        BlockKind::FrontMatter { .. } | BlockKind::Fence | BlockKind::Definition { .. } => {}
    });
}

/// Visits the `import` and `export` statements at the start of a paragraph. Returns the offset after them.
fn statements(content: &str, range: Range<usize>, visit: &mut impl FnMut(Range<usize>)) -> usize {
    let text = content.get(range.clone()).unwrap_or("");
    let mut end = range.start;
    // The number of open brackets: a statement goes on while there is one.
    let mut open = 0i64;
    for line in text.split_inclusive('\n') {
        if open <= 0 && !begins_statement(line) {
            break;
        }
        open = open.max(0) + brackets(line);
        end += line.len();
    }
    if end > range.start {
        visit(range.start..end);
    }
    end
}

fn begins_statement(line: &str) -> bool {
    let rest = ["import", "export"]
        .iter()
        .find_map(|word| line.strip_prefix(word));
    rest.is_some_and(|rest| rest.starts_with([' ', '\t', '{', '*', '"', '\'']))
}

/// Returns the number of brackets that a line opens, less those that it closes.
fn brackets(line: &str) -> i64 {
    line.bytes()
        .map(|byte| match byte {
            b'{' | b'[' | b'(' => 1,
            b'}' | b']' | b')' => -1,
            _ => 0,
        })
        .sum()
}

/// The search for tags in one block.
struct Tags<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    /// The bytes that may still be read in vain, so that hostile text takes linear time. Without any left, the rest of
    /// the block has no tags.
    fuel: usize,
    /// A bit for each length of a run of backticks that has no second run in the block.
    lone: u64,
}

impl<'a> Tags<'a> {
    fn new(content: &'a str, range: Range<usize>) -> Tags<'a> {
        Tags {
            bytes: content.as_bytes(),
            at: range.start,
            end: range.end,
            fuel: 8 * range.len(),
            lone: 0,
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied().filter(|_| at < self.end)
    }

    fn find(&mut self, visit: &mut impl FnMut(Range<usize>)) {
        let mut names = Vec::new();
        while let Some(byte) = self.byte(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'`' => self.skip_code(),
                b'<' if self.fuel > 0 => {
                    names.clear();
                    let mut reader = TagReader {
                        tags: &*self,
                        at: self.at + 1,
                        names: &mut names,
                    };
                    let closed = reader.tag().is_some();
                    let end = reader.at;
                    match closed {
                        true => {
                            names.drain(..).for_each(&mut *visit);
                            self.at = end;
                        }
                        false => {
                            self.fuel = self.fuel.saturating_sub(end - self.at);
                            self.at += 1;
                        }
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    fn run(&self, from: usize) -> usize {
        let rest = self.bytes.get(from..self.end).unwrap_or(&[]);
        rest.iter().take_while(|byte| **byte == b'`').count()
    }

    /// Skips a code span, or a run of backticks that opens none.
    fn skip_code(&mut self) {
        let length = self.run(self.at);
        self.at += length;
        let bit = u32::try_from(length)
            .ok()
            .and_then(|length| 1u64.checked_shl(length));
        let Some(bit) = bit.filter(|bit| self.lone & bit == 0) else {
            return;
        };
        let mut next = self.at;
        while next < self.end {
            match self.run(next) {
                0 => next += 1,
                found if found == length => {
                    self.at = next + found;
                    return;
                }
                found => next += found,
            }
        }
        self.lone |= bit;
    }
}

/// Reads one tag. Returns `None` as soon as the text cannot be one.
struct TagReader<'t, 'a> {
    tags: &'t Tags<'a>,
    at: usize,
    names: &'t mut Vec<Range<usize>>,
}

impl TagReader<'_, '_> {
    fn tag(&mut self) -> Option<()> {
        if self.peek() == Some(b'/') {
            self.at += 1;
        }
        self.name()?;
        loop {
            let spaced = self.skip_white();
            match self.peek()? {
                b'>' => {
                    self.at += 1;
                    return Some(());
                }
                b'/' => {
                    self.at += 1;
                    self.skip_white();
                    (self.peek()? == b'>').then_some(())?;
                }
                b'{' => self.braces()?,
                _ if spaced => self.attribute()?,
                _ => return None,
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.tags.byte(self.at)
    }

    fn skip_white(&mut self) -> bool {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
        self.at > start
    }

    /// Reads a name, which gives no words.
    fn name(&mut self) -> Option<()> {
        let start = self.at;
        let first = self.peek()?;
        (first.is_ascii_alphabetic() || matches!(first, b'_' | b'$')).then_some(())?;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_$-.:".contains(&byte))
        {
            self.at += 1;
        }
        self.names.push(start..self.at);
        Some(())
    }

    fn attribute(&mut self) -> Option<()> {
        self.name()?;
        let end = self.at;
        self.skip_white();
        if self.peek()? != b'=' {
            // The white space may stand before the next attribute.
            self.at = end;
            return Some(());
        }
        self.at += 1;
        self.skip_white();
        match self.peek()? {
            quote @ (b'"' | b'\'') => self.string(quote),
            b'{' => self.braces(),
            _ => None,
        }
    }

    fn string(&mut self, quote: u8) -> Option<()> {
        self.at += 1;
        while self.peek()? != quote {
            self.at += 1;
        }
        self.at += 1;
        Some(())
    }

    /// Reads an expression in braces, whose words count.
    fn braces(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'{' => depth += 1,
                b'}' if depth == 1 => {
                    self.at += 1;
                    return Some(());
                }
                b'}' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passages::test_text::show_masked;
    use proptest::prelude::*;

    fn shown(content: &str) -> String {
        show_masked(content, |content, visit| find(content, visit))
    }

    #[test]
    fn statements_give_no_words() {
        for (content, expected) in [
            (
                "import A from 'a'\nimport {B} from 'b'\n\ntext",
                "·\n\ntext",
            ),
            ("export const a = {\n  b: [\n  ],\n}\ntext", "·text"),
            ("text\nimport A from 'a'", "text\nimport A from 'a'"),
            ("important text", "important text"),
            ("exports", "exports"),
            (
                "```js\nimport A from 'a'\n```",
                "```js\nimport A from 'a'\n```",
            ),
            ("export default function a() {\n\ntext", "·\n\ntext"),
        ] {
            assert_eq!(shown(content), expected, "{content:?}");
        }
    }

    #[test]
    fn names_of_tags_and_attributes_give_no_words() {
        for (content, expected) in [
            ("<Tabs groupId=\"os\">text</Tabs>", "<· ·=\"os\">text</·>"),
            ("<Tab value={name} hidden />", "<· ·={name} · />"),
            ("<a.B\n  {...props}\n  c='d'>", "<·\n  {...props}\n  ·='d'>"),
            ("<br/>", "<·/>"),
            ("## One <Badge text=\"new\" />", "## One <· ·=\"new\" />"),
            ("a < b and c > d", "a < b and c > d"),
            ("`<Tabs>` and ``<a` b>``", "`<Tabs>` and ``<a` b>``"),
            ("\\<Tabs>", "\\<Tabs>"),
            ("<Tabs\n\n>", "<Tabs\n\n>"),
            ("<https://example.org>", "<https://example.org>"),
            ("<a b={c", "<a b={c"),
            ("```\n<Tabs>\n```", "```\n<Tabs>\n```"),
        ] {
            assert_eq!(shown(content), expected, "{content:?}");
        }
    }

    #[test]
    fn hostile_tags_are_found_in_linear_time() {
        const SIZE: usize = 1 << 20;
        for piece in [
            "<",
            "<a ",
            "<a b={",
            "<a b=\"",
            "`",
            "` ``",
            "<a b='\"<a c=\"'",
            "export {\n",
            "<a b ",
            "<a>",
            "\\",
            "</",
        ] {
            find(&piece.repeat(SIZE / piece.len()), |_| {});
        }
        let runs: String = (1..1400).map(|length| "`".repeat(length) + " ").collect();
        find(&runs, |_| {});
    }

    proptest! {
        #[test]
        fn ranges_are_ordered_and_end_at_characters(content in "([<>/={}\"'` aé\n\\\\]|import |export |<a |```)*") {
            let mut at = 0;
            find(&content, |range| {
                assert!(at <= range.start && range.start <= range.end);
                assert!(content.get(range.clone()).is_some());
                at = range.end;
            });
        }
    }
}
