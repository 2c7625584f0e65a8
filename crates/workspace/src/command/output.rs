//! The part of a command's output that is kept: its end, or its beginning and its end. Bounded while it is
//! read, and without invisible characters.

use std::fmt::Write;

/// The output of a command: all of it if it is short, else its beginning and its end.
#[derive(Debug)]
pub(super) struct OutputParts {
    first: Vec<u8>,
    first_limit: usize,
    last: OutputTail,
}

impl OutputParts {
    /// Keeps this many bytes of the beginning and of the end; together that much is kept completely.
    pub(super) fn new(first_limit: usize, last_limit: usize) -> Self {
        OutputParts {
            first: Vec::new(),
            first_limit,
            last: OutputTail::new(last_limit),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = self.first_limit - self.first.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.first.extend_from_slice(first);
        self.last.push(rest);
    }

    /// Returns the number of bytes that were pushed.
    pub(super) fn total(&self) -> u64 {
        self.first.len() as u64 + self.last.total()
    }

    /// Returns the number of bytes that are left out.
    pub(super) fn omitted(&self) -> u64 {
        self.last.omitted()
    }

    /// Returns the output as text.
    pub(super) fn text(&self) -> String {
        let end = self.last.end();
        match self.omitted() {
            0 => printable(&[self.first.as_slice(), end].concat()),
            omitted => format!(
                "{}\n[{omitted} bytes are left out]\n{}",
                printable(without_first_half(&self.first)),
                printable(without_half_character(end, true)),
            ),
        }
    }
}

/// The last bytes of a stream.
#[derive(Debug)]
pub(super) struct OutputTail {
    bytes: Vec<u8>,
    limit: usize,
    total: u64,
}

impl OutputTail {
    pub(super) fn new(limit: usize) -> Self {
        OutputTail {
            bytes: Vec::new(),
            limit,
            total: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let fresh = &bytes[bytes.len().saturating_sub(self.limit)..];
        self.bytes.extend_from_slice(fresh);
        // Moving the bytes only when there are twice as many keeps each byte's cost constant.
        if self.bytes.len() > 2 * self.limit {
            self.bytes.drain(..self.bytes.len() - self.limit);
        }
    }

    /// Returns the number of bytes that were pushed.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of bytes before the last ones.
    pub(super) fn omitted(&self) -> u64 {
        self.total - self.end().len() as u64
    }

    /// Returns the last bytes.
    fn end(&self) -> &[u8] {
        &self.bytes[self.bytes.len().saturating_sub(self.limit)..]
    }

    /// Returns the end as text of at most `limit` bytes.
    pub(super) fn text(&self) -> String {
        let end = self.end();
        let cut = self.omitted() > 0;
        let text = printable(without_half_character(end, cut));
        let mut from = text.len().saturating_sub(self.limit);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text[from..].to_owned()
    }
}

/// Removes the rest of a character that was cut in two, if the beginning was cut off.
fn without_half_character(bytes: &[u8], cut: bool) -> &[u8] {
    let rest = bytes
        .iter()
        .take(3)
        .take_while(|byte| (**byte & 0xc0) == 0x80);
    match cut {
        true => &bytes[rest.count()..],
        false => bytes,
    }
}

/// Removes the beginning of a character that was cut in two at the end.
fn without_first_half(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

/// Returns text in which line breaks and tabs are the only control characters. Others, and characters
/// that reorder or hide text, are escaped, so that a person sees them and a terminal ignores them.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            c if c.is_control() || is_deceptive(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn is_deceptive(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_is_the_end_of_all_parts(
            parts in proptest::collection::vec("[a-z]{0,40}", 0..20),
            keep in 0usize..50,
        ) {
            let mut tail = OutputTail::new(keep);
            parts.iter().for_each(|part| tail.push(part.as_bytes()));
            let whole = parts.concat();
            prop_assert_eq!(tail.total(), whole.len() as u64);
            prop_assert_eq!(tail.text(), &whole[whole.len().saturating_sub(keep)..]);
        }

        #[test]
        fn any_bytes_give_bounded_text_without_controls(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            keep in 0usize..100,
        ) {
            let mut tail = OutputTail::new(keep);
            tail.push(&bytes);
            let text = tail.text();
            prop_assert!(text.len() <= keep);
            prop_assert!(text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
        }
    }

    proptest! {
        #[test]
        fn parts_are_the_beginning_and_the_end(
            parts in proptest::collection::vec("[a-z]{0,40}", 0..20),
            first in 0usize..50,
            last in 0usize..50,
        ) {
            let mut kept = OutputParts::new(first, last);
            parts.iter().for_each(|part| kept.push(part.as_bytes()));
            let whole = parts.concat();
            let omitted = whole.len().saturating_sub(first + last);
            prop_assert_eq!(kept.total(), whole.len() as u64);
            prop_assert_eq!(kept.omitted(), omitted as u64);
            let expected = match omitted {
                0 => whole,
                _ => format!(
                    "{}\n[{omitted} bytes are left out]\n{}",
                    &whole[..first],
                    &whole[whole.len() - last..],
                ),
            };
            prop_assert_eq!(kept.text(), expected);
        }
    }

    fn text(bytes: &[u8]) -> String {
        let mut tail = OutputTail::new(64);
        tail.push(bytes);
        tail.text()
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            text(b"a\tb\r\nc\rd\x1b[2Je\0"),
            "a\tb\nc\\u{d}d\\u{1b}[2Je\\u{0}"
        );
        assert_eq!(text("x\u{202e}y\u{9b}z".as_bytes()), "x\\u{202e}y\\u{9b}z");
        assert_eq!(text(b"\xff\xfe ok"), "\u{fffd}\u{fffd} ok");
    }

    #[test]
    fn a_character_cut_in_two_is_omitted() {
        let mut tail = OutputTail::new(4);
        tail.push("aé€xy".as_bytes());
        assert_eq!(tail.text(), "xy");
    }
}
