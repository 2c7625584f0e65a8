//! Computes the index entries of one document: its passages, their terms, and the frequency of each.
//!
//! The words of a passage's headings count as if its text contained them once more. Stop words are left out, except those
//! of headings: a page may be called `this` or `if...else`, and a query of nothing but stop words searches them there.

use super::analyser::{Analyser, NumberedTerm};
use super::split::{Passage, split_masked};
use super::syntax::Syntax;
use super::word_mask::WordMask;
use crate::tokenizer::Tokenizer;

/// The sizes of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassageFacts {
    /// Its tokens in a budget.
    pub tokens: u32,
    /// Its length in terms, with headings and without stop words.
    pub length: u32,
}

/// Visits the terms of every passage (ordinal of the passage, term, frequency), each term once per passage, and returns
/// the sizes of the passages.
pub fn document_terms(
    content: &str,
    syntax: Syntax,
    tokenizer: Tokenizer,
    analyser: &mut Analyser,
    mut visit: impl FnMut(u32, NumberedTerm<'_>, u32),
) -> Vec<PassageFacts> {
    analyser.forget_if_full();
    let mut counts = TermCounts::default();
    let mask = WordMask::of(content, syntax);
    let passages = split_masked(content, syntax, &mask);
    let mut facts = Vec::with_capacity(passages.len());
    for (ordinal, passage) in (0..).zip(&passages) {
        let length = counts.take(content, passage, &mask, analyser);
        counts.give(|number, count| visit(ordinal, analyser.named(number), count));
        facts.push(PassageFacts {
            tokens: tokens(content, passage, tokenizer),
            length,
        });
    }
    facts
}

/// Returns the tokens of a passage.
fn tokens(content: &str, passage: &Passage, tokenizer: Tokenizer) -> u32 {
    let text = content.get(passage.range.clone()).unwrap_or("");
    u32::try_from(tokenizer.count(text)).unwrap_or(u32::MAX)
}

/// The frequencies of the terms of one passage, in the order of their first occurrence.
#[derive(Default)]
struct TermCounts {
    /// By the number of the term; 0 for terms that the passage does not contain.
    counts: Vec<u32>,
    seen: Vec<u32>,
}

impl TermCounts {
    /// Counts the terms of a passage. Returns its length.
    fn take(
        &mut self,
        content: &str,
        passage: &Passage,
        mask: &WordMask,
        analyser: &mut Analyser,
    ) -> u32 {
        let mut length: u32 = 0;
        mask.visible(content, passage.range.clone(), |text| {
            analyser.terms(text, |term| {
                if !term.stop {
                    self.add(term.number);
                    length += 1;
                }
            });
        });
        for heading in passage.heading_words() {
            analyser.terms(heading, |term| {
                self.add(term.number);
                length += u32::from(!term.stop);
            });
        }
        length
    }

    fn add(&mut self, number: u32) {
        let index = number as usize;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(index) {
            if *count == 0 {
                self.seen.push(number);
            }
            *count += 1;
        }
    }

    fn give(&mut self, mut visit: impl FnMut(u32, u32)) {
        for number in self.seen.drain(..) {
            if let Some(count) = self.counts.get_mut(number as usize) {
                visit(number, std::mem::take(count));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_of_headings_count_for_their_passage() {
        let content = "---\ntitle: This array\n---\n\nThe arrays of this page.\n";
        let mut given = Vec::new();
        let visit = |ordinal, term: NumberedTerm<'_>, tf| {
            given.push(format!("{ordinal} {} {tf}", term.text));
        };
        let facts = document_terms(
            content,
            Syntax::Markdown,
            Tokenizer::Bytes4,
            &mut Analyser::new(),
            visit,
        );
        assert_eq!(given, ["0 array 3", "0 page 1", "0 this 1"]);
        let (tokens, length) = (13, 4);
        assert_eq!(facts, [PassageFacts { tokens, length }]);
    }

    fn words_of(content: &str, syntax: Syntax) -> String {
        let mut words = Vec::new();
        let tokenizer = Tokenizer::Bytes4;
        document_terms(
            content,
            syntax,
            tokenizer,
            &mut Analyser::new(),
            |_, term, tf| {
                words.push(format!("{} {tf}", term.text));
            },
        );
        words.sort();
        words.join(", ")
    }

    #[test]
    fn front_matter_gives_the_words_of_six_keys() {
        let content = "---\ntitle: One\nslug: secret/path\ndescription: two\nsummary: three\nintro: four\n\
            keywords: [five]\ntags:\n  - six\nauthor: nobody\n---\n\nseven\n";
        assert_eq!(
            words_of(content, Syntax::Markdown),
            "five 1, four 1, one 2, seven 1, six 1, three 1, two 1"
        );
    }

    #[test]
    fn template_tags_give_quoted_strings_only() {
        let content = "---\ntitle: Use {% data product %} {{ name \"well\" }}\n---\n\n# Go {{ref(\"there\")}}\n\n\
            {% note %} text {{ macro }} {{ macro('strings') }}\n";
        assert_eq!(
            words_of(content, Syntax::Markdown),
            "go 2, string 1, text 1, there 1, use 2, well 2"
        );
    }

    #[test]
    fn tag_that_a_cut_divides_gives_no_words() {
        let content = format!("{{{{ {} }}}} text", "hidden ".repeat(1000));
        assert_eq!(words_of(&content, Syntax::Markdown), "text 1");
        let heading = format!("# One {{{{ {} }}}}\n\ntext", "hidden ".repeat(100));
        assert_eq!(words_of(&heading, Syntax::Markdown), "one 2, text 1");
    }

    #[test]
    fn names_of_mdx_give_no_words() {
        let content = "# One <Badge text=\"new\" />\n\nimport Tabs from 'theme'\n\n<Tabs group=\"two\">three</Tabs>\n";
        assert_eq!(
            words_of(content, Syntax::Mdx),
            "new 2, one 2, three 1, two 1"
        );
        let markdown = words_of(content, Syntax::Markdown);
        assert!(markdown.contains("import") && markdown.contains("group"));
    }

    #[test]
    fn used_analyser_gives_the_same_terms() {
        let mut analyser = Analyser::new();
        let given = |analyser: &mut Analyser| {
            let mut given = Vec::new();
            let facts = document_terms(
                "# One\n\ntwo\n\n# Three\n\none",
                Syntax::Markdown,
                Tokenizer::Bytes4,
                analyser,
                |ordinal, term, tf| {
                    given.push((ordinal, term.text.to_owned(), tf));
                },
            );
            (given, facts)
        };
        let first = given(&mut analyser);
        analyser.analyse("four five three two", |_| {});
        assert_eq!(given(&mut analyser), first);
    }
}
