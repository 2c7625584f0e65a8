//! Finds the definitions of source code by the words that they start with.

use super::languages::{Keyword, KeywordForm, Language, Nesting};
use super::lexer::{LexedLine, Lexer, LineKind};

/// The most bytes of code that are read for the name of a definition.
const MOST_HEAD: usize = 400;

/// A definition at one of the two outermost levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    /// The offset of its first line, or of the comment above it.
    pub(super) start: usize,
    /// 1 or 2.
    pub(super) level: u8,
    pub(super) name: String,
}

/// Finds the definitions in order.
pub(super) fn find_definitions(content: &str, language: Language) -> Vec<Definition> {
    let mut scan = DefinitionScanner {
        content,
        language,
        lexer: Lexer::new(content, language),
        lead: None,
        in_attribute: false,
        outer: None,
        enclosing: Vec::new(),
        definitions: Vec::new(),
    };
    let mut at = 0;
    for line in content.split_inclusive('\n') {
        scan.line(at, at + line.len());
        at += line.len();
    }
    scan.definitions
}

struct DefinitionScanner<'a> {
    content: &'a str,
    language: Language,
    lexer: Lexer<'a>,
    /// The offset of the comment or the attributes directly above the next line.
    lead: Option<usize>,
    /// True if an attribute goes on in the next line.
    in_attribute: bool,
    /// The definition at the outermost level whose body is being read, in languages with braces.
    outer: Option<OuterDefinition>,
    /// The indentations of the definitions around the next line, in languages without braces.
    enclosing: Vec<usize>,
    definitions: Vec<Definition>,
}

struct OuterDefinition {
    /// The name of a class, whose methods have no keyword.
    class: Option<String>,
    /// True once its body was opened.
    opened: bool,
}

/// The start of a definition.
struct Head {
    name: String,
    class: Option<String>,
}

impl DefinitionScanner<'_> {
    fn line(&mut self, start: usize, end: usize) {
        let line = self.lexer.line(start..end);
        match line.kind {
            LineKind::Blank => {
                self.lead = None;
                self.in_attribute = false;
            }
            LineKind::Comment => {
                self.lead.get_or_insert(start);
            }
            LineKind::InString if self.in_attribute => {}
            LineKind::InString => self.lead = None,
            LineKind::Code => self.code(start, end, &line),
        }
        if self.in_attribute && line.kind != LineKind::Blank {
            self.in_attribute = self.lexer.parentheses > 0;
        }
        self.follow_braces(&line, self.content.get(start..end).unwrap_or(""));
    }

    fn code(&mut self, start: usize, end: usize, line: &LexedLine) {
        if self.in_attribute {
            return;
        }
        let text = self.content.get(line.code..end).unwrap_or("");
        if line.parentheses == 0 && self.language.is_attribute(text) {
            if let Some(rest) = after_attributes(text).filter(|rest| !rest.trim().is_empty()) {
                // A definition follows on the same line.
                let code = end - rest.len();
                self.define(start, code, line);
                return;
            }
            self.lead.get_or_insert(start);
            self.in_attribute = true;
            return;
        }
        self.define(start, line.code, line);
    }

    /// Adds the definition that starts at the offset `code`, if there is one.
    fn define(&mut self, start: usize, code: usize, line: &LexedLine) {
        let lead = self.lead.take().unwrap_or(start);
        let indent = code - start;
        let end = self.content.floor_char_boundary(code + MOST_HEAD);
        let text = self.content.get(code..end).unwrap_or("");
        let in_brackets = match self.language.table().nesting {
            Nesting::Braces => line.parentheses > 0 || line.braces > 1,
            Nesting::Indentation => line.parentheses > 0 || line.braces > 0,
        };
        // An unusual literal or an expression of JSX may have hidden a bracket.
        let resets = self.language.recovers() && indent == 0 && line.parentheses + line.braces > 0;
        if in_brackets && !resets {
            return;
        }
        let outermost = line.braces == 0 || resets;
        let head = match self.keyword_head(text) {
            None if !outermost => self.method_head(text),
            head => head,
        };
        if head.is_some() && resets {
            let rest = self.content.get(start..).unwrap_or("");
            let length = rest.find('\n').map_or(rest.len(), |end| end + 1);
            self.lexer.restart(start..start + length);
            self.outer = None;
        }
        match self.language.table().nesting {
            Nesting::Braces => {
                let Some(head) = head else { return };
                let level = if outermost || self.outer.is_none() {
                    1
                } else {
                    2
                };
                if outermost {
                    let (class, opened) = (head.class.clone(), false);
                    self.outer = Some(OuterDefinition { class, opened });
                }
                self.push(lead, level, head);
            }
            Nesting::Indentation => {
                if head.is_none() && resets {
                    return;
                }
                self.enclosing.retain(|outer| *outer < indent);
                let Some(head) = head else { return };
                let level = self.enclosing.len() + 1;
                self.enclosing.push(indent);
                if level <= 2 {
                    self.push(lead, if level == 1 { 1 } else { 2 }, head);
                }
            }
        }
    }

    fn push(&mut self, start: usize, level: u8, head: Head) {
        let name = head.name;
        self.definitions.push(Definition { start, level, name });
    }

    /// Notes the end of the outer definition.
    fn follow_braces(&mut self, line: &LexedLine, text: &str) {
        if self.lexer.braces > 0 || self.lexer.parentheses > 0 {
            if let Some(outer) = &mut self.outer {
                outer.opened |= line.opens;
            }
            return;
        }
        let ends = |outer: &mut OuterDefinition| {
            outer.opened || line.opens || text.trim_end().ends_with(';')
        };
        self.outer.take_if(ends);
    }

    /// Returns the head of a definition that starts with a keyword.
    fn keyword_head(&self, text: &str) -> Option<Head> {
        let table = self.language.table();
        let mut rest = text;
        loop {
            let found = table
                .keywords
                .iter()
                .find_map(|keyword| Some((keyword, after_word(rest, keyword.word)?)));
            if let Some((keyword, after)) = found
                && let Some(head) = self.head(keyword, after)
            {
                return Some(head);
            }
            let after = table
                .modifiers
                .iter()
                .find_map(|word| after_word(rest, word))?;
            rest = skip_modifier_arguments(after);
        }
    }

    /// Returns the head with the name behind a keyword.
    fn head(&self, keyword: &Keyword, after: &str) -> Option<Head> {
        let word = keyword.word;
        let name = match keyword.form {
            KeywordForm::Implementation => {
                let target = until_body(after);
                return Some(Head {
                    name: format!("{word} {}", without_generics(target).trim()),
                    class: None,
                });
            }
            KeywordForm::Function => {
                let text = after.trim_start();
                let receiver = match text.starts_with('(') {
                    true => text.find(')').map_or(0, |end| end + 1),
                    false => 0,
                };
                let (receiver, rest) = text.split_at(receiver);
                let space = if receiver.is_empty() { "" } else { " " };
                let name = name_of(rest.trim_start())?;
                format!("{receiver}{space}{name}")
            }
            KeywordForm::WithBody => {
                let name = name_of(after.trim_start())?;
                let body = after
                    .find(['{', ';'])
                    .and_then(|at| after.as_bytes().get(at));
                (body == Some(&b'{')).then(|| name.to_owned())?
            }
            KeywordForm::Alias => {
                let text = after.trim_start();
                let name = name_of(text)?;
                let rest = text.get(name.len()..)?.trim_start();
                rest.starts_with(['=', '<']).then(|| name.to_owned())?
            }
            KeywordForm::Binding => {
                let text = after.trim_start();
                let name = name_of(text)?;
                binds_function(text.get(name.len()..)?).then(|| name.to_owned())?
            }
            KeywordForm::Named | KeywordForm::Class => {
                let text = after.trim_start().trim_start_matches('*').trim_start();
                match name_of(text) {
                    Some(name) => name.to_owned(),
                    None => unusual_name(text, self.language)?,
                }
            }
        };
        let class = (keyword.form == KeywordForm::Class).then(|| name.clone());
        let name = format!("{word} {name}").trim_end().to_owned();
        Some(Head { name, class })
    }

    /// Returns the head of a method that has no keyword, in the body of a class.
    fn method_head(&self, text: &str) -> Option<Head> {
        let class = self.outer.as_ref()?.class.as_ref()?;
        let name = match self.language {
            Language::JavaScript => javascript_method(text),
            _ => java_method(text, class),
        }?;
        Some(Head { name, class: None })
    }
}

/// Returns the text after a word, if the text starts with that word.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    let goes_on = rest.starts_with(|next: char| {
        next.is_alphanumeric() || matches!(next, '_' | '$' | '-' | ':' | '?' | '=')
    });
    (!goes_on).then_some(rest)
}

/// Returns the text after the arguments of a modifier, such as the `(crate)` of `pub` or the `"C"` of `extern`.
fn skip_modifier_arguments(text: &str) -> &str {
    let text = text.trim_start();
    let close = match text.as_bytes().first() {
        Some(b'(') => ')',
        Some(b'"') => '"',
        _ => return text,
    };
    let end = text.get(1..).and_then(|rest| rest.find(close));
    end.and_then(|end| text.get(end + 2..))
        .unwrap_or("")
        .trim_start()
}

/// Returns the text after attributes, or `None` if one of them goes on in the next line.
fn after_attributes(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let line = rest.split('\n').next().unwrap_or("");
        if line.starts_with('@') && !line.starts_with("@interface") {
            let name = line.bytes().skip(1).take_while(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$')
            });
            rest = rest.get(1 + name.count()..)?;
            if rest.starts_with('(') {
                rest = rest.get(balanced(rest)?..)?;
            }
        } else if line.starts_with("#[") {
            rest = rest.get(1..)?;
            rest = rest.get(balanced(rest)?..)?;
        } else {
            return Some(rest);
        }
        rest = rest.trim_start_matches([' ', '\t']);
    }
}

/// Returns the length of a text in brackets that ends in its first line.
fn balanced(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' if depth == 1 => return Some(at + 1),
            b')' | b']' => depth = depth.checked_sub(1)?,
            b'\n' => return None,
            _ => {}
        }
    }
    None
}

/// Returns the name at the start of a text. It may be qualified by `.` or `::`, and end in the `?` or `!` of Ruby.
fn name_of(text: &str) -> Option<&str> {
    let of_name = |char: char| char.is_alphanumeric() || matches!(char, '_' | '$' | '#');
    let mut end = 0;
    loop {
        let rest = text.get(end..)?;
        let part = rest.find(|char| !of_name(char)).unwrap_or(rest.len());
        if part == 0 {
            break;
        }
        end += part;
        let rest = text.get(end..)?;
        let dots = ["::", "."].iter().find(|dots| rest.starts_with(**dots));
        let more = dots.and_then(|dots| rest.get(dots.len()..));
        match dots.filter(|_| more.is_some_and(|more| more.starts_with(of_name))) {
            Some(dots) => end += dots.len(),
            None => {
                end += usize::from(rest.starts_with(['?', '!']));
                break;
            }
        }
    }
    text.get(..end).filter(|name| !name.is_empty())
}

/// Returns the name of something without an ordinary one: an anonymous function or class, the class of an object, or an
/// operator of Ruby. Returns `None` if the text is not a definition.
fn unusual_name(text: &str, language: Language) -> Option<String> {
    if let Some(of) = text.strip_prefix("<<").map(str::trim_start)
        && let Some(name) = name_of(of)
    {
        return Some(format!("<< {name}"));
    }
    if language == Language::Ruby {
        let operator = |byte: &u8| b"=<>+-*/%&|^~![]@`".contains(byte);
        let length = text.bytes().take_while(operator).count();
        return text
            .get(..length.min(4))
            .filter(|name| !name.is_empty())
            .map(str::to_owned);
    }
    text.starts_with(['(', '{', '<']).then(String::new)
}

/// Returns the text before the body of an implementation.
fn until_body(text: &str) -> &str {
    let end = text.find(['{', ';']).unwrap_or(text.len());
    let head = text.get(..end).unwrap_or("");
    let conditions = head.find("where").filter(|at| {
        let before = head.as_bytes().get(at.wrapping_sub(1));
        before.is_some_and(u8::is_ascii_whitespace)
    });
    head.get(..conditions.unwrap_or(head.len())).unwrap_or("")
}

/// Returns the text without type parameters, and with single spaces.
fn without_generics(text: &str) -> String {
    let (mut kept, mut depth, mut before) = (String::new(), 0usize, ' ');
    for char in text.chars() {
        match char {
            '<' => depth += 1,
            // The arrow of a function type closes nothing.
            '>' if before != '-' => depth = depth.saturating_sub(1),
            char if depth == 0 => kept.push(char),
            _ => {}
        }
        before = char;
    }
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns true if the text behind a name binds it to a function or a class.
fn binds_function(text: &str) -> bool {
    let line = text.split('\n').next().unwrap_or("");
    let Some((_, value)) = line.split_once('=') else {
        return false;
    };
    let value = value.trim();
    let starts = ["function", "class", "async"];
    let starts = starts.iter().any(|word| after_word(value, word).is_some());
    starts || value.contains("=>") || (value.starts_with('(') && value.ends_with(['(', ',']))
}

/// The words that start a statement with parentheses, which is not a method.
const STATEMENTS: [&str; 14] = [
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "return",
    "new",
    "throw",
    "else",
    "do",
    "try",
    "super",
    "this",
    "synchronized",
];

/// Returns the name of a method of JavaScript, or of a field that is a function.
fn javascript_method(text: &str) -> Option<String> {
    const MODIFIERS: [&str; 11] = [
        "static",
        "async",
        "get",
        "set",
        "public",
        "private",
        "protected",
        "readonly",
        "override",
        "abstract",
        "accessor",
    ];
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches('*').trim_start_matches([' ', '\t']);
        let name = name_of(rest)?;
        let after = rest.get(name.len()..)?;
        let next = after.trim_start_matches([' ', '\t']);
        // A method may be called `get`.
        let last = next.starts_with(['(', '<', '=', ':', ';', '?', '!', '\n', '\r']);
        if MODIFIERS.contains(&name) && !last {
            rest = next;
            continue;
        }
        let called = next.starts_with(['(', '<']);
        let field = next.starts_with(['=', ':']) && binds_function(next);
        let is_method = (called || field) && !STATEMENTS.contains(&name);
        return is_method.then(|| name.to_owned());
    }
}

/// Returns the name of a method or a constructor of Java.
fn java_method(text: &str, class: &str) -> Option<String> {
    let head = text.get(..text.find('(')?)?;
    if head.contains(['=', ';', '{', '}', '"']) {
        return None;
    }
    let plain = without_generics(head);
    let words: Vec<&str> = plain.split_whitespace().collect();
    let (name, before) = words.split_last()?;
    let is_name = |word: &str| {
        word.chars()
            .all(|char| char.is_alphanumeric() || matches!(char, '_' | '$'))
    };
    let is_type = |word: &&str| {
        word.chars().all(|char| {
            char.is_alphanumeric() || matches!(char, '_' | '$' | '.' | '[' | ']' | '@' | '-' | ',')
        })
    };
    let statement = words
        .iter()
        .any(|word| STATEMENTS.contains(word) && *word != "synchronized");
    let modifiers = [
        "public",
        "protected",
        "private",
        "static",
        "final",
        "abstract",
        "synchronized",
        "native",
        "default",
        "strictfp",
    ];
    let typed = before
        .iter()
        .any(|word| !modifiers.contains(word) && !word.starts_with('@'));
    let method =
        is_name(name) && before.iter().all(is_type) && !statement && (typed || *name == class);
    method.then(|| (*name).to_owned())
}
