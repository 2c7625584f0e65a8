//! The amounts of lines and the sums of an order.

use super::{Currency, DecimalAmount, Money, MoneyError};
use crate::failure::{OrderRule, RuleViolation};

/// The amounts of one line, in the smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineAmounts {
    pub quantity: i64,
    pub unit_price: Money,
    pub unit_discount: Money,
}

/// The sums of an order at the time when it was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Before discounts.
    pub sub_total: Money,
    pub discount_total: Money,
    pub total: Money,
}

impl Totals {
    /// Returns the sums of these lines, or `None` if one of them has too many digits.
    pub fn of(lines: &[LineAmounts]) -> Option<Totals> {
        let sum = |amount: fn(&LineAmounts) -> Money| -> Option<Money> {
            let each = lines
                .iter()
                .map(|line| i128::from(line.quantity) * i128::from(amount(line).minor()));
            Money::of_minor(each.sum())
        };
        let sub_total = sum(|line| line.unit_price)?;
        let discount_total = sum(|line| line.unit_discount)?;
        let total = i128::from(sub_total.minor()) - i128::from(discount_total.minor());
        Some(Totals {
            sub_total,
            discount_total,
            total: Money::of_minor(total)?,
        })
    }

    /// Checks the sums that the caller gives, each with the path of its field.
    pub fn check(
        self,
        currency: Currency,
        given: [(&str, Option<&DecimalAmount>); 3],
    ) -> Result<(), RuleViolation> {
        let sums = [self.sub_total, self.discount_total, self.total];
        for ((field, given), sum) in given.into_iter().zip(sums) {
            match to_money(field, given, currency)? {
                Some(given) if given != sum => {
                    return Err(RuleViolation::new(field, OrderRule::Total));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Converts the amount of a field to money of a currency.
pub(crate) fn to_money(
    field: &str,
    amount: Option<&DecimalAmount>,
    currency: Currency,
) -> Result<Option<Money>, RuleViolation> {
    let money = amount.map(|amount| amount.to_money(currency)).transpose();
    money.map_err(|error| amount_violation(field, error))
}

/// Returns the rule that an amount which is not money of its currency breaks.
pub(crate) fn amount_violation(field: &str, error: MoneyError) -> RuleViolation {
    let rule = match error {
        MoneyError::Form => OrderRule::Amount,
        MoneyError::Places => OrderRule::Places,
        MoneyError::Digits => OrderRule::Digits,
    };
    RuleViolation::new(field, rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(quantity: i64, parse_amount: i64, discount: i64) -> LineAmounts {
        LineAmounts {
            quantity,
            unit_price: Money::of_minor(i128::from(parse_amount)).unwrap(),
            unit_discount: Money::of_minor(i128::from(discount)).unwrap(),
        }
    }

    #[test]
    fn three_dimes_are_thirty_cents() {
        let usd = Currency::read("USD").unwrap();
        let dime = Money::parse("0.1", usd).unwrap();
        let totals = Totals::of(&[line(3, dime.minor(), 0)]).unwrap();
        assert_eq!(totals.total.text(usd), "0.30");
    }

    #[test]
    fn sum_of_too_many_digits_is_none() {
        assert_eq!(Totals::of(&[line(1_000_000, 999_999_999_999_999, 0)]), None);
        let many = vec![line(1, 999_999_999_999_999, 0); 2];
        assert_eq!(Totals::of(&many), None);
    }

    proptest! {
        #[test]
        fn sums_equal_those_of_single_units(lines in prop::collection::vec((1_i64..20, 0_i64..10_000, 0_i64..10_000), 1..8)) {
            let lines: Vec<_> = lines.into_iter().map(|(q, p, d)| line(q, p, d.min(p))).collect();
            let mut plain = (0, 0);
            for line in &lines {
                for _ in 0..line.quantity {
                    plain.0 += line.unit_price.minor();
                    plain.1 += line.unit_discount.minor();
                }
            }
            let totals = Totals::of(&lines).unwrap();
            prop_assert_eq!((totals.sub_total.minor(), totals.discount_total.minor()), plain);
            prop_assert_eq!(totals.total.minor(), plain.0 - plain.1);
        }
    }
}
