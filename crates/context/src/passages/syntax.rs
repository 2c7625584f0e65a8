//! The syntax of a document, by the suffix of its id.

use super::code::Language;

/// The syntax that decides where a document is cut and which of its words count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// Markdown, with front matter and template tags.
    Markdown,
    /// Markdown with JSX.
    Mdx,
    RestructuredText,
    /// Paragraphs: plain text, code of other languages, and everything unknown.
    Plain,
    /// Code whose definitions are known.
    Code(Language),
}

impl Syntax {
    /// Returns the syntax of the document with this id.
    pub fn of(id: &str) -> Syntax {
        let name = id.rsplit('/').next().unwrap_or(id);
        let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
        match suffix.to_ascii_lowercase().as_str() {
            "md" | "markdown" => Syntax::Markdown,
            "mdx" => Syntax::Mdx,
            "rst" => Syntax::RestructuredText,
            suffix => Language::of_suffix(suffix).map_or(Syntax::Plain, Syntax::Code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffix_decides_the_syntax() {
        for (id, expected) in [
            ("a/b.md", Syntax::Markdown),
            ("a.MARKDOWN", Syntax::Markdown),
            (".md", Syntax::Markdown),
            ("a.mdx", Syntax::Mdx),
            ("a.b.rst", Syntax::RestructuredText),
            ("a.txt", Syntax::Plain),
            ("a.md/readme", Syntax::Plain),
            ("a.c", Syntax::Plain),
            ("", Syntax::Plain),
            ("a.tsx", Syntax::Code(Language::JavaScript)),
            ("a.py", Syntax::Code(Language::Python)),
        ] {
            assert_eq!(Syntax::of(id), expected, "{id}");
        }
    }
}
