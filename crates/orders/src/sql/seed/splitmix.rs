//! Pseudo-random numbers that are the same in every run.

/// The SplitMix64 generator, with its state.
pub(in crate::sql) struct SplitMix64(pub(in crate::sql) u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(in crate::sql) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(in crate::sql) fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let index = self.below(u64::try_from(all.len()).unwrap_or(1));
        all.get(usize::try_from(index).unwrap_or_default())
    }

    pub(in crate::sql) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    pub(in crate::sql) fn count(&mut self, first: i64, more: u64) -> i64 {
        first + i64::try_from(self.below(more)).unwrap_or_default()
    }
}
