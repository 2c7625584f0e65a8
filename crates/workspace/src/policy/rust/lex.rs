//! Splits Rust into tokens, one at a time. It needs one byte of memory for each open bracket; a tree of
//! tokens would take a hundred times the length of a hostile file.

use memchr::{memchr, memmem};

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or keyword.
    Word,
    /// A name behind `r#`.
    RawWord,
    /// A lifetime or label.
    Lifetime,
    /// A number, a character or a string.
    Literal,
    /// `::`
    Path,
    /// Two dots or more.
    Dots,
    /// Any other mark.
    Mark(u8),
    Open(u8),
    Close(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RustToken<'a> {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) text: &'a str,
}

impl<'a> RustToken<'a> {
    pub(super) fn is_name(&self) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::RawWord)
    }

    /// Returns the name without `r#`: `r#unwrap` is `unwrap`.
    pub(super) fn name(&self) -> &'a str {
        match self.kind {
            TokenKind::RawWord => self.text.get(2..).unwrap_or_default(),
            _ => self.text,
        }
    }
}

/// The tokens of a text. The last item is the offset at which the text stops being Rust.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// The closing bracket of each open bracket.
    open: Vec<u8>,
    broken: bool,
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Result<RustToken<'a>, usize>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.broken {
            return None;
        }
        let token = self.skip().and_then(|()| self.token());
        let offset = match token {
            Some(token) => return Some(Ok(token)),
            None if self.at == self.text.len() && self.open.is_empty() => return None,
            None => self.at,
        };
        self.broken = true;
        Some(Err(offset))
    }
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut at = 0;
        if text.starts_with('\u{feff}') {
            at = '\u{feff}'.len_utf8();
        }
        // A first line for the shell; `#![` is not one, nor is `#!` before a comment and `[`.
        if let Some(line) = text[at..].strip_prefix("#!") {
            let line = line.trim_start_matches(' ');
            let named = line.starts_with('/') && !line.starts_with("//") && !line.starts_with("/*");
            if named {
                at = memchr(b'\n', text.as_bytes()).unwrap_or(text.len());
            }
        }
        Self {
            text,
            at,
            open: Vec::new(),
            broken: false,
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// Skips whitespace and comments. Returns `None` if a comment does not end.
    fn skip(&mut self) -> Option<()> {
        loop {
            let rest = &self.text[self.at..];
            let bytes = rest.as_bytes();
            match bytes.first()? {
                byte if byte.is_ascii_whitespace() || *byte == 0x0b => self.at += 1,
                b'/' if bytes.get(1) == Some(&b'/') => {
                    self.at += memchr(b'\n', bytes).unwrap_or(bytes.len());
                }
                b'/' if bytes.get(1) == Some(&b'*') => self.at += comment(bytes)?,
                byte if byte.is_ascii() => return Some(()),
                _ => {
                    let next = rest.chars().next()?;
                    if !is_space(next) {
                        return Some(());
                    }
                    self.at += next.len_utf8();
                }
            }
        }
    }

    fn token(&mut self) -> Option<RustToken<'a>> {
        let byte = self.byte(0)?;
        let (kind, length) = match byte {
            b'(' | b'[' | b'{' => {
                let closing = match byte {
                    b'(' => b')',
                    b'[' => b']',
                    _ => b'}',
                };
                self.open.push(closing);
                (TokenKind::Open(byte), 1)
            }
            b')' | b']' | b'}' => {
                if self.open.last() != Some(&byte) {
                    return None;
                }
                self.open.pop();
                (TokenKind::Close(byte), 1)
            }
            b'"' => (TokenKind::Literal, quoted(self.rest(), 0, b'"')?),
            b'\'' => self.quote()?,
            b'0'..=b'9' => (TokenKind::Literal, number(self.rest())),
            b':' if self.byte(1) == Some(b':') => (TokenKind::Path, 2),
            b'.' if self.byte(1) == Some(b'.') => {
                (TokenKind::Dots, count(self.rest(), |byte| byte == b'.'))
            }
            byte if in_word(byte) => self.word()?,
            byte if byte.is_ascii_graphic() => (TokenKind::Mark(byte), 1),
            _ => return None,
        };
        let start = self.at;
        self.at += length;
        let text = self.text.get(start..self.at)?;
        Some(RustToken { kind, start, text })
    }

    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Reads a name, or a string whose prefix looks like one.
    fn word(&self) -> Option<(TokenKind, usize)> {
        let rest = self.rest();
        let length = word_length(&self.text[self.at..]);
        let after = |length: usize| rest.get(length).copied();
        let hashes = count(&rest[length..], |byte| byte == b'#');
        match &rest[..length] {
            b"r" | b"br" | b"cr" if after(length + hashes) == Some(b'"') => {
                let open = length + hashes + 1;
                Some((TokenKind::Literal, open + raw_end(&rest[open..], hashes)?))
            }
            b"b" | b"c" if after(length) == Some(b'"') => {
                Some((TokenKind::Literal, quoted(rest, 1, b'"')?))
            }
            b"b" if after(length) == Some(b'\'') => {
                Some((TokenKind::Literal, quoted(rest, 1, b'\'')?))
            }
            b"r" if hashes == 1 && after(2).is_some_and(in_word) => Some((
                TokenKind::RawWord,
                2 + word_length(&self.text[self.at + 2..]),
            )),
            _ => Some((TokenKind::Word, length)),
        }
    }

    /// Reads a character or a lifetime.
    fn quote(&self) -> Option<(TokenKind, usize)> {
        let rest = &self.text[self.at..];
        let mut chars = rest.chars().skip(1);
        let (first, second) = (chars.next()?, chars.next());
        if first == '\\' {
            return Some((TokenKind::Literal, quoted(rest.as_bytes(), 0, b'\'')?));
        }
        if second == Some('\'') {
            return Some((TokenKind::Literal, 2 + first.len_utf8()));
        }
        if !first.is_ascii() || in_word(first as u8) {
            let raw = if rest[1..].starts_with("r#") { 2 } else { 0 };
            return Some((TokenKind::Lifetime, 1 + raw + word_length(&rest[1 + raw..])));
        }
        None
    }
}

/// Returns the offset just past a comment, which may contain others.
fn comment(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0);
    loop {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (b'/', Some(b'*')) => (depth, at) = (depth + 1, at + 2),
            (b'*', Some(b'/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Returns the offset just past the quoted text whose first quote is at `open`.
fn quoted(bytes: &[u8], open: usize, quote: u8) -> Option<usize> {
    let mut at = open + 1;
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Returns the offset just past the quote and the hashes that end a raw string.
fn raw_end(bytes: &[u8], hashes: usize) -> Option<usize> {
    let mut end = vec![b'"'];
    end.resize(hashes + 1, b'#');
    memmem::find(bytes, &end).map(|at| at + end.len())
}

/// Returns the length of a number with its suffix; `1.max(2)` and `0..9` end before the dot.
fn number(bytes: &[u8]) -> usize {
    let alike = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let whole = count(bytes, alike);
    match bytes[whole..] {
        [b'.', b'0'..=b'9', ..] => whole + 1 + count(&bytes[whole + 1..], alike),
        _ => whole,
    }
}

fn count(bytes: &[u8], of: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|&&byte| of(byte)).count()
}

/// Returns true for a byte of a name. A letter of any script is accepted, since the compiler checks
/// which names are valid.
fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn word_length(text: &str) -> usize {
    let ends = |next: char| match next.is_ascii() {
        true => !in_word(next as u8),
        false => is_space(next),
    };
    text.find(ends).unwrap_or(text.len())
}

/// Returns true for whitespace of Rust, and for characters that look like it.
fn is_space(next: char) -> bool {
    next.is_whitespace() || matches!(next, '\u{200e}' | '\u{200f}')
}
