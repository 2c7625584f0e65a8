//! The end of a command's output: bounded while it is read, and as text that shows what it shows.

use std::fmt::Write;

/// The last bytes of a stream.
#[derive(Debug)]
pub(super) struct Tail {
    kept: Vec<u8>,
    keep: usize,
    total: u64,
}

impl Tail {
    pub(super) fn new(keep: usize) -> Self {
        Tail {
            kept: Vec::new(),
            keep,
            total: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let fresh = &bytes[bytes.len().saturating_sub(self.keep)..];
        self.kept.extend_from_slice(fresh);
        // Moving the bytes only when there are twice as many keeps each byte's cost constant.
        if self.kept.len() > 2 * self.keep {
            self.kept.drain(..self.kept.len() - self.keep);
        }
    }

    /// How many bytes there were in all.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The end as text of at most as many bytes as are kept.
    pub(super) fn text(&self) -> String {
        let kept = &self.kept[self.kept.len().saturating_sub(self.keep)..];
        let cut = self.total > kept.len() as u64;
        let text = shown(without_half_character(kept, cut));
        let mut from = text.len().saturating_sub(self.keep);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text[from..].to_owned()
    }
}

/// Where the beginning was cut off, the rest of a character that was cut in two goes too.
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

/// Text in which line breaks and tabs are the only control characters. Others, and characters that
/// reorder or hide text, are written out, so that a terminal and a person see what was there.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            c if c.is_control() || reorders(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn reorders(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_end_is_the_end_however_it_comes(
            parts in proptest::collection::vec("[a-z]{0,40}", 0..20),
            keep in 0usize..50,
        ) {
            let mut tail = Tail::new(keep);
            parts.iter().for_each(|part| tail.push(part.as_bytes()));
            let whole = parts.concat();
            prop_assert_eq!(tail.total(), whole.len() as u64);
            prop_assert_eq!(tail.text(), &whole[whole.len().saturating_sub(keep)..]);
        }

        #[test]
        fn no_bytes_break_the_bound_or_get_a_control_through(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            keep in 0usize..100,
        ) {
            let mut tail = Tail::new(keep);
            tail.push(&bytes);
            let text = tail.text();
            prop_assert!(text.len() <= keep);
            prop_assert!(text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
        }
    }

    fn text(bytes: &[u8]) -> String {
        let mut tail = Tail::new(64);
        tail.push(bytes);
        tail.text()
    }

    #[test]
    fn what_a_terminal_would_act_on_is_written_out() {
        assert_eq!(
            text(b"a\tb\r\nc\rd\x1b[2Je\0"),
            "a\tb\nc\\u{d}d\\u{1b}[2Je\\u{0}"
        );
        assert_eq!(text("x\u{202e}y\u{9b}z".as_bytes()), "x\\u{202e}y\\u{9b}z");
        assert_eq!(text(b"\xff\xfe ok"), "\u{fffd}\u{fffd} ok");
    }

    #[test]
    fn a_character_that_was_cut_in_two_is_left_out() {
        let mut tail = Tail::new(4);
        tail.push("aé€xy".as_bytes());
        assert_eq!(tail.text(), "xy");
    }
}
