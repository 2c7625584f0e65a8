//! A map of bounded size. The least recently used entry is dropped.

use std::collections::{BTreeMap, HashMap};

#[derive(Debug)]
pub(super) struct RecentMap<V> {
    max: usize,
    entries: HashMap<String, (u64, V)>,
    /// Keys by last use, the oldest first.
    used: BTreeMap<u64, String>,
    uses: u64,
}

impl<V: Clone> RecentMap<V> {
    pub(super) fn new(max: usize) -> RecentMap<V> {
        RecentMap {
            max,
            entries: HashMap::new(),
            used: BTreeMap::new(),
            uses: 0,
        }
    }

    /// Returns the value of the key. Makes one if there is none.
    pub(super) fn get_or_insert(&mut self, key: &str, make: impl FnOnce() -> V) -> V {
        self.uses += 1;
        let value = match self.entries.remove(key) {
            Some((before, value)) => {
                self.used.remove(&before);
                value
            }
            None => make(),
        };
        self.used.insert(self.uses, key.to_owned());
        self.entries
            .insert(key.to_owned(), (self.uses, value.clone()));
        while self.entries.len() > self.max {
            let Some((_, oldest)) = self.used.pop_first() else {
                break;
            };
            self.entries.remove(&oldest);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_used_entry_is_dropped() {
        let mut map = RecentMap::new(2);
        assert_eq!(map.get_or_insert("a", || 1), 1);
        assert_eq!(map.get_or_insert("b", || 2), 2);
        assert_eq!(map.get_or_insert("a", || 9), 1);
        assert_eq!(map.get_or_insert("c", || 3), 3);
        assert_eq!(map.get_or_insert("a", || 9), 1);
        assert_eq!(map.get_or_insert("b", || 4), 4);
        assert_eq!((map.entries.len(), map.used.len()), (2, 2));
    }
}
