//! BM25 in integers: the weight of a term in a passage.
//!
//! `weight = idf · tf / (tf + k1 · (1 − b + b · length / average))`, `idf = ln((2N + 2) / (2df + 1))`, which is
//! `ln(1 + (N − df + ½) / (df + ½))`. A passage's score is the sum of its terms' weights. Weights and scores are in
//! millionths, every division is rounded down, and there is no floating point, so every machine gets the same scores.

use super::logarithm::{FRACTION, ln_ratio};

/// The value of 1: weights and scores are in millionths.
pub const SCALE: u64 = 1_000_000;

/// The parameter k1 of BM25, in thousandths.
const K1: u64 = 1200;

/// The parameter b of BM25, in thousandths.
const B: u64 = 750;

/// The number of fractional bits of a norm.
const NORM_FRACTION: u32 = 24;

/// The largest norm, so that adding a term's count to it cannot overflow.
const MOST_NORM: u64 = 1 << 56;

/// A term's inverse document frequency, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Idf(u64);

impl Idf {
    /// Takes the number of passages that contain the term, of all `passages`.
    pub(crate) fn new(passages: u32, holding: u32) -> Self {
        let numerator = 2 * u64::from(passages) + 2;
        let denominator = 2 * u64::from(holding) + 1;
        let logarithm = u128::from(ln_ratio(numerator, denominator));
        let scaled = (logarithm * u128::from(SCALE)) >> FRACTION;
        Idf(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

/// The length norm of a passage: `k1 · (1 − b + b · length / average)`, in units of 2⁻²⁴.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Norm(u64);

impl Norm {
    /// Takes the length of a passage, the number of all passages, and the sum of their lengths.
    pub(crate) fn new(length: u32, passages: u32, total: u64) -> Self {
        let total = u128::from(total.max(1));
        let own = u128::from(length) * u128::from(passages);
        let parts = u128::from(1000 - B) * total + u128::from(B) * own;
        let norm = ((u128::from(K1) * parts) << NORM_FRACTION) / (1_000_000 * total);
        Norm(u64::try_from(norm).unwrap_or(MOST_NORM).min(MOST_NORM))
    }
}

/// Returns the weight of a term that occurs `tf` times, in millionths. It is at least 1, so that every match counts.
pub(crate) fn weight(idf: Idf, tf: u32, norm: Norm) -> u64 {
    let tf = u64::from(tf) << NORM_FRACTION;
    let whole = tf + norm.0;
    let weight = match idf.0.checked_mul(tf) {
        Some(product) => product / whole.max(1),
        None => {
            let product = u128::from(idf.0) * u128::from(tf);
            u64::try_from(product / u128::from(whole)).unwrap_or(u64::MAX)
        }
    };
    weight.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// BM25 in floating point.
    fn bm25(passages: u32, holding: u32, tf: u32, length: u32, total: u64) -> f64 {
        let (all, holding, tf) = (f64::from(passages), f64::from(holding), f64::from(tf));
        let average = total as f64 / all;
        let idf = (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln();
        idf * tf / (tf + 1.2 * (0.25 + 0.75 * f64::from(length) / average))
    }

    fn score(passages: u32, holding: u32, tf: u32, length: u32, total: u64) -> u64 {
        let norm = Norm::new(length, passages, total);
        weight(Idf::new(passages, holding), tf, norm)
    }

    #[test]
    fn weight_agrees_with_a_calculation_by_hand() {
        // ln(2002 / 21) · 3 / (3 + 1.2) is 3.2552710…; the logarithm was rounded down before.
        assert_eq!(score(1000, 10, 3, 100, 100_000), 3_255_270);
    }

    #[test]
    fn extremes_do_not_overflow() {
        const MOST: u32 = u32::MAX;
        for passages in [0, 1, MOST] {
            for holding in [0, 1, MOST] {
                for tf in [0, 1, MOST] {
                    for length in [0, 1, MOST] {
                        for total in [0, 1, u64::MAX] {
                            assert!(score(passages, holding, tf, length, total) >= 1);
                        }
                    }
                }
            }
        }
    }

    prop_compose! {
        /// Values that can occur: a term's frequency is at most its passage's length, which is at most the total.
        fn collection()(passages in 1u32.., share in 0.0f64..=1.0, length in 1u32..)
            (holding in 1..=((f64::from(passages) * share) as u32).max(1),
             tf in 1..=length,
             total in u64::from(length).max(u64::from(passages))..=u64::from(length).saturating_mul(u64::from(passages)).max(u64::from(length).max(u64::from(passages))),
             passages in Just(passages), length in Just(length))
            -> (u32, u32, u32, u32, u64) {
            (passages, holding, tf, length, total)
        }
    }

    proptest! {
        #[test]
        fn weight_agrees_with_bm25((passages, holding, tf, length, total) in collection()) {
            let actual = score(passages, holding, tf, length, total) as f64;
            let expected = bm25(passages, holding, tf, length, total) * SCALE as f64;
            prop_assert!((actual - expected).abs() <= 2.0 + expected * 1e-6, "{actual} {expected}");
        }

        #[test]
        fn weight_grows_with_term_frequency((passages, holding, tf, length, total) in collection(), more: u32) {
            let higher = tf.saturating_add(more);
            prop_assert!(score(passages, holding, tf, length, total) <= score(passages, holding, higher, length, total));
        }

        #[test]
        fn weight_falls_with_length_and_document_frequency(
            (passages, holding, tf, length, total) in collection(), more: u32,
        ) {
            let weight = score(passages, holding, tf, length, total);
            prop_assert!(score(passages, holding, tf, length.saturating_add(more), total) <= weight);
            prop_assert!(score(passages, holding.saturating_add(more), tf, length, total) <= weight);
        }
    }
}
