//! The profile `rust-strict`: calls that end the program and unsafe code, outside tests. Judged on
//! tokens, so in macros too, and never in strings and comments.
//!
//! A macro that puts such a call together from pieces is not seen through: this keeps careless code
//! out, not an author who hides.

mod lex;
#[cfg(test)]
mod oracle;
mod test_items;

use super::report::{PolicyRule, RawFinding};
use lex::{Lexer, RustToken, TokenKind};
use test_items::TestItems;

/// Returns true if a file is Rust outside tests by its path. Below `src` the name of a folder proves nothing;
/// there `#![cfg(test)]` at the top of a file does.
pub(super) fn is_judged(path: &str) -> bool {
    let mut folders = path.split('/');
    let file = folders.next_back().unwrap_or_default();
    let named = folders.find(|folder| matches!(*folder, "src" | "tests" | "benches"));
    let suffix = file.rsplit_once('.').map(|(_, suffix)| suffix);
    suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("rs"))
        && !matches!(named, Some("tests" | "benches"))
}

/// Finds everything that is forbidden in a file. A file whose strings, comments or brackets do not
/// close is one finding, `not-rust`, and nothing else in it is reported, because the start of a
/// string is then uncertain.
pub(super) fn find(bytes: &[u8], text: &str) -> Vec<RawFinding> {
    let broken = |offset: usize| {
        let range = offset.min(text.len())..text.len();
        vec![RawFinding {
            rule: PolicyRule::NotRust,
            range,
        }]
    };
    // A compiler refuses text in another encoding than UTF-8.
    if bytes.len() != text.len() || bytes != text.as_bytes() {
        return broken(0);
    }
    let mut found = Vec::new();
    let mut exempt = TestItems::new();
    // The tokens just read, the last one first.
    let mut last: [Option<RustToken<'_>>; 3] = [None; 3];
    for token in Lexer::new(text) {
        let token = match token {
            Ok(token) => token,
            Err(offset) => return broken(offset),
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
                found.push(RawFinding { rule, range });
            }
        }
        last = [Some(token), last[0], last[1]];
    }
    found
}

/// A declaration of a module in another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declaration {
    /// For tests only.
    Test,
    Usual,
}

/// Returns how a file declares a module in another file, if it does. A module that is also declared
/// without a test is not one of a test.
pub(super) fn declaration_of(text: &str, name: &str) -> Option<Declaration> {
    let mut exempt = TestItems::new();
    let mut depth = 0_usize;
    let mut declaration = None;
    // The two tokens just read, the last one first, and whether the first of them is in a test.
    let mut last: [Option<(RustToken<'_>, bool)>; 2] = [None; 2];
    for token in Lexer::new(text) {
        let token = token.ok()?;
        match token.kind {
            TokenKind::Open(_) => depth += 1,
            TokenKind::Close(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        exempt.see(&token);
        if let (TokenKind::Mark(b';'), 0, [Some((named, _)), Some((word, is_test))]) =
            (token.kind, depth, last)
            && word.text == "mod"
            && named.is_name()
            && named.name() == name
        {
            declaration = match (declaration, is_test) {
                (None | Some(Declaration::Test), true) => Some(Declaration::Test),
                _ => Some(Declaration::Usual),
            };
        }
        last = [Some((token, exempt.now())), last[0]];
    }
    declaration
}

/// Returns the rule that a token and those before it break, with the token to report.
fn judged<'a>(
    token: &RustToken<'a>,
    last: &[Option<RustToken<'a>>; 3],
) -> Option<(PolicyRule, RustToken<'a>)> {
    if token.kind == TokenKind::Word && token.text == "unsafe" {
        return Some((PolicyRule::Unsafe, *token));
    }
    let kind = |index: usize| last[index].map(|token| token.kind);
    match (token.kind, kind(0)) {
        // `panic!(`
        (TokenKind::Open(_), Some(TokenKind::Mark(b'!'))) => {
            let name = last[1].filter(RustToken::is_name)?;
            let rule = match name.name() {
                "panic" => PolicyRule::Panic,
                "todo" => PolicyRule::Todo,
                "unimplemented" => PolicyRule::Unimplemented,
                _ => return None,
            };
            Some((rule, name))
        }
        // `.unwrap()`
        (TokenKind::Close(b')'), Some(TokenKind::Open(_)))
            if kind(2) == Some(TokenKind::Mark(b'.')) =>
        {
            called(last[1], "unwrap", PolicyRule::Unwrap)
        }
        // `.expect(`
        (TokenKind::Open(b'('), _) if kind(1) == Some(TokenKind::Mark(b'.')) => {
            called(last[0], "expect", PolicyRule::Expect)
        }
        // `Option::unwrap`, but not a module of that name
        (after, _) if kind(1) == Some(TokenKind::Path) && after != TokenKind::Path => {
            called(last[0], "unwrap", PolicyRule::Unwrap)
                .or_else(|| called(last[0], "expect", PolicyRule::Expect))
        }
        _ => None,
    }
}

fn called<'a>(
    token: Option<RustToken<'a>>,
    name: &str,
    rule: PolicyRule,
) -> Option<(PolicyRule, RustToken<'a>)> {
    let token = token.filter(RustToken::is_name)?;
    (token.name() == name).then_some((rule, token))
}
