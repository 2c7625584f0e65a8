//! Amounts as callers write them, and money in a currency's smallest unit.

use super::Currency;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The most digits of an amount, including those after the point.
pub const MONEY_DIGITS: u32 = 15;

/// The largest amount, in the smallest unit.
const MAX: i128 = 10_i128.pow(MONEY_DIGITS) - 1;

/// A decimal number whose currency may not be known yet. It serializes as the text that was given.
///
/// The text is parsed once, when a request is deserialized. [`DecimalAmount::to_money`] only computes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecimalAmount {
    text: String,
    /// The digits without the point. Saturates: [`DecimalAmount::to_money`] rejects such a number anyway.
    digits: i128,
    /// The number of digits before the point, without leading zeros.
    whole: usize,
    /// The number of digits after the point.
    places: usize,
}

/// An amount in the smallest unit of some currency; never negative, at most [`MONEY_DIGITS`] digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Money(i64);

/// The reason why a text is not an amount of a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoneyError {
    /// It is not digits, or digits, a point and digits.
    Form,
    /// It has more decimal places than the currency.
    Places,
    /// It has more than [`MONEY_DIGITS`] digits.
    Digits,
}

impl fmt::Display for MoneyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            MoneyError::Form => "not an amount",
            MoneyError::Places => "more places than the currency has",
            MoneyError::Digits => "too many digits",
        })
    }
}

impl std::error::Error for MoneyError {}

/// The digits of an amount before and after its point, not yet converted to a number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AmountText<'a> {
    /// Without leading zeros.
    whole: &'a str,
    part: &'a str,
}

impl<'a> AmountText<'a> {
    /// Splits a text of the form `12` or `12.30`.
    pub(crate) fn split(text: &'a str) -> Result<AmountText<'a>, MoneyError> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let ends_with_point = text.contains('.') && part.is_empty();
        if whole.is_empty() || ends_with_point || !is_number(whole) || !is_number(part) {
            return Err(MoneyError::Form);
        }
        let whole = whole.trim_start_matches('0');
        Ok(AmountText { whole, part })
    }

    /// Checks that the amount can be money of a currency.
    pub(crate) fn check(self, currency: Currency) -> Result<(), MoneyError> {
        check_lengths(self.whole.len(), self.part.len(), currency)
    }

    pub(crate) fn is_larger_than(self, other: AmountText<'_>) -> bool {
        fn order<'a>(amount: &AmountText<'a>) -> (usize, &'a str, &'a str) {
            let part = amount.part.trim_end_matches('0');
            (amount.whole.len(), amount.whole, part)
        }
        order(&self) > order(&other)
    }
}

fn check_lengths(whole: usize, places: usize, currency: Currency) -> Result<(), MoneyError> {
    if places > currency.places() {
        return Err(MoneyError::Places);
    }
    if whole + currency.places() > MONEY_DIGITS as usize {
        return Err(MoneyError::Digits);
    }
    Ok(())
}

impl DecimalAmount {
    /// Parses `12`, `12.3` or `12.30`.
    pub fn parse(text: &str) -> Result<DecimalAmount, MoneyError> {
        let AmountText { whole, part } = AmountText::split(text)?;
        let digits = whole.bytes().chain(part.bytes());
        Ok(DecimalAmount {
            digits: digits.fold(0, |sum: i128, digit| {
                sum.saturating_mul(10)
                    .saturating_add(i128::from(digit - b'0'))
            }),
            whole: whole.len(),
            places: part.len(),
            text: text.to_owned(),
        })
    }

    /// Returns the text that was given.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the amount as money of a currency.
    pub fn to_money(&self, currency: Currency) -> Result<Money, MoneyError> {
        check_lengths(self.whole, self.places, currency)?;
        let padding = (self.places..currency.places()).fold(1, |factor: i128, _| factor * 10);
        Money::of_minor(self.digits.saturating_mul(padding)).ok_or(MoneyError::Digits)
    }
}

impl Serialize for DecimalAmount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for DecimalAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        DecimalAmount::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl Money {
    /// Returns the amount of this many smallest units, or `None` if it is out of bounds.
    pub fn of_minor(minor: i128) -> Option<Money> {
        let minor = Some(minor).filter(|minor| (0..=MAX).contains(minor))?;
        i64::try_from(minor).ok().map(Money)
    }

    /// Returns the number of smallest units.
    pub const fn minor(self) -> i64 {
        self.0
    }

    /// Parses `12`, `12.3` or `12.30` for a currency with two decimal places.
    pub fn parse(text: &str, currency: Currency) -> Result<Money, MoneyError> {
        DecimalAmount::parse(text)?.to_money(currency)
    }

    /// Formats the amount with all decimal places of the currency.
    pub fn text(self, currency: Currency) -> String {
        let places = currency.places();
        if places == 0 {
            return self.0.to_string();
        }
        let digits = format!("{:0width$}", self.0, width = places + 1);
        let (whole, part) = digits.split_at(digits.len() - places);
        format!("{whole}.{part}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn currency(code: &str) -> Currency {
        Currency::read(code).unwrap()
    }

    #[test]
    fn amount_has_the_places_of_its_currency() {
        let parsed =
            |text, code| Money::parse(text, currency(code)).map(|money| money.text(currency(code)));
        assert_eq!(parsed("12", "USD").unwrap(), "12.00");
        assert_eq!(parsed("12.3", "USD").unwrap(), "12.30");
        assert_eq!(parsed("0.07", "USD").unwrap(), "0.07");
        assert_eq!(parsed("012.30", "EUR").unwrap(), "12.30");
        assert_eq!(parsed("12", "JPY").unwrap(), "12");
        assert_eq!(parsed("1.234", "KWD").unwrap(), "1.234");
        assert_eq!(
            parsed("9999999999999.99", "USD").unwrap(),
            "9999999999999.99"
        );
        assert_eq!(parsed("1.234", "USD"), Err(MoneyError::Places));
        assert_eq!(parsed("1.0", "JPY"), Err(MoneyError::Places));
        assert_eq!(parsed("10000000000000.00", "USD"), Err(MoneyError::Digits));
        for text in [
            "", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "١", " 1", "0x1",
        ] {
            assert_eq!(parsed(text, "USD"), Err(MoneyError::Form), "{text}");
        }
    }

    #[test]
    fn amount_serializes_as_it_was_written() {
        for text in ["012.30", "0", "12.3", "999999999999999.9999"] {
            let amount: DecimalAmount = serde_json::from_value(text.into()).unwrap();
            assert_eq!(serde_json::to_value(amount).unwrap(), text);
        }
        assert!(serde_json::from_str::<DecimalAmount>("\"1e3\"").is_err());
    }

    proptest! {
        #[test]
        fn formatted_amount_parses_back(minor in 0_i64..=999_999_999_999_999, code in prop::sample::select(vec!["USD", "JPY", "KWD", "CLF"])) {
            let currency = currency(code);
            let money = Money::of_minor(i128::from(minor)).unwrap();
            prop_assert_eq!(Money::parse(&money.text(currency), currency), Ok(money));
        }

        #[test]
        fn texts_compare_as_their_amounts(one in "0{0,2}[0-9]{1,4}(\\.[0-9]{1,2})?", other in "[0-9]{1,4}(\\.[0-9]{1,2})?") {
            let money = |text: &str| Money::parse(text, currency("USD")).unwrap();
            let is_larger = AmountText::split(&one).unwrap().is_larger_than(AmountText::split(&other).unwrap());
            prop_assert_eq!(is_larger, money(&one) > money(&other));
        }

        #[test]
        fn parsing_never_panics(text in "\\PC{0,40}") {
            let _ = Money::parse(&text, currency("USD"));
        }
    }
}
