//! Finds the title of a document.

use super::blocks::{BlockKind, blocks};
use super::split::bounded;

/// Returns the title in the front matter, else the first heading, with single spaces between its words.
pub(crate) fn title(content: &str) -> Option<String> {
    let mut title = None;
    blocks(content, |block| {
        if title.is_some() {
            return;
        }
        title = match block.kind {
            BlockKind::FrontMatter { title } => title.as_deref().map(bounded),
            BlockKind::Heading { text, .. } => content.get(text).map(bounded),
            BlockKind::Fence | BlockKind::Text => None,
        };
        title = title.take().filter(|title| !title.is_empty());
    });
    title
}

#[cfg(test)]
mod tests {
    use super::title;

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
            assert_eq!(title(content).as_deref(), expected, "{content:?}");
        }
    }
}
