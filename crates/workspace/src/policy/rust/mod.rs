//! The profile `rust-strict`: calls that end the program and unsafe code, outside tests. Judged on
//! tokens, so in macros too, and never in strings and comments.
//!
//! A macro that puts such a call together from pieces is not seen through: this keeps careless code
//! out, not an author who hides.

mod exempt;
mod lex;
#[cfg(test)]
mod oracle;

use super::report::{Raw, Rule};
use exempt::Exempt;
use lex::{Kind, Lexer, Token};

/// Whether a file is Rust outside tests by its path. Below `src` the name of a folder proves nothing;
/// there `#![cfg(test)]` at the top of a file does.
pub(super) fn is_judged(path: &str) -> bool {
    let mut folders = path.split('/');
    let file = folders.next_back().unwrap_or_default();
    let named = folders.find(|folder| matches!(*folder, "src" | "tests" | "benches"));
    let suffix = file.rsplit_once('.').map(|(_, suffix)| suffix);
    suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("rs"))
        && !matches!(named, Some("tests" | "benches"))
}

/// What is forbidden in a file, in its order. A file whose strings, comments or brackets do not close
/// is one finding, `not-rust`, and whatever else was seen in it is not told: where a string begins is
/// anybody's guess there.
pub(super) fn find(bytes: &[u8], text: &str) -> Vec<Raw> {
    let broken = |place: usize| {
        let range = place.min(text.len())..text.len();
        vec![Raw {
            rule: Rule::NotRust,
            range,
        }]
    };
    if bytes.len() != text.len() || bytes != text.as_bytes() {
        return broken(0);
    }
    let mut found = Vec::new();
    let mut exempt = Exempt::new();
    // The tokens just read, the last one first.
    let mut last: [Option<Token<'_>>; 3] = [None; 3];
    for token in Lexer::new(text) {
        let token = match token {
            Ok(token) => token,
            Err(place) => return broken(place),
        };
        let before = exempt.now();
        exempt.see(&token);
        if let Some((rule, at)) = judged(&token, &last) {
            // This token may begin the item that is exempt, or end the one that the finding is in.
            let exempted = match at.start == token.start {
                true => exempt.now(),
                false => before,
            };
            if !exempted {
                let range = at.start..at.start + at.text.len();
                found.push(Raw { rule, range });
            }
        }
        last = [Some(token), last[0], last[1]];
    }
    found
}

/// What a token and those before it make.
fn judged<'a>(token: &Token<'a>, last: &[Option<Token<'a>>; 3]) -> Option<(Rule, Token<'a>)> {
    if token.kind == Kind::Word && token.text == "unsafe" {
        return Some((Rule::Unsafe, *token));
    }
    let kind = |index: usize| last[index].map(|token| token.kind);
    match (token.kind, kind(0)) {
        // `panic!(`
        (Kind::Open(_), Some(Kind::Mark(b'!'))) => {
            let name = last[1].filter(Token::is_name)?;
            let rule = match name.name() {
                "panic" => Rule::Panic,
                "todo" => Rule::Todo,
                "unimplemented" => Rule::Unimplemented,
                _ => return None,
            };
            Some((rule, name))
        }
        // `.unwrap()`
        (Kind::Close(b')'), Some(Kind::Open(_))) if kind(2) == Some(Kind::Mark(b'.')) => {
            called(last[1], "unwrap", Rule::Unwrap)
        }
        // `.expect(`
        (Kind::Open(b'('), _) if kind(1) == Some(Kind::Mark(b'.')) => {
            called(last[0], "expect", Rule::Expect)
        }
        // `Option::unwrap`, but not a module of that name
        (after, _) if kind(1) == Some(Kind::Path) && after != Kind::Path => {
            called(last[0], "unwrap", Rule::Unwrap)
                .or_else(|| called(last[0], "expect", Rule::Expect))
        }
        _ => None,
    }
}

fn called<'a>(token: Option<Token<'a>>, name: &str, rule: Rule) -> Option<(Rule, Token<'a>)> {
    let token = token.filter(Token::is_name)?;
    (token.name() == name).then_some((rule, token))
}
