//! Currencies of ISO 4217.

use std::fmt;

/// A currency of ISO 4217 that amounts can be in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Currency {
    currency: iso_currency::Currency,
    places: u8,
}

impl Currency {
    /// Returns the currency of this code in capitals. Returns `None` for codes without amounts,
    /// such as precious metals and test codes.
    pub fn read(code: &str) -> Option<Currency> {
        let capitals = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
        let currency = iso_currency::Currency::from_code(code).filter(|_| capitals)?;
        let places = u8::try_from(currency.exponent()?).ok()?;
        Some(Currency { currency, places })
    }

    pub fn code(self) -> &'static str {
        self.currency.code()
    }

    /// Returns the number of decimal places.
    pub fn places(self) -> usize {
        usize::from(self.places)
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn currency_is_found_by_its_code_in_capitals() {
        let places = |code| Currency::read(code).map(Currency::places);
        assert_eq!(places("USD"), Some(2));
        assert_eq!(places("JPY"), Some(0));
        assert_eq!(places("KWD"), Some(3));
        for code in ["usd", "XAU", "ZZZ", "US", "USDD", ""] {
            assert_eq!(places(code), None, "{code}");
        }
    }
}
