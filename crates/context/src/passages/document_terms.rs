//! Computes the index entries of one document: its passages, their terms, and the frequency of each.
//!
//! The words of a passage's headings count as if its text contained them once more. Stop words are left out, except those
//! of headings: a page may be called `this` or `if...else`, and a query of nothing but stop words searches them there.

use super::analyser::{Analyser, NumberedTerm};
use super::split::{Passage, split};
use super::tokens;

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
    analyser: &mut Analyser,
    mut visit: impl FnMut(u32, NumberedTerm<'_>, u32),
) -> Vec<PassageFacts> {
    analyser.forget_if_full();
    let mut counts = TermCounts::default();
    let passages = split(content);
    let mut facts = Vec::with_capacity(passages.len());
    for (ordinal, passage) in (0..).zip(&passages) {
        let length = counts.take(content, passage, analyser);
        counts.give(|number, count| visit(ordinal, analyser.named(number), count));
        facts.push(PassageFacts {
            tokens: tokens(passage.range.len()),
            length,
        });
    }
    facts
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
    fn take(&mut self, content: &str, passage: &Passage, analyser: &mut Analyser) -> u32 {
        let mut length: u32 = 0;
        let text = content.get(passage.range.clone()).unwrap_or("");
        analyser.terms(text, |term| {
            if !term.stop {
                self.add(term.number);
                length += 1;
            }
        });
        for heading in &passage.heading {
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
        let facts = document_terms(content, &mut Analyser::new(), |ordinal, term, tf| {
            given.push(format!("{ordinal} {} {tf}", term.text));
        });
        assert_eq!(given, ["0 titl 1", "0 array 3", "0 page 1", "0 this 1"]);
        assert_eq!(
            facts,
            [PassageFacts {
                tokens: 13,
                length: 5
            }]
        );
    }

    #[test]
    fn used_analyser_gives_the_same_terms() {
        let mut analyser = Analyser::new();
        let given = |analyser: &mut Analyser| {
            let mut given = Vec::new();
            let facts = document_terms(
                "# One\n\ntwo\n\n# Three\n\none",
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
