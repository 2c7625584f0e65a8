//! Text of other people as it is shown on a terminal or in a table: file names, words of clients and
//! lines of logs must neither move the cursor nor add a line.

use std::fmt::Write as _;

/// Escapes every character that a terminal obeys, that a reader does not see, or that changes the
/// order or the lines of the text around it, as `\n`, `\x1b` or `\u{202e}`.
pub fn visible_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| push_visible(&mut shown, c));
    shown
}

/// As [`visible_text`], for a message of several lines: line feeds stay.
pub fn visible_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push('\n'),
            c => push_visible(&mut shown, c),
        }
    }
    shown
}

fn push_visible(shown: &mut String, c: char) {
    // Writing to a string cannot fail.
    let _ = match c {
        '\n' => shown.write_str("\\n"),
        '\r' => shown.write_str("\\r"),
        '\t' => shown.write_str("\\t"),
        c if c.is_control() => write!(shown, "\\x{:02x}", u32::from(c)),
        c if is_invisible(c) => write!(shown, "\\u{{{:x}}}", u32::from(c)),
        c => shown.write_char(c),
    };
}

/// Returns true for characters without a shape of their own, and for those that reorder or break lines.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_escaped() {
        let shown = visible_text("a\u{1b}[2K\r\tb\n\u{7f}\u{9b}\u{202e}\u{2028}\u{e0041}\"\\ä");
        assert_eq!(
            shown,
            "a\\x1b[2K\\r\\tb\\n\\x7f\\x9b\\u{202e}\\u{2028}\\u{e0041}\"\\ä"
        );
        assert_eq!(visible_lines("a\n\u{1b}b\r"), "a\n\\x1bb\\r");
    }

    /// No character that Unicode classifies as a control, or as bidirectional or line-separating, is
    /// left in any shown text, and no text gains or loses anything else.
    #[test]
    fn every_character_is_shown_or_escaped() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            let shown = visible_text(&c.to_string());
            let is_separator = matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
            let is_bidi = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            match c.is_control() || is_separator || is_bidi {
                true => assert!(shown.starts_with('\\') && shown.is_ascii(), "{shown:?}"),
                false => assert!(
                    shown == c.to_string() || shown.starts_with("\\u{"),
                    "{shown:?}"
                ),
            }
            assert_eq!(visible_text(&shown), shown);
        }
    }
}
