//! Writes the page of figures: what was measured, how, and its limits.

use crate::cranfield::CranfieldFigures;
use crate::known_item::{KnownItemResults, QueryKindResult};
use crate::natural::NaturalResults;
use std::fmt::Write;

const HEAD: &str = "\
# Retrieval

This page measures how well `context passages` finds what a query asks for. It uses two collections that are not part of the repository: the Cranfield collection (`cran.all.1400`, `cran.qry`, `cranqrel`), and a tree of Markdown files, here the English documentation of MDN. `cargo xtask eval --cranfield DIR --corpus DIR --write` generates the page; do not edit it.
";

const CRANFIELD: &str = "
The command does not measure Lucene. Its row was measured once with trec_eval, on the same judgements and with the same number of results; it is not recorded which fields were indexed. The judgements refer to queries by their position, not by the number after `.I`, and every pair in the list counts as relevant. The averages are computed as trec_eval computes them, with 50 results per query. Each abstract is a Markdown document with its title as a heading and its text below. Long abstracts become several passages, and a document is ranked by its best passage.
";

const QUERIES: &str = "
The sample consists of the 400 documents whose ids have the smallest hashes, among the documents from which a query can be made. There are four kinds of queries:

- **title**: the unchanged title from the front matter.
- **spoken**: the title as a person would say it: identifiers split into words, in lower case, without punctuation.
- **opening**: up to ten words of the first sentence, without common words (*the*, *and*, *which*…) and without the words of the title, so that the query describes the document but does not name it.
- **sentence**: up to eight words, every second word of a sentence from anywhere in the document, without common words.

A document counts as found if the selection for the query, within the budget, contains it (v0, whole documents) or one of its passages (passages). *That passage* is stricter: the selection must contain the passage from which the query was made. A document that is larger than the budget cannot be found as a whole. A token is four bytes. *Passages, version 1* was measured once, before version 2, with the same queries; the command does not measure it again.

*v0* is the frozen selection of `context resolve`: matched words divided by all words, over whole documents. *Whole documents* is BM25 with the analyser and the parameters of the passages, but over whole documents. They are selected like passages: every document that still fits the budget.
";

const NATURAL: &str = "
The questions and judgements are in `crates/context/examples/evaluate/questions.txt`, for the English documentation of MDN. The questions were written before any search was run, in the words of a person who does not know the name of the answer; the judgements were made by reading documents, not results; nothing was tuned to them. A judgement names a document, and a phrase of the passage that answers, unless every passage does. A question counts as answered if the selection within the budget contains such a passage (passages) or such a document (v0, whole documents).
";

const METHOD: &str = "
## How it works

**Passages.** A Markdown document is cut at headings and between paragraphs into passages of at most 400 tokens of four bytes. Paragraphs of one section are put into one passage as long as they fit. A section of less than 100 tokens is joined with the next one. Fenced code is cut only if it is longer than a passage. Front matter belongs to the first passage, and its title is the topmost heading. reStructuredText is cut in the same way; literal blocks and directives are like fenced code. Code in Rust, Python, JavaScript, TypeScript, Go, Java and Ruby is cut before each definition at the two outermost levels, and the names of the definitions are its headings; all other text is cut between paragraphs.

**Terms.** Terms are sequences of letters and digits in lower case, without stop words, stemmed with Snowball's English stemmer. `getUserMedia` gives *get*, *user*, *media* and itself; `font-size` gives *font* and *size*. The headings above a passage count as if the passage contained them once more. Stop words in headings are kept, for queries that consist of stop words only (`if...else`, `this`).

**Words that do not count.** Of front matter only the values of `title`, `description`, `summary`, `intro`, `keywords` and `tags` give terms. A template tag `{% … %}` gives none, and `{{ … }}` only its quoted strings. In MDX, `import` and `export` statements and the names of tags and attributes give none. Version 1 did not have these rules; Markdown without front matter, template tags and MDX has the passages, terms and scores of version 1, and a test compares 1,000 documents.

**Scores.** Scores are BM25 with k1 = 1.2 and b = 0.75, computed as integers in millionths. A term counts once, no matter how often the query repeats it.

## Choices that were based on these figures

The collections are small, and there is no second collection to confirm the choices, so this table lists every variant that was tried. k1 and b have their usual values and were not tuned: a larger k1 would improve the results on Cranfield, but lose up to four points on known items. The variants were measured once, on Cranfield, when the choices were made; the command does not measure them again. Each row changes one thing:

| variant | MAP | P@5 | MRR |
|---|---|---|---|
| starting point: 33 stop words, as in Lucene; headings counted once | 0.411 | 0.452 | 0.817 |
| no stemming | 0.383 | 0.440 | 0.789 |
| Porter's first stemmer (written for the comparison, not checked against his vocabulary) | 0.411 | 0.451 | 0.814 |
| k1 = 1 | 0.406 | 0.449 | 0.813 |
| k1 = 1.5 | 0.416 | 0.453 | 0.819 |
| k1 = 2 | 0.422 | 0.456 | 0.823 |
| b = 0.6 | 0.408 | 0.451 | 0.808 |
| k1 = 0.9, b = 0.4 | 0.393 | 0.435 | 0.789 |
| headings not counted | 0.406 | 0.444 | 0.813 |
| headings counted twice | 0.412 | 0.452 | 0.818 |
| headings counted three times | 0.412 | 0.452 | 0.816 |
| headings counted five times | 0.411 | 0.448 | 0.814 |
| twice, but not in the length | 0.412 | 0.448 | 0.824 |
| twice, and a length of at least 40 terms | 0.411 | 0.452 | 0.816 |
| twice, and a length of at least 80 terms | 0.408 | 0.449 | 0.812 |
| twice, and repeated terms of a query counted | 0.409 | 0.452 | 0.811 |
| no stop words | 0.407 | 0.446 | 0.812 |
| **chosen**: pronouns, auxiliaries and question words are stop words too | 0.420 | 0.460 | 0.816 |
| prepositions and quantities too | 0.419 | 0.457 | 0.811 |
| the same, with Porter's first stemmer | 0.420 | 0.457 | 0.815 |
| prepositions, quantities, and words such as *find*, *use*, *given* | 0.424 | 0.460 | 0.820 |

The longest list of stop words was not chosen, because it loses up to two and a half points on known items, and its words were picked with these queries in mind.

The treatment of identifiers was chosen by known items: within 2,000 tokens, 95.2 % of *spoken* titles are found if an identifier gives its parts and itself, 94.5 % with the parts alone, and 72.5 % with itself alone. The other kinds of queries lose about one point. Small sections are joined because this reduces the number of passages from 126,000 to 75,000; it changes the results on known items by about one point, some up and some down.

## What these figures do not show

- They do not cover languages other than English. Words of other languages are found only as they are written, and ideographs one by one.
- They do not cover meaning. A query that shares no word with a passage does not find it.
- Known items show whether a document is found again, not whether an answer is good. *Opening* and *sentence* use the document's own words in their original forms, so they cannot show the benefit of stemming: without it they would be up to four points higher, and the MAP on Cranfield would be 0.03 lower. *Title* and *spoken* are easy for passages by construction, because the title counts as part of every passage of its document.
- A difference of less than three points between two columns of 400 queries may be chance.
";

/// Everything that was measured, as Markdown.
pub(crate) fn page(
    cranfield: &CranfieldFigures,
    known: &KnownItemResults,
    natural: &NaturalResults,
) -> String {
    let mut page = String::from(HEAD);
    page.push_str(&cranfield_section(cranfield));
    page.push_str(&known_section(known));
    page.push_str(&natural_section(natural));
    page.push_str(METHOD);
    page
}

fn cranfield_section(figures: &CranfieldFigures) -> String {
    let CranfieldFigures {
        documents,
        queries,
        judgements,
        map,
        p5,
        mrr,
    } = figures;
    format!(
        "\n## Cranfield\n\n{} documents, {queries} queries, {} judgements.\n\n\
         | | MAP | P@5 | MRR |\n|---|---|---|---|\n\
         | passages | {map:.3} | {p5:.3} | {mrr:.3} |\n\
         | Lucene, English analyser, BM25 | 0.405 | 0.447 | 0.805 |\n{CRANFIELD}",
        thousands(*documents),
        thousands(*judgements),
    )
}

fn known_section(known: &KnownItemResults) -> String {
    let mut section = format!(
        "\n## Known items\n\n{} documents, {:.1} MB, {} passages. The table shows how many of the wanted documents are found, in percent:\n\n\
         | query | budget | v0 | whole documents | passages, version 1 | passages | that passage |\n|---|---|---|---|---|---|---|\n",
        thousands(known.documents),
        known.bytes as f64 / 1e6,
        thousands(known.passages),
    );
    for (kind, before) in known.kinds.iter().zip(KNOWN_VERSION_ONE) {
        rows(&mut section, kind, before);
    }
    section.push_str("\nOne query of each kind:\n\n| kind | document | query |\n|---|---|---|\n");
    for kind in &known.kinds {
        let (id, query) = &kind.example;
        let _ = writeln!(section, "| {} | `{id}` | `{query}` |", kind.kind.name());
    }
    section.push_str(QUERIES);
    section
}

fn natural_section(results: &NaturalResults) -> String {
    let mut section = format!(
        "\n## Natural questions\n\n{} questions, {} judgements. The table shows how many questions are answered:\n\n\
         | budget | v0 | whole documents | passages, version 1 | passages |\n|---|---|---|---|---|\n",
        results.questions, results.judgements,
    );
    for (row, before) in results.rows.iter().zip(NATURAL_VERSION_ONE) {
        let _ = writeln!(
            section,
            "| {} | {} | {} | {before} | {} |",
            thousands(row.budget as usize),
            row.v0,
            row.whole,
            row.passages,
        );
    }
    section.push_str("\nWithin 4,000 tokens passages do not answer:\n\n");
    for question in &results.unanswered {
        let _ = writeln!(section, "- {question}");
    }
    section.push_str(NATURAL);
    section
}

/// The shares that version 1 of the passages found, by kind and budget. They were measured before version 2.
const KNOWN_VERSION_ONE: [[&str; 4]; 4] = [
    ["99.75", "99.75", "100.00", "100.00"],
    ["96.25", "97.50", "98.00", "98.50"],
    ["93.00", "94.00", "96.25", "98.00"],
    ["90.25", "94.00", "96.25", "97.75"],
];

/// The number of questions that version 1 of the passages answered, by budget. They were measured once, with the
/// same questions.
const NATURAL_VERSION_ONE: [usize; 4] = [36, 40, 42, 43];

fn rows(section: &mut String, result: &QueryKindResult, before: [&str; 4]) {
    for (row, before) in result.rows.iter().zip(before) {
        let share = |count: usize| format!("{:.2}", count as f64 * 100.0 / result.queries as f64);
        let exact = match result.kind.has_source() {
            true => share(row.exact),
            false => "–".to_owned(),
        };
        let _ = writeln!(
            section,
            "| {} | {} | {} | {} | {before} | {} | {exact} |",
            result.kind.name(),
            thousands(row.budget as usize),
            share(row.v0),
            share(row.whole),
            share(row.passages),
        );
    }
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}
