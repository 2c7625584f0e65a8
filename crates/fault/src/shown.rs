//! Text that a client may see. There is no way in for a foreign string but [`Shown::quoting`].

use std::borrow::Cow;
use std::fmt::Write as _;

/// How many characters of a caller's text are quoted at most.
pub const SHOWN_QUOTE_CHARS: usize = 64;

/// A message made of literals, numbers and quoted pieces of the caller's own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown(Cow<'static, str>);

impl Shown {
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

    /// The caller's own text after what is there: escaped, and cut at [`SHOWN_QUOTE_CHARS`].
    pub fn quoting(self, text: &str) -> Self {
        self.quoting_at_most(text, SHOWN_QUOTE_CHARS)
    }

    /// As [`Shown::quoting`], with another bound.
    pub fn quoting_at_most(mut self, text: &str, chars: usize) -> Self {
        let own = self.0.to_mut();
        let mut rest = text.chars();
        escape_visible(rest.by_ref().take(chars), own);
        if rest.next().is_some() {
            own.push('…');
        }
        self
    }
}

impl From<&'static str> for Shown {
    fn from(literal: &'static str) -> Self {
        Shown(Cow::Borrowed(literal))
    }
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
        let shown = Shown::from("no ")
            .quoting("a\nb\u{202e}c")
            .then(" in ")
            .number(7);
        assert_eq!(shown.as_str(), "no a\\u{a}b\\u{202e}c in 7");
        let long = Shown::from("").quoting(&"x".repeat(SHOWN_QUOTE_CHARS + 1));
        assert_eq!(long.as_str(), format!("{}…", "x".repeat(SHOWN_QUOTE_CHARS)));
    }
}
