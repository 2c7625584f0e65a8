//! The ids of the documents of a cache, in order and in one piece of memory.

use std::ops::Range;

/// The sorted ids of a cache. The number of an id is the number of its document.
#[derive(Debug, Default)]
pub(crate) struct DocumentIds {
    text: String,
    ends: Vec<usize>,
}

impl DocumentIds {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the id of a document, which must exist.
    pub(crate) fn get(&self, number: usize) -> &str {
        let start = match number.checked_sub(1) {
            Some(before) => self.ends[before],
            None => 0,
        };
        &self.text[start..self.ends[number]]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|number| self.get(number))
    }

    /// Returns the number of the document with this id.
    pub(crate) fn find(&self, id: &str) -> Option<u32> {
        let at = self.first_at_or_after(id.as_bytes());
        (at < self.len() && self.get(at) == id).then_some(at as u32)
    }

    /// Returns the numbers of the documents whose ids start with a prefix.
    pub(crate) fn starting_with(&self, prefix: &str) -> Range<usize> {
        let start = self.first_at_or_after(prefix.as_bytes());
        let end = self.partition_point(start, |id| id.starts_with(prefix.as_bytes()));
        start..end
    }

    /// Returns the number of the first document whose id is greater.
    pub(crate) fn first_after(&self, id: &str) -> usize {
        self.partition_point(0, |other| other <= id.as_bytes())
    }

    fn first_at_or_after(&self, id: &[u8]) -> usize {
        self.partition_point(0, |other| other < id)
    }

    /// Returns the first number from `start` on whose id is not `before` the point.
    fn partition_point(&self, start: usize, before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (start, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match before(self.get(middle).as_bytes()) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

impl<'a> FromIterator<&'a str> for DocumentIds {
    /// Takes ids in the order of their bytes.
    fn from_iter<I: IntoIterator<Item = &'a str>>(ids: I) -> DocumentIds {
        let mut all = DocumentIds::default();
        for id in ids {
            all.text.push_str(id);
            all.ends.push(all.text.len());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn lookups_agree_with_a_plain_scan(ids in proptest::collection::btree_set("[a/.]{0,4}", 0..40), asked in "[a/.]{0,3}") {
            let ids: BTreeSet<String> = ids;
            let sorted: Vec<&str> = ids.iter().map(String::as_str).collect();
            let all = DocumentIds::from_iter(sorted.iter().copied());
            prop_assert_eq!(all.iter().collect::<Vec<_>>(), sorted.clone());
            let found = sorted.iter().position(|id| *id == asked);
            prop_assert_eq!(all.find(&asked).map(|number| number as usize), found);
            let prefixed: Vec<&str> = all.starting_with(&asked).map(|at| all.get(at)).collect();
            let expected: Vec<&str> = sorted.iter().copied().filter(|id| id.starts_with(&asked)).collect();
            prop_assert_eq!(prefixed, expected);
            let after = sorted.iter().filter(|id| **id <= asked.as_str()).count();
            prop_assert_eq!(all.first_after(&asked), after);
        }
    }
}
