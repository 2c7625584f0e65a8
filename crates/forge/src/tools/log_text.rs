//! The text of a job's log for a reader: without terminal escapes, the last lines, within a size.

use std::iter::Peekable;
use std::str::Chars;

/// The end of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogTail {
    pub(super) text: String,
    pub(super) lines: usize,
    /// True if the log has more before the text.
    pub(super) is_cut: bool,
}

/// Returns the last lines of a log that take at most `most` bytes in JSON. If the last line alone is
/// larger, its end is returned.
pub(super) fn log_tail(bytes: &[u8], lines: usize, most: usize) -> LogTail {
    let clean = without_escapes(&String::from_utf8_lossy(bytes));
    let clean = clean.strip_suffix('\n').unwrap_or(&clean);
    if clean.is_empty() {
        return LogTail {
            text: String::new(),
            lines: 0,
            is_cut: false,
        };
    }
    let mut start = clean.len();
    let (mut taken, mut size) = (0, 0);
    for line in clean.rsplit('\n') {
        let cost = json_size(line) + json_size("\n");
        if taken == lines || (taken > 0 && size + cost > most) {
            break;
        }
        start -= line.len() + usize::from(taken > 0);
        size += cost;
        taken += 1;
    }
    let text = end_of(&clean[start..], most);
    LogTail {
        lines: taken,
        is_cut: start > 0 || text.len() < clean.len() - start,
        text: text.to_owned(),
    }
}

/// Returns the end of a text that takes at most `most` bytes in JSON.
fn end_of(text: &str, most: usize) -> &str {
    let mut size = 0;
    let mut characters = text.char_indices().rev();
    let first_left_out = characters.find(|(_, one)| {
        size += character_size(*one);
        size > most
    });
    match first_left_out {
        Some((at, one)) => &text[at + one.len_utf8()..],
        None => text,
    }
}

fn json_size(text: &str) -> usize {
    text.chars().map(character_size).sum()
}

/// Returns the bytes of a character in JSON. Other control characters than these were removed.
fn character_size(one: char) -> usize {
    match one {
        '"' | '\\' | '\n' | '\t' => 2,
        _ => one.len_utf8(),
    }
}

/// Removes terminal escapes and control characters. A carriage return alone starts a line anew on a
/// terminal, so it ends one here.
fn without_escapes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        match one {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => clean.push('\n'),
            '\n' | '\t' => clean.push(one),
            _ if one.is_control() => {}
            _ => clean.push(one),
        }
    }
    clean
}

/// Skips what follows ESC: a control sequence, a string up to its end or the end of the line, or a short
/// sequence.
fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(one) = rest.next_if(|one| *one != '\n') {
                let ends = one == '\u{7}' || one == '\u{9c}';
                let is_escape = one == '\u{1b}' && rest.next_if_eq(&'\\').is_some();
                if ends || is_escape {
                    break;
                }
            }
        }
        Some(_) => {
            while rest.next_if(|one| matches!(one, ' '..='/')).is_some() {}
            rest.next_if(|one| matches!(one, '0'..='~'));
        }
        None => {}
    }
}

/// Skips parameters and the last character of a control sequence.
fn skip_control_sequence(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|one| matches!(one, ' '..='?')).is_some() {}
    rest.next_if(|one| matches!(one, '@'..='~'));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tail(text: &str, lines: usize, most: usize) -> (String, usize, bool) {
        let LogTail {
            text,
            lines,
            is_cut,
        } = log_tail(text.as_bytes(), lines, most);
        (text, lines, is_cut)
    }

    #[test]
    fn escapes_and_control_characters_are_removed() {
        for (text, clean) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[38;5;196mx\u{1b}[K", "x"),
            ("\u{9b}1mx", "x"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;https://a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]open\nx", "\nx"),
            ("\u{1b}(Bx\u{1b}=y\u{1b}", "xy"),
            ("a\0b\u{8}c\u{7f}", "abc"),
            ("10%\r20%\r\nend", "10%\n20%\nend"),
            ("\u{1b}[\u{1b}[1mx", "x"),
        ] {
            assert_eq!(without_escapes(text), clean, "{text:?}");
        }
        let many = "\u{1b}[31mx\u{1b}[0m".repeat(10_000);
        assert_eq!(without_escapes(&many), "x".repeat(10_000));
    }

    #[test]
    fn last_lines_are_taken() {
        assert_eq!(tail("", 10, 100), (String::new(), 0, false));
        assert_eq!(tail("a\nb\nc\n", 10, 100), ("a\nb\nc".into(), 3, false));
        assert_eq!(tail("a\nb\nc\n", 2, 100), ("b\nc".into(), 2, true));
        assert_eq!(tail("a\n\n\n", 2, 100), ("\n".into(), 2, true));
        assert_eq!(tail("aaaa\nbb\ncc", 10, 9), ("bb\ncc".into(), 2, true));
        assert_eq!(tail("a\n0123456789", 10, 4), ("6789".into(), 1, true));
        assert_eq!(tail("ää", 1, 3), ("ä".into(), 1, true));
        assert_eq!(tail("\"\"\"", 1, 4), ("\"\"".into(), 1, true));
    }

    proptest! {
        #[test]
        fn tail_is_the_end_of_the_log_within_its_size(
            text in "([a-c\n\"\\\\\t\u{1b}\r\0ä]|\\[3)*", lines in 1usize..6, most in 1usize..40,
        ) {
            let clean = without_escapes(&text);
            let found = log_tail(text.as_bytes(), lines, most);
            let whole = clean.strip_suffix('\n').unwrap_or(&clean);
            prop_assert!(whole.ends_with(&found.text));
            prop_assert!(json_size(&found.text) <= most);
            prop_assert!(found.lines <= lines);
            prop_assert_eq!(found.is_cut, found.text.len() < whole.len());
        }
    }
}
