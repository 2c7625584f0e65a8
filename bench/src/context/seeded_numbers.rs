//! Random numbers that are the same in every run (SplitMix64 from a seed).

/// A sequence of numbers that the seed decides.
#[derive(Debug, Clone)]
pub(crate) struct SeededNumbers(u64);

impl SeededNumbers {
    pub(crate) fn new(seed: u64) -> Self {
        SeededNumbers(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound.max(1) as u64) as usize
    }

    /// Returns a fraction from zero up to, but not including, one.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_the_same_numbers() {
        let draw = |seed| {
            let mut chance = SeededNumbers::new(seed);
            [chance.number(), chance.number()]
        };
        assert_eq!(draw(0), [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        assert_ne!(draw(1), draw(2));
        let mut chance = SeededNumbers::new(7);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&chance.fraction())));
    }
}
