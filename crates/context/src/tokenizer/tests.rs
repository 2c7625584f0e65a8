//! Counts compared with another implementation of the same vocabulary.

use super::pieces::Pieces;
use super::*;
use crate::format::digest::Digest;
use crate::passages::{Language, Syntax, split};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use tiktoken_rs::CoreBPE;

fn reference() -> &'static CoreBPE {
    static LOADED: OnceLock<CoreBPE> = OnceLock::new();
    LOADED.get_or_init(|| tiktoken_rs::o200k_base().unwrap())
}

fn check(text: &str) {
    let expected = reference().encode_ordinary(text).len() as u64;
    assert_eq!(Tokenizer::O200k.count(text), expected, "{text:?}");
}

#[test]
fn vocabulary_is_the_published_file() {
    let file = vocabulary::decompressed().unwrap();
    assert_eq!(
        Digest::of(&file).to_string(),
        "sha256:446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    );
}

#[test]
fn names_and_numbers_are_fixed() {
    let all = Tokenizer::ALL.map(|one| (one.name(), one.number()));
    assert_eq!(all, [("bytes4", 0), ("o200k", 1)]);
    for one in Tokenizer::ALL {
        assert_eq!(Tokenizer::named(one.name()), Some(one));
        assert_eq!(Tokenizer::numbered(one.number()), Some(one));
    }
    assert_eq!(
        (Tokenizer::named("o200k_base"), Tokenizer::numbered(2)),
        (None, None)
    );
}

#[test]
fn known_texts_have_their_counts() {
    for (text, bytes4, o200k) in [
        ("", 0, 0),
        ("Hello, world!", 4, 4),
        ("<|endoftext|>", 4, 7),
        ("日本語", 3, 2),
    ] {
        assert_eq!(Tokenizer::Bytes4.count(text), bytes4, "{text}");
        assert_eq!(Tokenizer::O200k.count(text), o200k, "{text}");
        check(text);
    }
}

/// Words, and pieces where one rule meets another.
const PIECES: &[&str] = &[
    "the ",
    "Index",
    "getUserMedia",
    "HTMLElement's",
    "don't",
    "IT'S",
    "we'll ",
    "naïve ",
    "Straße",
    "日本語",
    "한국어",
    "हिन्दी",
    "e\u{301}",
    "Ǆ",
    "ʰ",
    "١٢٣",
    "12",
    "1234567",
    "½",
    "\u{1f600}",
    "\u{200d}",
    "\u{feff}",
    "\u{2028}",
    "\u{a0}",
    "\u{3000}",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    " \n ",
    "/",
    "//",
    "--",
    "!==",
    "{{",
    "}}",
    "\"",
    "'",
    "'s",
    "’s",
    "_",
    "\0",
    "a",
    "A",
    "aaaa",
    "zzzz",
    "qxjv",
    "https://example.org/a?b=c",
    "<|endoftext|>",
    "    return x;\n",
    "ſ",
    "K",
    "İ",
];

fn text(mut seed: u64, pieces: usize) -> String {
    let mut text = String::new();
    for _ in 0..pieces {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(PIECES[(seed >> 33) as usize % PIECES.len()]);
    }
    text
}

/// Counts passages in all syntaxes until there are ten thousand.
#[test]
fn ten_thousand_passages_have_the_counts_of_another_implementation() {
    let syntaxes = [
        Syntax::Markdown,
        Syntax::Plain,
        Syntax::Code(Language::Rust),
    ];
    let sources = [
        include_str!("../passages/split.rs"),
        include_str!("../passages/code/lexer.rs"),
        include_str!("../../../../ARCHITECTURE.md"),
        include_str!("../../../../docs/context.md"),
    ];
    let mut counted = 0;
    for content in sources {
        for passage in split(content, Syntax::Markdown) {
            check(&content[passage.range]);
            counted += 1;
        }
    }
    for seed in 0.. {
        let content = text(seed, 10 + (seed % 60) as usize);
        for passage in split(&content, syntaxes[seed as usize % 3]) {
            check(&content[passage.range]);
            counted += 1;
        }
        if counted >= 10_000 {
            break;
        }
    }
}

#[test]
fn hostile_texts_are_counted_in_bounded_time() {
    // A megabyte of one letter: quadratic work would take minutes here.
    let part = Tokenizer::O200k.count(&"a".repeat(Tokenizer::MOST_PIECE));
    assert!(part > 0 && part < 1 << 18);
    // A longer piece is counted in parts.
    let (longer, mut lengths) = ("a".repeat(Tokenizer::MOST_PIECE + 1), Vec::new());
    let _ = Pieces::new().unwrap().visit(&longer, |piece| {
        lengths.push(piece.len());
        ControlFlow::Continue(())
    });
    assert_eq!(lengths, [Tokenizer::MOST_PIECE, 1]);
    for piece in [
        "A", " ", "\n", "é", "ab", "aB", "!", "'", "1", "a\u{301}", "\u{301}", " \n", "'s",
    ] {
        let text = piece.repeat((1 << 16) / piece.len());
        let count = Tokenizer::O200k.count(&text);
        assert!(count > 0 && count <= text.len() as u64, "{piece:?}");
    }
    check(&"a".repeat(5000));
    check(&" ".repeat(5000));
    check(&text(7, 3000));
}

/// The pattern as it is published.
const PUBLISHED: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"|\s*[\r\n]+",
    r"|\s+(?!\S)",
    r"|\s+",
);

proptest! {
    #[test]
    fn pieces_are_those_of_the_published_pattern(seed: u64, pieces in 0usize..40, any in "(?s).{0,40}") {
        static PATTERN: OnceLock<(fancy_regex::Regex, Pieces)> = OnceLock::new();
        let (published, ours) = PATTERN.get_or_init(|| {
            (fancy_regex::Regex::new(PUBLISHED).unwrap(), Pieces::new().unwrap())
        });
        for text in [text(seed, pieces), any] {
            let expected: Vec<&str> = published.find_iter(&text).map(|found| found.unwrap().as_str()).collect();
            let mut found = Vec::new();
            let _ = ours.visit(&text, |piece| {
                found.push(piece);
                ControlFlow::Continue(())
            });
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn counting_stops_at_the_limit(seed: u64, pieces in 0usize..40, most in 0u64..60) {
        let text = text(seed, pieces);
        for tokenizer in Tokenizer::ALL {
            let count = tokenizer.count(&text);
            match tokenizer.count_at_most(&text, most) {
                Ok(found) => prop_assert!(found == count && count <= most),
                Err(end) => {
                    prop_assert!(count > most);
                    // About as much as fits: the pieces before a cut are those of the whole text.
                    prop_assert!(end <= text.len());
                    if tokenizer == Tokenizer::O200k {
                        prop_assert!(text.is_char_boundary(end));
                    }
                }
            }
        }
    }

    #[test]
    fn any_text_has_the_count_of_another_implementation(text in "(?s).*") {
        check(&text);
    }
}
