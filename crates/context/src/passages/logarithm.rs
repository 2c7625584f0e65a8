//! Computes natural logarithms in integers, so that every machine gets the same bits.

/// The number of fractional bits of a logarithm.
pub(super) const FRACTION: u32 = 32;

/// The natural logarithm of 2, in units of 2⁻³².
const LN_2: u64 = 2_977_044_472;

/// Returns the natural logarithm of `numerator / denominator`, rounded down, in units of 2⁻³², or 0 if it is negative.
pub(super) fn ln_ratio(numerator: u64, denominator: u64) -> u64 {
    let bits = log2(numerator).saturating_sub(log2(denominator));
    let product = (u128::from(bits) * u128::from(LN_2)) >> FRACTION;
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// Returns the logarithm to base 2, rounded down, in units of 2⁻³², or 0 for 0.
///
/// The number is written as 2^n · m with 1 ≤ m < 2. Squaring m doubles its logarithm: each time the square reaches 2,
/// the next fractional bit is 1, and the square is halved.
fn log2(number: u64) -> u64 {
    let Some(whole) = number.checked_ilog2() else {
        return 0;
    };
    let one = 1u128 << 63;
    let mut mantissa = u128::from(number) << (63 - whole);
    let mut logarithm = u64::from(whole);
    for _ in 0..FRACTION {
        mantissa = (mantissa * mantissa) >> 63;
        logarithm <<= 1;
        if mantissa >= one << 1 {
            mantissa >>= 1;
            logarithm |= 1;
        }
    }
    logarithm
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNIT: f64 = (1u64 << FRACTION) as f64;

    #[test]
    fn powers_of_two_are_exact() {
        for power in 0..64 {
            assert_eq!(log2(1 << power), power << FRACTION);
        }
        assert_eq!(log2(0), 0);
        assert_eq!(ln_ratio(1, 1), 0);
        assert_eq!(ln_ratio(1, 2), 0);
        assert_eq!(ln_ratio(2, 1), LN_2);
    }

    proptest! {
        #[test]
        fn logarithm_agrees_with_floating_point(numerator: u64, denominator: u64) {
            let (low, high) = (numerator.min(denominator).max(1), numerator.max(denominator).max(1));
            let actual = ln_ratio(high, low) as f64 / UNIT;
            let expected = (high as f64 / low as f64).ln();
            prop_assert!((actual - expected).abs() < 2e-9, "{actual} {expected}");
        }

        #[test]
        fn logarithm_is_monotonic(number: u64, more: u64, below in 1u64..) {
            let higher = number.saturating_add(more);
            prop_assert!(ln_ratio(number, below) <= ln_ratio(higher, below));
        }
    }
}
