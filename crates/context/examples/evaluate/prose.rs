//! The sentences of a Markdown document, as a reader sees them.

use std::ops::Range;

/// A sentence, its range in the content, and its text without markup.
pub(crate) struct Sentence {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

/// Returns the sentences of plain paragraphs: no headings, lists, tables, quotations, code or front matter.
pub(crate) fn sentences(content: &str) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for paragraph in paragraphs(content) {
        let mut start = paragraph.start;
        while start < paragraph.end {
            let rest = &content[start..paragraph.end];
            let length = sentence_end(rest);
            let text = plain(&rest[..length]);
            sentences.push(Sentence {
                range: start..start + length,
                text,
            });
            start += length;
        }
    }
    sentences
}

fn sentence_end(text: &str) -> usize {
    let ends = [". ", ".\n", "? ", "?\n"];
    let first = ends.iter().filter_map(|end| text.find(end)).min();
    first.map_or(text.len(), |end| end + 2)
}

fn paragraphs(content: &str) -> Vec<Range<usize>> {
    let mut paragraphs: Vec<Range<usize>> = Vec::new();
    let (mut at, mut fenced, mut open) = (front_matter(content), false, false);
    for line in content[at..].split_inclusive('\n') {
        let end = at + line.len();
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let begins =
            line.starts_with(|first: char| first.is_alphabetic() || first == '*' || first == '`');
        let list = line.starts_with("* ") || line.contains(" | ");
        match paragraphs.last_mut() {
            _ if fence || fenced || line.trim().is_empty() => open = false,
            Some(last) if open => last.end = end,
            _ if begins && !list => {
                paragraphs.push(at..end);
                open = true;
            }
            _ => {}
        }
        at = end;
    }
    paragraphs
}

fn front_matter(content: &str) -> usize {
    match content
        .strip_prefix("---\n")
        .and_then(|rest| rest.find("\n---\n"))
    {
        Some(end) => end + 9,
        None => 0,
    }
}

/// Returns the text without link targets, emphasis and macros; of a macro its first argument stays.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let (shown, length) = if rest.starts_with("{{") {
            let end = rest.find("}}").map_or(rest.len(), |end| end + 2);
            (rest[..end].split('"').nth(1).unwrap_or(""), end)
        } else if rest.starts_with("](") {
            ("", rest.find(')').map_or(rest.len(), |end| end + 1))
        } else if matches!(char, '[' | '*' | '`') {
            ("", 1)
        } else {
            (&rest[..char.len_utf8()], char.len_utf8())
        };
        plain.push_str(shown);
        rest = &rest[length..];
    }
    plain
}
