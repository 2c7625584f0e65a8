//! The amounts of lines and the sums of an order.

use super::{Currency, DecimalAmount, Money, MoneyError};
use crate::failure::{OrderRule, RuleViolation};

/// The amounts of one line, in the smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineAmounts {
    pub quantity: i64,
    pub unit_price: Money,
    pub unit_discount: Money,
    /// The tax on the whole line.
    pub tax: Money,
}

/// The amounts of an order that do not belong to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OrderAmounts {
    pub shipping_price: Money,
    pub shipping_tax: Money,
    /// An amount off the whole order.
    pub order_discount: Money,
    /// Tax that is not stated by line.
    pub order_tax: Money,
    /// If true, prices contain the tax.
    pub tax_included: bool,
}

/// The sums of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Before discounts.
    pub sub_total: Money,
    pub discount_total: Money,
    pub shipping_total: Money,
    pub tax_total: Money,
    pub total: Money,
}

/// The reason why amounts have no sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TotalsError {
    /// A sum has too many digits.
    Digits,
    /// The discounts exceed the prices.
    Discount,
    /// The tax of the line at this index exceeds its amount.
    LineTax(usize),
    /// The tax of the shipping exceeds its price.
    ShippingTax,
}

impl Totals {
    /// Returns the sums of these amounts.
    pub fn of(lines: &[LineAmounts], order: &OrderAmounts) -> Result<Totals, TotalsError> {
        let sum = |amount: fn(&LineAmounts) -> i128| lines.iter().map(amount).sum::<i128>();
        let price = sum(|line| i128::from(line.quantity) * wide(line.unit_price));
        let discount = sum(|line| i128::from(line.quantity) * wide(line.unit_discount))
            + wide(order.order_discount);
        let tax = sum(|line| wide(line.tax)) + wide(order.shipping_tax) + wide(order.order_tax);
        if let Some(index) = lines.iter().position(LineAmounts::is_overtaxed) {
            return Err(TotalsError::LineTax(index));
        }
        if order.shipping_tax > order.shipping_price {
            return Err(TotalsError::ShippingTax);
        }
        if discount > price {
            return Err(TotalsError::Discount);
        }
        let added_tax = if order.tax_included { 0 } else { tax };
        let total = price - discount + wide(order.shipping_price) + added_tax;
        let money = |minor| Money::of_minor(minor).ok_or(TotalsError::Digits);
        Ok(Totals {
            sub_total: money(price)?,
            discount_total: money(discount)?,
            shipping_total: order.shipping_price,
            tax_total: money(tax)?,
            total: money(total)?,
        })
    }

    /// Checks the sums that the caller gives, each with the path of its field.
    pub fn check(
        self,
        currency: Currency,
        given: [(&str, Option<&DecimalAmount>); 5],
    ) -> Result<(), RuleViolation> {
        let sums = [
            self.sub_total,
            self.discount_total,
            self.shipping_total,
            self.tax_total,
            self.total,
        ];
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

impl LineAmounts {
    /// Returns true if the tax is larger than the discounted price of all units.
    fn is_overtaxed(&self) -> bool {
        let net = wide(self.unit_price) - wide(self.unit_discount);
        wide(self.tax) > i128::from(self.quantity) * net
    }
}

fn wide(money: Money) -> i128 {
    i128::from(money.minor())
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

    fn money(minor: i64) -> Money {
        Money::of_minor(i128::from(minor)).unwrap()
    }

    fn line(quantity: i64, price: i64, discount: i64) -> LineAmounts {
        LineAmounts {
            quantity,
            unit_price: money(price),
            unit_discount: money(discount),
            tax: Money::default(),
        }
    }

    #[test]
    fn three_dimes_are_thirty_cents() {
        let usd = Currency::read("USD").unwrap();
        let dime = Money::parse("0.1", usd).unwrap();
        let totals = Totals::of(&[line(3, dime.minor(), 0)], &OrderAmounts::default()).unwrap();
        assert_eq!(totals.total.text(usd), "0.30");
    }

    #[test]
    fn sum_of_too_many_digits_is_refused() {
        let none = OrderAmounts::default();
        let large = [line(1_000_000, 999_999_999_999_999, 0)];
        assert_eq!(Totals::of(&large, &none), Err(TotalsError::Digits));
        let many = vec![line(1, 999_999_999_999_999, 0); 2];
        assert_eq!(Totals::of(&many, &none), Err(TotalsError::Digits));
        let shipped = OrderAmounts {
            shipping_price: money(1),
            ..none
        };
        assert_eq!(Totals::of(&many[..1], &shipped), Err(TotalsError::Digits));
    }

    #[test]
    fn amounts_that_contradict_each_other_are_refused() {
        let none = OrderAmounts::default();
        let taxed = |tax| LineAmounts {
            tax: money(tax),
            ..line(2, 100, 10)
        };
        assert!(Totals::of(&[taxed(180)], &none).is_ok());
        assert_eq!(
            Totals::of(&[taxed(0), taxed(181)], &none),
            Err(TotalsError::LineTax(1))
        );
        let shipped = OrderAmounts {
            shipping_price: money(5),
            shipping_tax: money(6),
            ..none
        };
        assert_eq!(
            Totals::of(&[line(1, 1, 0)], &shipped),
            Err(TotalsError::ShippingTax)
        );
        let reduced = |discount| OrderAmounts {
            order_discount: money(discount),
            ..none
        };
        assert!(Totals::of(&[line(2, 100, 10)], &reduced(180)).is_ok());
        assert_eq!(
            Totals::of(&[line(2, 100, 10)], &reduced(181)),
            Err(TotalsError::Discount)
        );
    }

    /// An exact rational number, for an oracle that shares no code with the sums above.
    #[derive(Debug, Clone, Copy)]
    struct Rational(i128, i128);

    impl Rational {
        fn read(text: &str) -> Rational {
            let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
            let scale = 10_i128.pow(u32::try_from(part.len()).unwrap());
            Rational(
                whole.parse::<i128>().unwrap() * scale + part.parse::<i128>().unwrap(),
                scale,
            )
        }

        fn plus(self, other: Rational) -> Rational {
            Rational(self.0 * other.1 + other.0 * self.1, self.1 * other.1).reduced()
        }

        fn times(self, factor: i128) -> Rational {
            Rational(self.0 * factor, self.1).reduced()
        }

        fn reduced(self) -> Rational {
            let (mut a, mut b) = (self.0.abs(), self.1);
            while b != 0 {
                (a, b) = (b, a % b);
            }
            Rational(self.0 / a.max(1), self.1 / a.max(1))
        }

        fn is(self, text: &str) -> bool {
            let other = Rational::read(text);
            self.0 * other.1 == other.0 * self.1
        }

        fn exceeds(self, other: Rational) -> bool {
            self.0 * other.1 > other.0 * self.1
        }
    }

    type Texts = (i64, String, String, String);

    fn amount(most: i64) -> impl Strategy<Value = String> {
        (0..most).prop_map(|cents| format!("{}.{:02}", cents / 100, cents % 100))
    }

    proptest! {
        #[test]
        fn sums_equal_those_of_exact_rationals(
            lines in prop::collection::vec((1_i64..2_000, amount(100_000), amount(10_000), amount(50_000)), 1..8),
            order in (amount(5_000), amount(1_000), amount(3_000), amount(9_000), any::<bool>()),
        ) {
            let usd = Currency::read("USD").unwrap();
            let parse = |text: &str| Money::parse(text, usd).unwrap();
            let amounts: Vec<_> = lines
                .iter()
                .map(|(quantity, price, discount, tax): &Texts| LineAmounts {
                    quantity: *quantity,
                    unit_price: parse(price),
                    unit_discount: parse(discount),
                    tax: parse(tax),
                })
                .collect();
            let (shipping, shipping_tax, discount, tax, tax_included) = order;
            let of_order = OrderAmounts {
                shipping_price: parse(&shipping),
                shipping_tax: parse(&shipping_tax),
                order_discount: parse(&discount),
                order_tax: parse(&tax),
                tax_included,
            };
            let zero = Rational(0, 1);
            let read = Rational::read;
            let sub_total = lines.iter().fold(zero, |sum, line| sum.plus(read(&line.1).times(line.0.into())));
            let discounts = lines.iter().fold(read(&discount), |sum, line| sum.plus(read(&line.2).times(line.0.into())));
            let taxes = lines.iter().fold(read(&tax).plus(read(&shipping_tax)), |sum, line| sum.plus(read(&line.3)));
            let overtaxed = lines.iter().position(|(quantity, price, discount, tax)| {
                let net = read(price).plus(read(discount).times(-1)).times((*quantity).into());
                read(tax).exceeds(net)
            });
            let expected_error = match overtaxed {
                Some(index) => Some(TotalsError::LineTax(index)),
                None if read(&shipping_tax).exceeds(read(&shipping)) => Some(TotalsError::ShippingTax),
                None if discounts.exceeds(sub_total) => Some(TotalsError::Discount),
                None => None,
            };
            let totals = Totals::of(&amounts, &of_order);
            prop_assert_eq!(totals.err(), expected_error);
            if let Ok(totals) = totals {
                let added = if tax_included { zero } else { taxes };
                let total = sub_total.plus(discounts.times(-1)).plus(read(&shipping)).plus(added);
                prop_assert!(sub_total.is(&totals.sub_total.text(usd)));
                prop_assert!(discounts.is(&totals.discount_total.text(usd)));
                prop_assert!(read(&shipping).is(&totals.shipping_total.text(usd)));
                prop_assert!(taxes.is(&totals.tax_total.text(usd)));
                prop_assert!(total.is(&totals.total.text(usd)));
            }
        }
    }
}
