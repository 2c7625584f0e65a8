//! Finds the title of a document.

use super::blocks::{Block, BlockKind, blocks};
use super::restructured_text;
use super::split::bounded;
use super::syntax::Syntax;

/// Returns the title in the front matter, else the first heading, with single spaces between its words.
pub(crate) fn title(content: &str, syntax: Syntax) -> Option<String> {
    let mut title = None;
    let find = |block: Block| {
        if title.is_some() {
            return;
        }
        title = match block.kind {
            BlockKind::FrontMatter { title } => title.as_deref().map(bounded),
            BlockKind::Heading { text, .. } => content.get(text).map(bounded),
            BlockKind::Fence | BlockKind::Text | BlockKind::Definition { .. } => None,
        };
        title = title.take().filter(|title| !title.is_empty());
    };
    match syntax {
        Syntax::Markdown | Syntax::Mdx => blocks(content, find),
        Syntax::RestructuredText => restructured_text::blocks(content, find),
        // Neither text nor code has headings of its own.
        Syntax::Plain | Syntax::Code(_) => {}
    }
    title
}

#[cfg(test)]
mod tests {
    use super::{Syntax, title};

    #[test]
    fn code_has_no_title() {
        let content = "# A comment\n\nTitle\n=====\n";
        assert_eq!(title(content, Syntax::of("a.py")), None);
        assert_eq!(title(content, Syntax::of("a.txt")), None);
        assert_eq!(
            title(content, Syntax::of("a.rst")).as_deref(),
            Some("Title")
        );
    }

    #[test]
    fn front_matter_comes_before_headings() {
        for (content, expected) in [
            ("---\ntitle: A  b\n---\n\n# C\n", Some("A b")),
            ("---\nslug: x\n---\n\n# C\n", Some("C")),
            ("text\n\n## First  one ##\n\n# Second\n", Some("First one")),
            ("#\n\n# Named\n", Some("Named")),
            ("```\n# not a heading\n```\n", None),
            ("only text\n", None),
            ("", None),
        ] {
            assert_eq!(
                title(content, Syntax::Markdown).as_deref(),
                expected,
                "{content:?}"
            );
        }
    }
}
