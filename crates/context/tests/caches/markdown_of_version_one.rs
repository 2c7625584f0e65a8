//! Markdown without front matter, template tags and MDX gives the passages, terms and scores of version 1.
//!
//! The snapshots were made by the code of version 1 with `INSTA_UPDATE=always cargo nextest run -p candor-context -E
//! 'test(markdown_of_version_one)'`; they never change.

use candor_context::passages::{Analyser, MemoryIndex, Syntax, document_terms, split};
use candor_context::{Digest, Tokenizer};
use std::fmt::Write;

const DOCUMENTS: u64 = 1000;

/// A generator of numbers that is the same everywhere (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

const WORDS: &[&str] = &[
    "the",
    "of",
    "and",
    "this",
    "if",
    "index",
    "indexes",
    "indexing",
    "query",
    "queries",
    "passage",
    "getUserMedia",
    "HTMLElement",
    "font-size",
    "snake_case",
    "Int32Array",
    "don't",
    "caches'",
    "café",
    "Straße",
    "日本語",
    "한국어",
    "e\u{301}t\u{e9}",
    "12px",
    "0.1",
    "--flag",
    "`inline`",
    "**bold**",
    "[link](to/page.md)",
    "<div class=\"note\">",
    "</div>",
    "{",
    "}",
    "{x}",
    "{ {",
    "} }",
    "%",
    "a|b",
    "http://example.org/a?b=c",
    "\\{",
    "running",
    "runs",
    "connection",
    "connected",
    "retry",
    "retries",
    "failure",
    "budget",
    "token",
    "—",
    "…",
    "\u{2028}",
    "import",
    "export",
    "import x from 'y'",
    "#none",
    "x\u{0}y",
    "\u{feff}",
    "verylongword_without_any_white_space_to_cut_it_at",
];

fn sentence(numbers: &mut Numbers, most: u64) -> String {
    let count = 1 + numbers.below(most);
    let words: Vec<&str> = (0..count).map(|_| numbers.one_of(WORDS)).collect();
    words.join(" ")
}

fn block(numbers: &mut Numbers) -> String {
    let end = numbers.one_of(&["\n", "\n", "\n", "\r\n"]);
    match numbers.below(16) {
        0 | 1 => {
            let level = 1 + numbers.below(7) as usize;
            format!("{} {}{end}", "#".repeat(level), sentence(numbers, 8))
        }
        2 => {
            let line = numbers.one_of(&["===", "---", "-", "=="]);
            format!("{}{end}{line}{end}", sentence(numbers, 6))
        }
        3 => {
            let mark = numbers.one_of(&["```", "~~~", "````"]);
            let mut text = format!("{mark}{}{end}", numbers.one_of(&["", "js", "sh"]));
            for _ in 0..numbers.below(60) {
                let line =
                    numbers.one_of(&["", "# no heading", "let x = { y: 1 };", "  - item", "```"]);
                let _ = write!(text, "{line}{end}");
            }
            let close = numbers.one_of(&[mark, mark, mark, ""]);
            format!("{text}{close}{end}")
        }
        4 => (0..1 + numbers.below(12))
            .map(|_| {
                format!(
                    "{} {}{end}",
                    numbers.one_of(&["-", "*", "1."]),
                    sentence(numbers, 12)
                )
            })
            .collect(),
        5 => format!(
            "| a | b |{end}|---|---|{end}| {} | x |{end}",
            sentence(numbers, 9)
        ),
        6 => format!("> {}{end}", sentence(numbers, 30)),
        7 => format!("    {}{end}", sentence(numbers, 10)),
        8 => sentence(numbers, 900) + end,
        9 => "x".repeat(numbers.below(4000) as usize) + end,
        10 => format!("---{end}"),
        _ => (0..1 + numbers.below(5))
            .map(|_| sentence(numbers, 25) + end)
            .collect(),
    }
}

/// Returns a document that has neither front matter nor template tags.
fn document(number: u64) -> String {
    let mut numbers = Numbers(number);
    let mut text = String::from(numbers.one_of(&["", "\n", "# ", "\n---\n", "\u{feff}# "]));
    for _ in 0..numbers.below(24) {
        text.push_str(&block(&mut numbers));
        text.push_str(numbers.one_of(&["\n", "\n", "\r\n", "", " \t\n", "\n\n\n"]));
    }
    assert!(!text.contains("{{") && !text.contains("{%"));
    match text.starts_with("---") {
        // A rule at the beginning could open front matter.
        true => format!("\n{text}"),
        false => text,
    }
}

fn digest(text: &str) -> String {
    let digest = Digest::of(text.as_bytes()).to_string();
    digest["sha256:".len()..][..16].to_owned()
}

/// Returns ranges, lines, headings, terms and sizes of a document's passages.
fn describe(content: &str, analyser: &mut Analyser) -> String {
    let mut text = String::new();
    for passage in split(content, Syntax::Markdown) {
        let _ = writeln!(
            text,
            "{:?} {:?} {:?}",
            passage.range, passage.lines, passage.heading
        );
    }
    let mut terms = String::new();
    let facts = document_terms(
        content,
        Syntax::Markdown,
        Tokenizer::Bytes4,
        analyser,
        |ordinal, term, tf| {
            let _ = writeln!(terms, "{ordinal} {:?} {tf}", term.text);
        },
    );
    for one in facts {
        let _ = writeln!(text, "{} {}", one.tokens, one.length);
    }
    text + &terms
}

#[test]
fn passages_and_terms_are_those_of_version_one() {
    let mut analyser = Analyser::new();
    let mut digests = String::new();
    for number in 0..DOCUMENTS {
        let described = describe(&document(number), &mut analyser);
        let _ = writeln!(digests, "{number:03} {}", digest(&described));
    }
    insta::assert_snapshot!(digests);
}

#[test]
fn scores_are_those_of_version_one() {
    let documents: Vec<String> = (0..DOCUMENTS).map(document).collect();
    let index = MemoryIndex::new(documents.iter().map(String::as_str));
    let mut numbers = Numbers(DOCUMENTS);
    let mut outcomes = String::new();
    for _ in 0..60 {
        let query = sentence(&mut numbers, 5);
        let outcome = index.search(&query, 4000);
        let _ = writeln!(
            outcomes,
            "{query:?} {} {}",
            outcome.considered, outcome.tokens_used
        );
        for hit in outcome.hits.iter().take(3) {
            let (document, passage) = index.locate(hit.passage);
            let _ = writeln!(outcomes, "  {document} {passage} {}", hit.score);
        }
        let all: String = outcome
            .hits
            .iter()
            .map(|hit| format!("{} {}\n", hit.passage, hit.score))
            .collect();
        let _ = writeln!(outcomes, "  all {}", digest(&all));
    }
    insta::assert_snapshot!(outcomes);
}
