//! Finds the tags of template languages: `{% … %}`, and `{{ … }}` without its quoted strings.
//!
//! Templates are filled in before Markdown is read, so tags are recognised in code too. A tag closes in its own paragraph;
//! a brace behind a backslash opens none.

use std::ops::Range;

/// Visits the ranges of tags that give no words, in order.
pub(super) fn find(content: &str, mut visit: impl FnMut(Range<usize>)) {
    let bytes = content.as_bytes();
    let mut paragraph = Paragraph::default();
    let mut at = 0;
    while let Some(found) = content.get(at..).and_then(|rest| rest.find('{')) {
        let open = at + found;
        at = open + 1;
        let kind = match bytes.get(at) {
            Some(b'{') => TagKind::Value,
            Some(b'%') => TagKind::Statement,
            _ => continue,
        };
        if open > 0 && bytes.get(open - 1) == Some(&b'\\') {
            // Both braces are literal.
            at = open + 2;
            continue;
        }
        if open >= paragraph.end {
            paragraph = Paragraph::around(content, open);
        }
        let Some(close) = paragraph.close(content, open + 2, kind) else {
            continue;
        };
        let inside = open + 2..close;
        let mut from = open;
        if kind == TagKind::Value {
            quoted(content, inside, |string| {
                visit(from..string.start);
                from = string.end;
            });
        }
        at = close + 2;
        visit(from..at);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TagKind {
    /// `{{ … }}`
    Value,
    /// `{% … %}`
    Statement,
}

impl TagKind {
    fn close(self) -> &'static str {
        match self {
            TagKind::Value => "}}",
            TagKind::Statement => "%}",
        }
    }
}

/// The paragraph that is searched for the ends of tags. Its members keep the search linear: each failed search happens
/// once in a paragraph.
#[derive(Default)]
struct Paragraph {
    end: usize,
    /// True if a tag was not closed outside of quotes: from then on, quotes hide nothing.
    ignores_quotes: bool,
    without_value_close: bool,
    without_statement_close: bool,
}

impl Paragraph {
    /// Returns the paragraph at this offset, which ends before the next blank line.
    fn around(content: &str, from: usize) -> Paragraph {
        let mut end = from;
        for (number, line) in (0..).zip(content.get(from..).unwrap_or("").split_inclusive('\n')) {
            if number > 0 && line.trim().is_empty() {
                break;
            }
            end += line.len();
        }
        Paragraph {
            end,
            ..Paragraph::default()
        }
    }

    /// Returns the offset of the first close at or after `from` that is not in quotes. If there is none, quotes are
    /// ignored.
    fn close(&mut self, content: &str, from: usize, kind: TagKind) -> Option<usize> {
        let without = match kind {
            TagKind::Value => self.without_value_close,
            TagKind::Statement => self.without_statement_close,
        };
        let text = content.get(from..self.end).filter(|_| !without)?;
        let found = match self.ignores_quotes {
            true => None,
            false => unquoted_close(text, kind),
        };
        self.ignores_quotes |= found.is_none();
        let found = found.or_else(|| text.find(kind.close()));
        if found.is_none() {
            match kind {
                TagKind::Value => self.without_value_close = true,
                TagKind::Statement => self.without_statement_close = true,
            }
        }
        Some(from + found?)
    }
}

fn unquoted_close(text: &str, kind: TagKind) -> Option<usize> {
    let (bytes, close) = (text.as_bytes(), kind.close().as_bytes());
    let mut at = 0;
    let mut quote = None;
    while let Some(byte) = bytes.get(at) {
        match quote {
            Some(_) if *byte == b'\\' => at += 1,
            Some(open) if *byte == open => quote = None,
            None if matches!(byte, b'"' | b'\'') => quote = Some(*byte),
            None if bytes.get(at..)?.starts_with(close) => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Visits the contents of the quoted strings of a tag. A quote that is not closed in the tag opens none.
fn quoted(content: &str, inside: Range<usize>, mut visit: impl FnMut(Range<usize>)) {
    let bytes = content.as_bytes();
    let text = bytes.get(inside.clone()).unwrap_or(&[]);
    let mut lone = [false; 256];
    let mut at = 0;
    while let Some(&quote) = text.get(at) {
        at += 1;
        if !matches!(quote, b'"' | b'\'') || lone[usize::from(quote)] {
            continue;
        }
        match string_end(text, at, quote) {
            Some(end) => {
                visit(inside.start + at..inside.start + end);
                at = end + 1;
            }
            None => lone[usize::from(quote)] = true,
        }
    }
}

fn string_end(text: &[u8], from: usize, quote: u8) -> Option<usize> {
    let mut at = from;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 1,
            byte if *byte == quote => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
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
    fn tags_give_quoted_strings_only() {
        for (content, expected) in [
            ("a {% if b %} c {% endif %} d", "a · c · d"),
            ("{% include \"x\" %}", "·"),
            ("a {{ page.title }} b", "a · b"),
            (
                "{{domxref(\"MediaStream.stop()\", 'stop')}}",
                "·MediaStream.stop()·stop·",
            ),
            ("{{< figure src=\"a b\" >}}", "·a b·"),
            ("{{% note %}} in {{% /note %}}", "· in ·"),
            ("{{ \"a \\\" b\" }}", "·a \\\" b·"),
            ("{{ f(\"}}\") }} b", "·}}· b"),
            ("{% x \"%}\" %} b", "· b"),
            ("{{ it's }} b", "· b"),
            ("{{ a\nb }} c", "· c"),
            ("{{{ a }}} b", "·} b"),
        ] {
            assert_eq!(shown(content), expected, "{content:?}");
        }
    }

    #[test]
    fn text_that_is_not_a_tag_stays() {
        for content in [
            "{ a }",
            "{{ a",
            "{{ a\n\nb }}",
            "{{ a \r\n \t\r\nb }}",
            "{% a",
            "a }} b",
            "\\{{ a }}",
            "{ { a } }",
            "{",
            "{{",
            "{%",
        ] {
            assert_eq!(shown(content), content, "{content:?}");
        }
    }

    #[test]
    fn hostile_tags_are_found_in_linear_time() {
        const SIZE: usize = 1 << 20;
        for piece in [
            "{{",
            "{%",
            "{{ \" }}",
            "{{ ' \" }} '",
            "{{ '{% \"",
            "{{\n",
            "{{ a }}",
            "{{\n\n",
            "\"{{'",
            "{{%",
            "\\{{",
            "{{\" \\",
        ] {
            find(&piece.repeat(SIZE / piece.len()), |_| {});
        }
    }

    proptest! {
        #[test]
        fn ranges_are_ordered_and_end_at_characters(content in "([{}%\"'\\\\ aé\n]|\\{\\{|\\}\\}|%\\}|\\{%)*") {
            let mut at = 0;
            find(&content, |range| {
                assert!(at <= range.start && range.start <= range.end);
                assert!(content.get(range.clone()).is_some());
                at = range.end;
            });
        }
    }
}
