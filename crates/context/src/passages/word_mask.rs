//! The ranges of a document that give no words, although they belong to its passages.

use super::front_matter;
use super::jsx;
use super::syntax::Syntax;
use super::template_tags;
use std::ops::Range;

/// The ranges without words, sorted and disjoint.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WordMask(Vec<Range<usize>>);

impl WordMask {
    /// Finds the ranges of a document.
    pub(super) fn of(content: &str, syntax: Syntax) -> WordMask {
        let mut ranges = Vec::new();
        if !matches!(syntax, Syntax::Markdown | Syntax::Mdx) {
            return WordMask::default();
        }
        if let Some(matter) = front_matter::find(content) {
            let mut at = 0;
            for value in matter.values {
                ranges.push(at..value.start);
                at = value.end;
            }
            ranges.push(at..matter.text_end);
        }
        template_tags::find(content, |range| ranges.push(range));
        if syntax == Syntax::Mdx {
            jsx::find(content, |range| ranges.push(range));
        }
        WordMask::merged(ranges)
    }

    /// Finds the ranges of a title, which stands outside of the document.
    pub(super) fn of_title(title: &str) -> WordMask {
        let mut ranges = Vec::new();
        template_tags::find(title, |range| ranges.push(range));
        WordMask::merged(ranges)
    }

    fn merged(mut ranges: Vec<Range<usize>>) -> WordMask {
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged.retain(|range| !range.is_empty());
        WordMask(merged)
    }

    /// Visits the texts of a range of the document that give words.
    pub(super) fn visible<'a>(
        &self,
        content: &'a str,
        range: Range<usize>,
        mut visit: impl FnMut(&'a str),
    ) {
        let mut at = range.start;
        let first = self.0.partition_point(|masked| masked.end <= at);
        for masked in self.0.iter().skip(first) {
            if masked.start >= range.end {
                break;
            }
            if at < masked.start {
                visit(content.get(at..masked.start).unwrap_or(""));
            }
            at = masked.end;
        }
        if at < range.end {
            visit(content.get(at..range.end).unwrap_or(""));
        }
    }

    /// Returns true if a part of this range gives no words.
    pub(super) fn touches(&self, range: &Range<usize>) -> bool {
        let first = self.0.partition_point(|masked| masked.end <= range.start);
        self.0
            .get(first)
            .is_some_and(|masked| masked.start < range.end && !range.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn visible(mask: &WordMask, content: &str, range: Range<usize>) -> Vec<String> {
        let mut texts = Vec::new();
        mask.visible(content, range, |text| texts.push(text.to_owned()));
        texts
    }

    #[test]
    fn masked_text_is_left_out() {
        let mask = WordMask::merged(vec![8..9, 2..4, 3..5, 5..6]);
        assert_eq!(visible(&mask, "0123456789", 0..10), ["01", "67", "9"]);
        assert_eq!(visible(&mask, "0123456789", 3..8), ["67"]);
        assert_eq!(visible(&mask, "0123456789", 3..5), [""; 0]);
        assert!(mask.touches(&(5..7)) && !mask.touches(&(6..8)) && !mask.touches(&(9..10)));
    }

    proptest! {
        #[test]
        fn mask_agrees_with_a_table_of_bytes(
            ranges in proptest::collection::vec((0usize..40, 0usize..10), 0..12),
            start in 0usize..50, length in 0usize..50,
        ) {
            let content = "x".repeat(100);
            let mut table = [false; 100];
            for (start, length) in &ranges {
                table[*start..start + length].fill(true);
            }
            let ranges: Vec<_> = ranges.into_iter().map(|(start, length)| start..start + length).collect();
            let mask = WordMask::merged(ranges);
            let range = start..start + length;
            let shown: usize = visible(&mask, &content, range.clone()).iter().map(String::len).sum();
            prop_assert_eq!(shown, table[range.clone()].iter().filter(|masked| !**masked).count());
            prop_assert_eq!(mask.touches(&range), table[range].contains(&true));
        }
    }
}
