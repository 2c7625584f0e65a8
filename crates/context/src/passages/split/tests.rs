//! Splitting: order, coverage, bounds, line numbers, and linear time on hostile input.

use super::super::analyser::Analyser;
use super::super::code::Language;
use super::super::document_terms::document_terms;
use super::*;
use crate::tokenizer::Tokenizer;
use proptest::prelude::*;

fn describe_passages(content: &str) -> String {
    split(content, Syntax::Markdown)
        .iter()
        .map(|passage| {
            let (from, to) = passage.lines;
            let heading = passage.heading.join(" > ");
            let text = &content[passage.range.clone()];
            format!("{from}-{to} [{heading}] {} {:?}\n", text.len(), head(text))
        })
        .collect()
}

fn head(text: &str) -> String {
    text.chars().take(24).collect()
}

fn prose(words: usize) -> String {
    "word ".repeat(words).trim_end().to_owned()
}

#[test]
fn sections_are_cut_at_headings_and_paragraphs_are_packed() {
    let content = format!(
        "---\ntitle: Page\n---\n\n{p}\n\n{p}\n\n## One\n\n{p}\n\n### Deep\n\n{p}\n{p}\n\n## Two\n\n{p}\n\n{p}\n",
        p = prose(90)
    );
    insta::assert_snapshot!(describe_passages(&content), @r####"
    1-7 [Page] 921 "---\ntitle: Page\n---\n\nwor"
    9-11 [Page > One] 457 "## One\n\nword word word w"
    13-16 [Page > One > Deep] 909 "### Deep\n\nword word word"
    18-22 [Page > Two] 908 "## Two\n\nword word word w"
    "####);
}

#[test]
fn small_section_is_joined_with_the_next_under_their_common_headings() {
    let content = format!(
        "# Page\n\n## See\n\nthis\n\n### Deeper\n\nthat\n\n## Also\n\nthose\n\n## Long\n\n{}",
        prose(310)
    );
    insta::assert_snapshot!(describe_passages(&content), @r####"
    1-13 [Page] 54 "# Page\n\n## See\n\nthis\n\n##"
    15-17 [Page > Long] 1558 "## Long\n\nword word word "
    "####);
}

#[test]
fn heading_without_text_stays_with_the_next_section() {
    insta::assert_snapshot!(describe_passages("# A\n\n## B\n\n### C\n\ntext\n"), @r####"
    1-7 [A > B > C] 22 "# A\n\n## B\n\n### C\n\ntext"
    "####);
    insta::assert_snapshot!(describe_passages("# A\n\n## B\n"), @r####"
    1-3 [A > B] 9 "# A\n\n## B"
    "####);
    insta::assert_snapshot!(describe_passages("---\ntitle: A\n---\n# A\n"), @r####"
    1-4 [A] 20 "---\ntitle: A\n---\n# A"
    "####);
}

#[test]
fn long_text_is_cut_at_lines_then_spaces_then_anywhere() {
    let lines = format!("{}\n", prose(20)).repeat(30);
    insta::assert_snapshot!(describe_passages(&lines), @r####"
    1-16 [] 1599 "word word word word word"
    17-30 [] 1399 "word word word word word"
    "####);
    insta::assert_snapshot!(describe_passages(&prose(700)), @r####"
    1-1 [] 1599 "word word word word word"
    1-1 [] 1599 "word word word word word"
    1-1 [] 299 "word word word word word"
    "####);
    insta::assert_snapshot!(describe_passages(&"é".repeat(1700)), @r####"
    1-1 [] 1600 "éééééééééééééééééééééééé"
    1-1 [] 1600 "éééééééééééééééééééééééé"
    1-1 [] 200 "éééééééééééééééééééééééé"
    "####);
}

#[test]
fn fenced_block_is_cut_only_if_it_exceeds_a_passage() {
    let fits = format!("{}\n\n```\n{}\n```\n", prose(100), "line\n\n".repeat(200));
    insta::assert_snapshot!(describe_passages(&fits), @r####"
    1-1 [] 499 "word word word word word"
    3-405 [] 1208 "```\nline\n\nline\n\nline\n\nli"
    "####);
    let heading = format!("# {}\n```\n{}```\n", prose(60), "line\n\n".repeat(250));
    insta::assert_snapshot!(describe_passages(&heading), @r####"
    1-1 [word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word] 301 "# word word word word wo"
    2-503 [word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word] 1507 "```\nline\n\nline\n\nline\n\nli"
    "####);
    let too_long = format!("```\n{}```\n", "line\n\n".repeat(400));
    insta::assert_snapshot!(describe_passages(&too_long), @r####"
    1-532 [] 1598 "```\nline\n\nline\n\nline\n\nli"
    534-802 [] 807 "line\n\nline\n\nline\n\nline\n\n"
    "####);
}

#[test]
fn long_heading_is_cut() {
    let content = format!("# {}\n\ntext", "long  heading ".repeat(1000));
    let passages = split(&content, Syntax::Markdown);
    let heading = &passages.last().unwrap().heading[0];
    assert!((190..=200).contains(&heading.chars().count()));
    assert!(heading.starts_with("long heading long"));
}

#[test]
fn white_space_has_no_passages() {
    for content in ["", "\n", " \t\r\n\u{85}\u{2028}\n", "\u{3000}"] {
        assert_eq!(split(content, Syntax::Markdown), []);
    }
    let far = format!("{}a{}b", " ".repeat(5000), "\n \u{85}".repeat(5000));
    let parts: Vec<&str> = split(&far, Syntax::Markdown)
        .into_iter()
        .map(|p| &far[p.range])
        .collect();
    assert_eq!(parts, ["a", " \u{85}b"]);
}

#[test]
fn hostile_documents_are_split_in_linear_time() {
    // Quadratic work would take minutes here; every one of these takes a fraction of a second.
    const SIZE: usize = 1 << 19;
    for piece in [
        "#",
        "#\n",
        "# x\n\na\n\n",
        "\n",
        "\r\n",
        " ",
        "\0",
        "```\n",
        "~~~",
        "`",
        "a\n=\n",
        "---\n",
        "\u{85}",
        "\u{2028}",
        "> ",
        "aB",
        "'",
        "- a\n---\n",
        "\u{feff}",
        "{{ \" }}",
        "{% ",
        "<a b={",
        "import {\n",
        "----\na\n",
        "a::\n\n b\n\n",
        ".. a::\n",
        "fn a() {\n",
        "/*",
        "r#\"",
        "r####",
        "\"\"\"\n",
        "`${",
        "(/[",
        "<<A",
        "def a\n",
        " class a\n",
        "class A {\nint a(",
        "@a(\n",
        "#[a\n",
        "// a\nfn a\n",
        "impl<",
        "}",
        "const a = (",
        "{{{{",
    ] {
        // Markdown first, then every syntax with less: their number makes up for it.
        check_in(&piece.repeat(SIZE / piece.len()), Syntax::Markdown);
        check(&piece.repeat(SIZE / 16 / piece.len()));
    }
    for content in [
        format!("```\n{}", "a\n\n".repeat(SIZE / 3)),
        format!("{}\n{}", "a".repeat(SIZE / 2), "---\n".repeat(SIZE / 8)),
        format!("---\ntitle: a\n{}", "a\n\n".repeat(SIZE / 3)),
    ] {
        check_in(&content, Syntax::Markdown);
    }
}

const SYNTAXES: [Syntax; 10] = [
    Syntax::Markdown,
    Syntax::Mdx,
    Syntax::RestructuredText,
    Syntax::Plain,
    Syntax::Code(Language::Rust),
    Syntax::Code(Language::Python),
    Syntax::Code(Language::JavaScript),
    Syntax::Code(Language::Go),
    Syntax::Code(Language::Java),
    Syntax::Code(Language::Ruby),
];

/// Checks the properties of every document, in every syntax.
fn check(content: &str) {
    for syntax in SYNTAXES {
        check_in(content, syntax);
        // Terms are computed too: they read the mask.
        let tokenizer = Tokenizer::Bytes4;
        document_terms(
            content,
            syntax,
            tokenizer,
            &mut Analyser::new(),
            |_, _, _| {},
        );
    }
}

fn check_in(content: &str, syntax: Syntax) {
    let mut at = 0;
    let mut line = 1;
    let mut number = |text: &str| {
        line += text.matches('\n').count() as u32;
        line
    };
    for passage in split(content, syntax) {
        let Range { start, end } = passage.range;
        assert!(content[at..start].trim().is_empty(), "a gap holds text");
        let text = &content[start..end];
        assert!(text.len() <= MOST_BYTES && !text.trim().is_empty());
        assert_eq!(text.trim_end(), text);
        let lines = (number(&content[at..start]), number(text));
        assert_eq!(passage.lines, lines);
        assert!(passage.heading.len() <= 7);
        assert!(
            passage
                .heading
                .iter()
                .all(|text| text.chars().count() <= MOST_HEADING)
        );
        at = end;
    }
    assert!(content[at..].trim().is_empty(), "the rest holds text");
}

fn markdown() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("# "),
        Just("## "),
        Just("###### "),
        Just("\n"),
        Just("\n\n"),
        Just("\r\n"),
        Just("```"),
        Just("~~~~\n"),
        Just("---\n"),
        Just("==="),
        Just("title: x\n"),
        Just("word "),
        Just("é\u{2028}"),
        Just("    "),
        Just("\0"),
        Just("- "),
        Just("aVeryLongWordWithoutAnyPlaceToCutItAt"),
    ];
    let repeated = (pieces, 1usize..60).prop_map(|(piece, times)| piece.repeat(times));
    proptest::collection::vec(repeated, 0..60).prop_map(|pieces| pieces.concat())
}

/// Returns text that is made of the pieces of all languages.
fn code() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "fn a",
        "pub struct B",
        "impl<T> C for D<T> ",
        "def e",
        "class F",
        "class << self",
        "func (g *G) H",
        "type I ",
        "function j",
        "const k = () => ",
        "export default ",
        "public void l",
        "@Override",
        "#[m]",
        "#",
        "//",
        "/*",
        "*/",
        "/// doc",
        "=begin",
        "=end",
        "<<~EOS",
        "EOS",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ":",
        "=",
        "<",
        ">",
        "\"",
        "'",
        "`",
        "${",
        "\"\"\"",
        "'''",
        "r#\"",
        "\"#",
        "'a",
        "'\\''",
        "/re[/]x/",
        "\n",
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        "    ",
        "\t",
        " ",
        "é",
        "日本",
        "\u{2028}",
        "\\",
        "where",
        "return ",
        "..",
        ".. a::",
        "::\n\n",
        "====",
        "----",
        "word",
        "{{",
        "}}",
        "{%",
        "%}",
        "---\ntitle: x\n---\n",
    ];
    let piece = proptest::sample::select(PIECES);
    proptest::collection::vec(piece, 0..200).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn passages_cover_every_markdown_document_in_order(content in markdown()) {
        check(&content);
    }

    #[test]
    fn passages_cover_any_text_in_order(content in "(?s).*") {
        check(&content);
    }

    #[test]
    fn passages_cover_any_code_in_order(content in code()) {
        check(&content);
    }
}
