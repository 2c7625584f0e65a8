//! Exact sums of the amounts in an answer, whatever its currency is.

use crate::model::DecimalAmount;

/// The decimal places of the protocol's amounts.
const PLACES: usize = 4;

/// An amount in ten-thousandths of its currency. `None` is an amount that is too large to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ExactAmount(Option<i128>);

impl ExactAmount {
    pub(super) const ZERO: ExactAmount = ExactAmount(Some(0));

    /// Parses a text of digits with at most one point.
    pub(super) fn parse(text: &str) -> ExactAmount {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let padding = std::iter::repeat_n(b'0', PLACES.saturating_sub(part.len()));
        let mut digits = whole.bytes().chain(part.bytes()).chain(padding);
        let parsed = digits.try_fold(0_i128, |sum, digit| {
            let digit = digit.is_ascii_digit().then(|| i128::from(digit - b'0'))?;
            sum.checked_mul(10)?.checked_add(digit)
        });
        ExactAmount(parsed.filter(|_| part.len() <= PLACES))
    }

    pub(super) fn of(amount: &DecimalAmount) -> ExactAmount {
        ExactAmount::parse(amount.text())
    }

    pub(super) fn times(self, count: i64) -> ExactAmount {
        ExactAmount(self.0.and_then(|amount| amount.checked_mul(count.into())))
    }

    pub(super) fn plus(self, other: ExactAmount) -> ExactAmount {
        let sum = self.0.zip(other.0);
        ExactAmount(sum.and_then(|(one, other)| one.checked_add(other)))
    }

    pub(super) fn minus(self, other: ExactAmount) -> ExactAmount {
        let difference = self.0.zip(other.0);
        ExactAmount(difference.and_then(|(one, other)| one.checked_sub(other)))
    }

    /// Returns true if both amounts can be compared and are equal.
    pub(super) fn equals(self, other: ExactAmount) -> bool {
        self.0.is_some() && self == other
    }
}

impl std::iter::Sum for ExactAmount {
    fn sum<I: Iterator<Item = ExactAmount>>(amounts: I) -> ExactAmount {
        amounts.fold(ExactAmount::ZERO, ExactAmount::plus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_equal_whatever_their_places() {
        let equal = |one, other| ExactAmount::parse(one).equals(ExactAmount::parse(other));
        assert!(equal("3", "3.00"));
        assert!(equal("007.5", "7.5000"));
        assert!(!equal("3.01", "3.1"));
        assert!(!equal("1.00001", "1.00001"));
        assert!(!equal("x", "x"));
    }

    #[test]
    fn sum_that_overflows_equals_nothing() {
        let huge = ExactAmount::parse("999999999999999.9999");
        let sum: ExactAmount = [huge.times(i64::MAX), huge.times(i64::MAX)]
            .into_iter()
            .sum();
        assert!(!sum.equals(sum));
        assert!(huge.times(3).minus(huge).equals(huge.times(2)));
    }
}
