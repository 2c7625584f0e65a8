//! Text that a client may see. There is no way in for a foreign string but [`ClientText::quoting`].

use std::borrow::Cow;
use std::fmt::Write as _;

/// How many characters of a caller's text are quoted at most.
pub const SHOWN_QUOTE_CHARS: usize = 64;

/// A message made of literals, numbers and quoted pieces of the caller's own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientText(Cow<'static, str>);

impl ClientText {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A literal after what is there.
    pub fn then(mut self, literal: &'static str) -> Self {
        self.0.to_mut().push_str(literal);
        self
    }

    /// A number after what is there.
    pub fn number(mut self, number: impl Into<i128>) -> Self {
        // Writing to a string cannot fail.
        let _ = write!(self.0.to_mut(), "{}", number.into());
        self
    }

    /// The caller's own text after what is there: escaped, at most [`SHOWN_QUOTE_CHARS`] characters.
    pub fn quoting(self, text: &str) -> Self {
        self.quoting_at_most(text, SHOWN_QUOTE_CHARS)
    }

    /// As [`ClientText::quoting`], with another bound.
    pub fn quoting_at_most(mut self, text: &str, chars: usize) -> Self {
        let own = self.0.to_mut();
        let mut shown = 0;
        // Where the text is cut if it turns out too long: the ellipsis still fits there.
        let mut cut = own.len();
        for c in text.chars() {
            let before = own.len();
            escape_visible(std::iter::once(c), own);
            shown += own[before..].chars().count();
            if shown > chars {
                own.truncate(cut);
                own.push('…');
                break;
            }
            if shown < chars {
                cut = own.len();
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

/// The text with what cannot be seen escaped; it has no line breaks then.
pub(crate) fn visible(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    escape_visible(text.chars(), &mut escaped);
    escaped
}

/// Appends `text` with control characters, line separators and bidirectional controls escaped.
pub fn escape_visible(text: impl Iterator<Item = char>, out: &mut String) {
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
        let whole = "x".repeat(SHOWN_QUOTE_CHARS);
        assert_eq!(ClientText::from("").quoting(&whole).as_str(), whole);
        let long = ClientText::from("").quoting(&(whole + "x"));
        assert_eq!(
            long.as_str(),
            format!("{}…", "x".repeat(SHOWN_QUOTE_CHARS - 1))
        );
    }

    #[test]
    fn a_cut_never_splits_an_escape() {
        let quote = |chars| ClientText::from("").quoting_at_most("a\n\nb", chars);
        assert_eq!(quote(12).as_str(), r"a\u{a}\u{a}b");
        assert_eq!(quote(11).as_str(), r"a\u{a}…");
        assert_eq!(quote(6).as_str(), "a…");
    }
}
