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

    /// Returns the output as text, and the number of its bytes that the text lacks. Escaped characters are
    /// longer than the bytes that they stand for, so the limits hold for the text too.
    pub(super) fn text(&self) -> (String, u64) {
        let (first, end) = (self.first.as_slice(), self.last.end());
        let all;
        let (first, end) = match self.last.omitted() {
            0 => {
                all = [first, end].concat();
                let text = printable(&all);
                if text.len() <= self.first_limit + self.last.limit {
                    return (text, 0);
                }
                (all.as_slice(), all.as_slice())
            }
            _ => (without_first_half(first), without_half_character(end, true)),
        };
        let first = fitting_start(first, self.first_limit);
        let end = fitting_end(end, self.last.limit);
        let omitted = self.total() - (first.len() + end.len()) as u64;
        let (first, end) = (printable(first), printable(end));
        let text = format!("{first}\n[{omitted} bytes are left out]\n{end}");
        (text, omitted)
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
    let mut out = String::with_capacity(bytes.len());
    for piece in pieces(bytes) {
        piece.push_to(&mut out);
    }
    out
}

/// Returns the longest beginning whose text has at most `limit` bytes.
fn fitting_start(bytes: &[u8], limit: usize) -> &[u8] {
    let (mut end, mut length) = (0, 0);
    for piece in pieces(bytes) {
        length += piece.text_length();
        if length > limit {
            break;
        }
        end += piece.bytes;
    }
    bytes.get(..end).unwrap_or(bytes)
}

/// Returns the longest end whose text has at most `limit` bytes.
fn fitting_end(bytes: &[u8], limit: usize) -> &[u8] {
    let mut length: usize = pieces(bytes).map(|piece| piece.text_length()).sum();
    let mut start = 0;
    for piece in pieces(bytes) {
        if length <= limit {
            break;
        }
        length -= piece.text_length();
        start += piece.bytes;
    }
    bytes.get(start..).unwrap_or_default()
}

/// A character of the output, and the number of bytes that it was decoded from.
struct Piece {
    character: char,
    bytes: usize,
}

impl Piece {
    fn is_escaped(&self) -> bool {
        let c = self.character;
        !matches!(c, '\n' | '\t') && (c.is_control() || is_deceptive(c))
    }

    fn push_to(&self, out: &mut String) {
        match self.is_escaped() {
            true => drop(write!(out, "\\u{{{:x}}}", u32::from(self.character))),
            false => out.push(self.character),
        }
    }

    fn text_length(&self) -> usize {
        match self.is_escaped() {
            true => {
                let digits = u32::from(self.character).checked_ilog(16).unwrap_or(0) + 1;
                "\\u{}".len() + digits as usize
            }
            false => self.character.len_utf8(),
        }
    }
}

/// Decodes UTF-8. Malformed parts become U+FFFD, and a line break of two characters becomes one.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = Piece> {
    let decoded = bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(|character| Piece {
            character,
            bytes: character.len_utf8(),
        });
        let malformed = (!chunk.invalid().is_empty()).then(|| Piece {
            character: char::REPLACEMENT_CHARACTER,
            bytes: chunk.invalid().len(),
        });
        valid.chain(malformed)
    });
    let mut decoded = decoded.peekable();
    std::iter::from_fn(move || {
        let piece = decoded.next()?;
        let is_return = piece.character == '\r';
        match decoded.next_if(|next| is_return && next.character == '\n') {
            Some(line_feed) => Some(Piece {
                character: '\n',
                bytes: piece.bytes + line_feed.bytes,
            }),
            None => Some(piece),
        }
    })
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
            let expected = match omitted {
                0 => whole,
                _ => format!(
                    "{}\n[{omitted} bytes are left out]\n{}",
                    &whole[..first],
                    &whole[whole.len() - last..],
                ),
            };
            prop_assert_eq!(kept.text(), (expected, omitted as u64));
        }

        #[test]
        fn any_parts_give_bounded_text_that_accounts_for_every_byte(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(b'\r'), Just(b'\n')], 0..300),
            first in 0usize..50,
            last in 0usize..50,
        ) {
            let mut kept = OutputParts::new(first, last);
            bytes.chunks(7).for_each(|part| kept.push(part));
            let (text, omitted) = kept.text();
            prop_assert!(text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
            let note = format!("\n[{omitted} bytes are left out]\n");
            match omitted {
                0 => prop_assert_eq!(&text, &printable(&bytes)),
                _ => {
                    let (start, end) = text.split_once(&note).unwrap();
                    prop_assert!(start.len() <= first && end.len() <= last);
                    prop_assert!(omitted <= bytes.len() as u64);
                }
            }
            let at_most = first + last + note.len();
            prop_assert!(text.len() <= at_most);
        }

        #[test]
        fn length_of_text_is_known_before_it_is_written(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let length: usize = pieces(&bytes).map(|piece| piece.text_length()).sum();
            prop_assert_eq!(length, printable(&bytes).len());
            let read: usize = pieces(&bytes).map(|piece| piece.bytes).sum();
            prop_assert_eq!(read, bytes.len());
        }
    }

    #[test]
    fn escaped_output_is_bounded_as_text() {
        let mut kept = OutputParts::new(16, 48);
        kept.push(&[0; 64]);
        let (text, omitted) = kept.text();
        let zeros = |count| "\\u{0}".repeat(count);
        let expected = format!("{}\n[52 bytes are left out]\n{}", zeros(3), zeros(9));
        assert_eq!((text, omitted), (expected, 52));
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
