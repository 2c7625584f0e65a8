//! A lexer that reads code line by line and finds strings, comments and brackets.
//!
//! It is written for code that compiles. Other text is read to its end too, in linear time.

use super::languages::Language;
use std::collections::VecDeque;
use std::ops::Range;

/// The state of reading between two lines.
pub(super) struct Lexer<'a> {
    content: &'a str,
    language: Language,
    mode: Mode,
    /// The number of open braces.
    pub(super) braces: usize,
    /// The number of other open brackets.
    pub(super) parentheses: usize,
    /// For each open template string of JavaScript whose expression is being read: the braces around it.
    templates: Vec<usize>,
    /// The names of here documents that start on the next line.
    heredocs: VecDeque<Range<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Mode {
    Code,
    /// A block comment, with the number of comments that are open.
    Comment(usize),
    /// A string that ends at `count` quotes followed by `hashes` number signs.
    String {
        quote: u8,
        count: usize,
        hashes: usize,
        escapes: bool,
        ends_at_line: bool,
    },
    /// A template string of JavaScript.
    Template,
    /// A here document of Ruby, which ends at a line with this name.
    Heredoc(Range<usize>),
    /// A comment of Ruby between `=begin` and `=end`.
    RubyComment,
}

/// One line of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LexedLine {
    pub(super) kind: LineKind,
    /// The offset of its first code in the document.
    pub(super) code: usize,
    /// The numbers of brackets that were open at its start.
    pub(super) braces: usize,
    pub(super) parentheses: usize,
    /// True if a brace was opened in it.
    pub(super) opens: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Blank,
    /// It has nothing but a comment.
    Comment,
    /// It starts in a string.
    InString,
    Code,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(content: &'a str, language: Language) -> Self {
        Lexer {
            content,
            language,
            mode: Mode::Code,
            braces: 0,
            parentheses: 0,
            templates: Vec::new(),
            heredocs: VecDeque::new(),
        }
    }

    /// Forgets everything that is open and reads a line again, as one at the outermost level.
    pub(super) fn restart(&mut self, range: Range<usize>) {
        *self = Lexer::new(self.content, self.language);
        self.line(range);
    }

    /// Reads the line in this range.
    pub(super) fn line(&mut self, range: Range<usize>) -> LexedLine {
        let text = self.content.get(range.clone()).unwrap_or("");
        let (braces, parentheses) = (self.braces, self.parentheses);
        let started_in_string = match &self.mode {
            Mode::Code | Mode::Comment(_) | Mode::RubyComment => false,
            Mode::String { .. } | Mode::Template | Mode::Heredoc(_) => true,
        };
        let mut reader = LineReader {
            bytes: text.as_bytes(),
            start: range.start,
            at: 0,
            code: None,
            commented: false,
            opens: false,
            before: None,
            without_expressions: false,
            lexer: self,
        };
        reader.read(text);
        let (code, commented, opens) = (reader.code, reader.commented, reader.opens);
        let kind = match code {
            _ if started_in_string => LineKind::InString,
            Some(_) => LineKind::Code,
            None if commented => LineKind::Comment,
            None => LineKind::Blank,
        };
        LexedLine {
            kind,
            code: code.unwrap_or(range.start),
            braces,
            parentheses,
            opens,
        }
    }
}

struct LineReader<'l, 'a> {
    lexer: &'l mut Lexer<'a>,
    bytes: &'l [u8],
    /// The offset of the line in the document.
    start: usize,
    at: usize,
    /// The offset of the first code in the document.
    code: Option<usize>,
    commented: bool,
    opens: bool,
    /// The last byte of code that is not white space.
    before: Option<u8>,
    /// True if a regular expression was not closed: the rest of the line has none.
    without_expressions: bool,
}

impl LineReader<'_, '_> {
    fn read(&mut self, text: &str) {
        if self.reads_whole_line(text) {
            return;
        }
        while let Some(&byte) = self.bytes.get(self.at) {
            match self.lexer.mode.clone() {
                Mode::Code => self.code(byte),
                Mode::Comment(depth) => self.comment(byte, depth),
                Mode::String {
                    quote,
                    count,
                    hashes,
                    escapes,
                    ends_at_line,
                } => {
                    let tail = self.bytes.get(self.at + count..).unwrap_or(&[]);
                    if escapes && byte == b'\\' {
                        self.at += 2;
                    } else if ends_at_line && byte == b'\n' {
                        self.lexer.mode = Mode::Code;
                        self.at += 1;
                    } else if byte == quote
                        && self.repeats(quote, count)
                        && tail
                            .iter()
                            .take(hashes)
                            .take_while(|tail| **tail == b'#')
                            .count()
                            == hashes
                    {
                        self.lexer.mode = Mode::Code;
                        self.at += count + hashes;
                    } else {
                        self.at += 1;
                    }
                }
                Mode::Template => self.template(byte),
                Mode::Heredoc(_) | Mode::RubyComment => return,
            }
        }
        if let Some(name) = self.lexer.heredocs.pop_front() {
            self.lexer.mode = Mode::Heredoc(name);
        }
    }

    /// Reads a line whose meaning depends on the whole of it. Returns false if it is an ordinary line.
    fn reads_whole_line(&mut self, text: &str) -> bool {
        match &self.lexer.mode {
            Mode::Heredoc(name) => {
                if self.lexer.content.get(name.clone()) == Some(text.trim()) {
                    self.lexer.mode = match self.lexer.heredocs.pop_front() {
                        Some(next) => Mode::Heredoc(next),
                        None => Mode::Code,
                    };
                }
                true
            }
            Mode::RubyComment => {
                self.commented = true;
                if text.starts_with("=end") {
                    self.lexer.mode = Mode::Code;
                }
                true
            }
            Mode::Code if self.lexer.language == Language::Ruby && text.starts_with("=begin") => {
                self.commented = true;
                self.lexer.mode = Mode::RubyComment;
                true
            }
            _ => false,
        }
    }

    fn repeats(&self, byte: u8, count: usize) -> bool {
        let rest = self.bytes.get(self.at..self.at + count).unwrap_or(&[]);
        rest.len() == count && rest.iter().all(|found| *found == byte)
    }

    fn next_is(&self, text: &[u8]) -> bool {
        self.bytes.get(self.at..).unwrap_or(&[]).starts_with(text)
    }

    fn code(&mut self, byte: u8) {
        use Language::{Go, Java, JavaScript, Python, Ruby, Rust};
        let language = self.lexer.language;
        let hash_comments = matches!(language, Python | Ruby);
        if byte.is_ascii_whitespace() {
            self.at += 1;
            return;
        }
        if (hash_comments && byte == b'#') || (!hash_comments && self.next_is(b"//")) {
            self.commented = true;
            self.at = self.bytes.len();
            return;
        }
        if !hash_comments && self.next_is(b"/*") {
            self.commented = true;
            self.lexer.mode = Mode::Comment(1);
            self.at += 2;
            return;
        }
        self.code.get_or_insert(self.start + self.at);
        match byte {
            b'"' | b'\'' if language == Python => self.quotes(byte, true),
            b'"' => self.quotes(byte, language == Java),
            b'\'' if matches!(language, JavaScript | Ruby) => self.quotes(byte, false),
            b'\'' => self.character(),
            b'`' if language == JavaScript => {
                self.lexer.mode = Mode::Template;
                self.at += 1;
            }
            b'`' if language == Go => self.string(b'`', 1, 0, false, false),
            b'r' if language == Rust => self.raw_string(),
            b'/' if language == JavaScript => self.slash(),
            b'<' if language == Ruby => self.heredoc(),
            _ => self.bracket(byte),
        }
        self.before = Some(byte);
    }

    fn string(&mut self, quote: u8, count: usize, hashes: usize, escapes: bool, short: bool) {
        self.at += count + hashes;
        self.lexer.mode = Mode::String {
            quote,
            count,
            hashes,
            escapes,
            ends_at_line: short,
        };
    }

    /// Reads the quotes that open a string. Three of them may open one of several lines.
    fn quotes(&mut self, quote: u8, may_be_three: bool) {
        match may_be_three && self.repeats(quote, 3) {
            true => self.string(quote, 3, 0, true, false),
            false => {
                let short = self.lexer.language != Language::Rust;
                self.string(quote, 1, 0, true, short);
            }
        }
    }

    /// Reads a character literal, or the apostrophe of a lifetime.
    fn character(&mut self) {
        let rest = self.bytes.get(self.at + 1..).unwrap_or(&[]);
        let length = match rest.first() {
            // The escaped character itself may be an apostrophe.
            Some(b'\\') => rest
                .iter()
                .skip(2)
                .take(12)
                .position(|byte| *byte == b'\'')
                .map(|found| found + 2),
            _ => (1..=4).find(|length| rest.get(*length) == Some(&b'\'')),
        };
        let literal = length.filter(|length| {
            let inside = rest
                .get(..*length)
                .and_then(|inside| str::from_utf8(inside).ok());
            inside.is_some_and(|text| text.starts_with('\\') || text.chars().count() == 1)
        });
        self.at += literal.map_or(1, |length| length + 2);
    }

    /// Reads the start of a raw string of Rust, or a name.
    fn raw_string(&mut self) {
        let part_of_name = self
            .before_here()
            .is_some_and(|byte| byte != b'b' && (byte.is_ascii_alphanumeric() || byte == b'_'));
        let rest = self.bytes.get(self.at + 1..).unwrap_or(&[]);
        let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
        if !part_of_name && rest.get(hashes) == Some(&b'"') {
            self.at += 1 + hashes;
            self.string(b'"', 1, 0, false, false);
            if let Mode::String {
                hashes: closing, ..
            } = &mut self.lexer.mode
            {
                *closing = hashes;
            }
        } else {
            self.at += 1;
        }
    }

    fn before_here(&self) -> Option<u8> {
        let before = self.at.checked_sub(1)?;
        self.bytes.get(before).copied()
    }

    /// Reads a regular expression, or a division.
    fn slash(&mut self) {
        let can_be_expression = match self.before {
            None => true,
            Some(byte) => b"(,=:[!&|?{};+-*%~^".contains(&byte),
        } || self.follows_word(b"return");
        let can_be_expression = can_be_expression && !self.without_expressions;
        let end = can_be_expression.then(|| self.expression_end());
        self.without_expressions |= end == Some(None);
        self.at = end.flatten().unwrap_or(self.at + 1);
    }

    fn follows_word(&self, word: &[u8]) -> bool {
        let before = self.bytes.get(..self.at).unwrap_or(&[]);
        before.trim_ascii_end().ends_with(word)
    }

    fn expression_end(&self) -> Option<usize> {
        let mut at = self.at + 1;
        let mut in_class = false;
        loop {
            match self.bytes.get(at)? {
                b'\n' => return None,
                b'\\' => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => return Some(at + 1),
                _ => {}
            }
            at += 1;
        }
    }

    /// Reads the start of a here document: `<<~NAME`, `<<-NAME` or `<<NAME`.
    fn heredoc(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let Some(name) = rest.strip_prefix(b"<<") else {
            self.at += 1;
            return;
        };
        let marked = matches!(name.first(), Some(b'~' | b'-'));
        let skip = 2 + usize::from(marked);
        let quoted = matches!(rest.get(skip), Some(b'"' | b'\''));
        let skip = skip + usize::from(quoted);
        let length = rest
            .get(skip..)
            .unwrap_or(&[])
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count();
        let first = rest.get(skip).copied().unwrap_or(b' ');
        // `array << NAME` and `array<<NAME` append, and `class << self` opens a class.
        let appends = self
            .before_here()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_])".contains(&byte));
        let opens = match marked || quoted {
            true => !first.is_ascii_digit(),
            false => first.is_ascii_uppercase() && !appends,
        };
        if length > 0 && opens {
            let start = self.start + self.at + skip;
            self.lexer.heredocs.push_back(start..start + length);
            self.at += skip + length + usize::from(quoted);
        } else {
            self.at += 2;
        }
    }

    fn bracket(&mut self, byte: u8) {
        self.at += 1;
        let lexer = &mut *self.lexer;
        match byte {
            b'{' => {
                lexer.braces += 1;
                self.opens = true;
            }
            b'}' if lexer.templates.last() == Some(&lexer.braces) => {
                lexer.templates.pop();
                lexer.mode = Mode::Template;
            }
            b'}' => lexer.braces = lexer.braces.saturating_sub(1),
            b'(' | b'[' => lexer.parentheses += 1,
            b')' | b']' => lexer.parentheses = lexer.parentheses.saturating_sub(1),
            _ => {}
        }
    }

    fn comment(&mut self, byte: u8, depth: usize) {
        self.commented |= !byte.is_ascii_whitespace();
        let nests = self.lexer.language == Language::Rust;
        if self.next_is(b"*/") {
            self.at += 2;
            self.lexer.mode = match depth {
                0 | 1 => Mode::Code,
                _ => Mode::Comment(depth - 1),
            };
        } else if nests && self.next_is(b"/*") {
            self.at += 2;
            self.lexer.mode = Mode::Comment(depth + 1);
        } else {
            self.at += 1;
        }
    }

    fn template(&mut self, byte: u8) {
        match byte {
            b'\\' => self.at += 2,
            b'`' => {
                self.lexer.mode = Mode::Code;
                self.at += 1;
            }
            b'$' if self.next_is(b"${") => {
                self.lexer.templates.push(self.lexer.braces);
                self.lexer.mode = Mode::Code;
                self.at += 2;
            }
            _ => self.at += 1,
        }
    }
}
