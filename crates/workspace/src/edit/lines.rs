//! Lines of a text and their line breaks.

use memchr::{memchr_iter, memchr2};

/// The line breaks of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// There are no line breaks.
    None,
    /// LF alone, everywhere.
    Lf,
    /// CRLF, everywhere.
    Crlf,
    /// Some of each.
    Mixed,
}

impl LineEnds {
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (mut lf, mut crlf) = (false, false);
        for at in memchr_iter(b'\n', bytes) {
            match at.checked_sub(1).and_then(|before| bytes.get(before)) {
                Some(b'\r') => crlf = true,
                _ => lf = true,
            }
        }
        match (lf, crlf) {
            (false, false) => Self::None,
            (true, false) => Self::Lf,
            (false, true) => Self::Crlf,
            (true, true) => Self::Mixed,
        }
    }
}

/// Returns the offset of each line of a text.
pub(crate) fn starts(text: &str) -> Vec<usize> {
    let after = memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    let starts = std::iter::once(0).chain(after);
    starts.filter(|&start| start < text.len()).collect()
}

/// Returns the number of the line that contains an offset, counted from 1.
pub(crate) fn number(text: &str, offset: usize) -> usize {
    memchr_iter(b'\n', &text.as_bytes()[..offset]).count() + 1
}

/// Returns the line that contains an offset, without its line break.
pub(crate) fn around(text: &str, offset: usize) -> &str {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[start..];
    let end = memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len());
    &rest[..end]
}

/// Returns the beginning of a text, at most this many characters.
pub(crate) fn cut(text: &str, characters: usize) -> &str {
    match text.char_indices().nth(characters) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_detected() {
        assert_eq!(LineEnds::of("a"), LineEnds::None);
        assert_eq!(LineEnds::of("a\nb"), LineEnds::Lf);
        assert_eq!(LineEnds::of("a\r\nb\r\n"), LineEnds::Crlf);
        assert_eq!(LineEnds::of("a\r\nb\n"), LineEnds::Mixed);
        assert_eq!(LineEnds::of("\n"), LineEnds::Lf);
    }

    #[test]
    fn lines_are_found_by_offset() {
        assert!(starts("").is_empty());
        assert_eq!(starts("a\n\nb"), [0, 2, 3]);
        assert_eq!(starts("a\n"), [0]);
        assert_eq!(number("a\nb\nc", 4), 3);
        assert_eq!(around("a\nbcd\r\ne", 3), "bcd");
        assert_eq!(cut("äöü", 2), "äö");
        assert_eq!(cut("äö", 2), "äö");
    }
}
