//! Money: whole numbers of a currency's smallest unit, said as decimal text.

use super::Currency;
use std::fmt;

/// How many digits an amount may have, those after the point included.
pub const MONEY_DIGITS: u32 = 15;

/// The largest amount, in the smallest unit.
const MOST: i128 = 10_i128.pow(MONEY_DIGITS) - 1;

/// An amount in the smallest unit of some currency; never negative, at most [`MONEY_DIGITS`] digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Money(i64);

/// Why a text is no amount of a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoneyError {
    /// It is not digits, a point and digits.
    Form,
    /// It has more places than the currency.
    Places,
    /// It has more digits than are kept.
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

impl Money {
    /// The amount of this many smallest units, where it is within bounds.
    pub fn of_minor(minor: i128) -> Option<Money> {
        let minor = Some(minor).filter(|minor| (0..=MOST).contains(minor))?;
        i64::try_from(minor).ok().map(Money)
    }

    /// The number of smallest units.
    pub const fn minor(self) -> i64 {
        self.0
    }

    /// Reads `12`, `12.3` or `12.30` for a currency with two places.
    pub fn read(text: &str, currency: Currency) -> Result<Money, MoneyError> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let pointed = text.contains('.') && part.is_empty();
        if whole.is_empty() || pointed || !digits(whole) || !digits(part) {
            return Err(MoneyError::Form);
        }
        let places = currency.places();
        if part.len() > places {
            return Err(MoneyError::Places);
        }
        let significant = whole.trim_start_matches('0');
        if significant.len() + places > MONEY_DIGITS as usize {
            return Err(MoneyError::Digits);
        }
        let mut minor = 0_i128;
        let padding = std::iter::repeat_n(b'0', places - part.len());
        for byte in significant.bytes().chain(part.bytes()).chain(padding) {
            minor = minor * 10 + i128::from(byte - b'0');
        }
        Money::of_minor(minor).ok_or(MoneyError::Digits)
    }

    /// The amount as text, with all places of the currency.
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
    fn an_amount_has_the_places_of_its_currency() {
        let said =
            |text, code| Money::read(text, currency(code)).map(|money| money.text(currency(code)));
        assert_eq!(said("12", "USD").unwrap(), "12.00");
        assert_eq!(said("12.3", "USD").unwrap(), "12.30");
        assert_eq!(said("0.07", "USD").unwrap(), "0.07");
        assert_eq!(said("012.30", "EUR").unwrap(), "12.30");
        assert_eq!(said("12", "JPY").unwrap(), "12");
        assert_eq!(said("1.234", "KWD").unwrap(), "1.234");
        assert_eq!(said("9999999999999.99", "USD").unwrap(), "9999999999999.99");
        assert_eq!(said("1.234", "USD"), Err(MoneyError::Places));
        assert_eq!(said("1.0", "JPY"), Err(MoneyError::Places));
        assert_eq!(said("10000000000000.00", "USD"), Err(MoneyError::Digits));
        for text in [
            "", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "١", " 1", "0x1",
        ] {
            assert_eq!(said(text, "USD"), Err(MoneyError::Form), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_and_amount_are_the_same_thing(minor in 0_i64..=999_999_999_999_999, code in prop::sample::select(vec!["USD", "JPY", "KWD", "CLF"])) {
            let currency = currency(code);
            let money = Money::of_minor(i128::from(minor)).unwrap();
            prop_assert_eq!(Money::read(&money.text(currency), currency), Ok(money));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = Money::read(&text, currency("USD"));
        }
    }
}
