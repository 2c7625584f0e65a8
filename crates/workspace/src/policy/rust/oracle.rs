//! The lexer against the one that procedural macros are written with.

use super::lex::{Lexer, TokenKind};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use proptest::prelude::*;

const PIECES: [&str; 56] = [
    "a",
    "unwrap",
    "r#b",
    "_",
    "ä",
    "1",
    "0x1f",
    "1.5",
    "1e3",
    "2u8",
    "'a'",
    "'\\''",
    "'\"'",
    "'static",
    "b'x'",
    "\"s\"",
    "\"\\\"\"",
    "b\"s\"",
    "c\"s\"",
    "r\"s\"",
    "r#\"\"x\"#",
    "br##\"\"#\"##",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "{",
    "}",
    ".",
    "..",
    "..=",
    "::",
    ":",
    ";",
    ",",
    "!",
    "#",
    "+",
    "-",
    "*",
    "/",
    "=",
    "<",
    ">",
    "&",
    "|",
    " ",
    "\n",
    "// c\n",
    "/* c */",
    "/* /* */ */",
    "\u{200e}",
];

/// Lists the tokens of another lexer: names, brackets and marks; every literal is one word.
fn theirs(stream: TokenStream, out: &mut Vec<String>) {
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                out.push(String::from(open));
                theirs(group.stream(), out);
                out.push(String::from(close));
            }
            TokenTree::Ident(ident) => out.push(ident.to_string()),
            // A lifetime is a quote and a name.
            TokenTree::Punct(mark)
                if mark.as_char() == '\'' && mark.spacing() == Spacing::Joint => {}
            TokenTree::Punct(mark) => out.push(mark.as_char().to_string()),
            TokenTree::Literal(_) => out.push(String::from("literal")),
        }
    }
}

fn ours(text: &str) -> Option<Vec<String>> {
    let mut out = Vec::new();
    for token in Lexer::new(text) {
        let token = token.ok()?;
        match token.kind {
            TokenKind::Literal => out.push(String::from("literal")),
            TokenKind::Lifetime => out.push(String::from(&token.text[1..])),
            TokenKind::Path | TokenKind::Dots => out.extend(token.text.chars().map(String::from)),
            _ => out.push(String::from(token.text)),
        }
    }
    Some(out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Our lexer agrees with the other one on every text that the other one accepts. Pieces are
    /// separated, because one lexer reads joined pieces, such as a string and its suffix, as one
    /// token and the other as two.
    #[test]
    fn tokens_are_those_of_another_lexer(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..16)) {
        let text = pieces.join(" ");
        if let Ok(stream) = text.parse::<TokenStream>() {
            let mut wanted = Vec::new();
            theirs(stream, &mut wanted);
            prop_assert_eq!(ours(&text), Some(wanted));
        }
    }
}
