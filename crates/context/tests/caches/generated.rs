//! Random sources and queries, of words and white space that are easy to get wrong.

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Words that differ in case, collide, or look alike.
const WORDS: &[&str] = &[
    "the",
    "The",
    "THE",
    "a",
    "A",
    "a.",
    "a,b",
    "'a'",
    "(a)",
    "-",
    "σ",
    "ς",
    "Σ",
    "ΟΔΟΣ",
    "οδος",
    "οδοσ",
    "ΟΔΟΣ.",
    "ΑΣ\u{301}",
    "İ",
    "i\u{307}",
    "i",
    "I",
    "ı",
    "ẞ",
    "ß",
    "ss",
    "SS",
    "\u{212a}",
    "k",
    "K",
    "Å",
    "å",
    "\u{212b}",
    "naïve",
    "NAÏVE",
    "e\u{301}",
    "É",
    "é",
    "\u{200b}",
    "Ⱥ",
    "ⱥ",
    "ﬁ",
    "fi",
    "𐐀",
    "𐐨",
    "ǅ",
    "ǆ",
    "x\u{1c}y",
    "\u{feff}a",
    "🦀",
    "0",
    "00",
];

/// White space, and characters that resemble it.
const GAPS: &[&str] = &[
    " ", "\n", "\r\n", "\t", "  ", "\u{a0}", "\u{85}", "\u{2028}", "\u{3000}", "\u{b}", "\u{200b}",
    "\u{180e}",
];

/// Words of queries that no document contains.
const ABSENT: &[&str] = &["absent", "zzz", "\u{1}"];

fn text(words: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    let pair = (select(words), select(GAPS));
    proptest::collection::vec(pair, 0..most)
        .prop_map(|pairs| pairs.iter().flat_map(|(word, gap)| [*word, *gap]).collect())
}

/// Returns contents: words, only white space, nothing, or one word repeated.
pub(crate) fn content() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => text(WORDS, 30),
        1 => text(&[""], 5),
        1 => (select(WORDS), 1..600usize).prop_map(|(word, times)| format!("{word} ").repeat(times)),
        1 => "\\PC{0,60}",
    ]
}

pub(crate) fn query() -> impl Strategy<Value = String> {
    let request: Vec<&'static str> = WORDS.iter().chain(ABSENT).copied().collect();
    let request: &'static [&'static str] = request.leak();
    prop_oneof![6 => text(request, 6), 1 => Just(String::new()), 1 => "[^\\x00]{0,20}"]
}

/// Returns paths, some in upper case. No two differ only in case, and none is a directory of another.
pub(crate) fn path(number: usize) -> String {
    let folders = ["", "b/", "B2/", "é/È/", "z.y/", "a-/", "a/"];
    let names = ["x", "Readme", "ΟΔΟΣ", "a b", "-"];
    let folder = folders[number % folders.len()];
    let name = names[number / folders.len() % names.len()];
    format!("{folder}{name}{number}.md")
}

/// Returns sources, some of which may have equal contents.
pub(crate) fn sources(most: usize) -> impl Strategy<Value = Vec<(String, String)>> {
    let contents = proptest::collection::vec(content(), 1..12);
    let which = proptest::collection::vec(any::<Index>(), 0..most);
    (contents, which).prop_map(|(contents, which)| {
        let one = |(number, index): (usize, &Index)| (path(number), index.get(&contents).clone());
        which.iter().enumerate().map(one).collect()
    })
}
