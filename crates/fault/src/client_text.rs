//! Text that is safe to show to a client. The only way in for foreign text is [`ClientText::quoting`].

use crate::byte_search::is_visible_ascii;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The most characters of a caller's text that are quoted.
pub const MAX_QUOTE_CHARS: usize = 64;

/// A message made of literals, numbers and quoted pieces of the caller's own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientText(Cow<'static, str>);

impl ClientText {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Appends a literal.
    pub fn then(mut self, literal: &'static str) -> Self {
        self.0.to_mut().push_str(literal);
        self
    }

    /// Appends another text.
    pub fn followed_by(mut self, text: ClientText) -> Self {
        self.0.to_mut().push_str(&text.0);
        self
    }

    /// Appends a number.
    pub fn number(mut self, number: impl Into<i128>) -> Self {
        // Writing to a string cannot fail.
        let _ = write!(self.0.to_mut(), "{}", number.into());
        self
    }

    /// Appends the caller's own text: escaped, at most [`MAX_QUOTE_CHARS`] characters.
    pub fn quoting(self, text: &str) -> Self {
        self.quoting_at_most(text, MAX_QUOTE_CHARS)
    }

    /// Quotes like [`ClientText::quoting`], with another bound.
    pub fn quoting_at_most(mut self, text: &str, chars: usize) -> Self {
        let out = self.0.to_mut();
        let mut shown = 0;
        // The length to cut to if the text is too long: the ellipsis still fits.
        let mut cut = out.len();
        for c in text.chars() {
            let before = out.len();
            escape_invisible_into(std::iter::once(c), out);
            shown += out[before..].chars().count();
            if shown > chars {
                out.truncate(cut);
                out.push('…');
                break;
            }
            if shown < chars {
                cut = out.len();
            }
        }
        self
    }
}

impl ClientText {
    pub(crate) fn redact(&mut self, redact: &dyn Fn(&str) -> Option<String>) {
        if let Some(hidden) = redact(&self.0) {
            self.0 = Cow::Owned(hidden);
        }
    }
}

impl From<&'static str> for ClientText {
    fn from(literal: &'static str) -> Self {
        ClientText(Cow::Borrowed(literal))
    }
}

/// Returns the text with invisible characters escaped, line breaks among them.
pub fn escape_invisible(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    push_visible(text, &mut escaped);
    escaped
}

/// Appends a text like [`escape_invisible_into`], as a whole if nothing in it can be invisible.
pub(crate) fn push_visible(text: &str, out: &mut String) {
    match is_visible_ascii(text) {
        true => out.push_str(text),
        false => escape_invisible_into(text.chars(), out),
    }
}

/// Appends `text` with control characters, line separators and bidirectional controls escaped.
pub fn escape_invisible_into(text: impl Iterator<Item = char>, out: &mut String) {
    for c in text {
        let hidden = c.is_control()
            || matches!(
                c,
                '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{061c}'
            )
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if hidden {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        } else {
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_escaped_and_cut() {
        let shown = ClientText::from("no ")
            .quoting("a\nb\u{202e}c")
            .then(" in ")
            .number(7);
        assert_eq!(shown.as_str(), "no a\\u{a}b\\u{202e}c in 7");
        let whole = "x".repeat(MAX_QUOTE_CHARS);
        assert_eq!(ClientText::from("").quoting(&whole).as_str(), whole);
        let long = ClientText::from("").quoting(&(whole + "x"));
        assert_eq!(
            long.as_str(),
            format!("{}…", "x".repeat(MAX_QUOTE_CHARS - 1))
        );
    }

    #[test]
    fn cut_never_splits_an_escape() {
        let quote = |chars| ClientText::from("").quoting_at_most("a\n\nb", chars);
        assert_eq!(quote(12).as_str(), r"a\u{a}\u{a}b");
        assert_eq!(quote(11).as_str(), r"a\u{a}…");
        assert_eq!(quote(6).as_str(), "a…");
    }
}
