//! Requests: a checked query and a checked budget.

use crate::failure::{BudgetFlaw, Failure, QueryFlaw};
use crate::index::words::words;
use serde::de::{self, Deserialize, Deserializer, Unexpected};

/// The most bytes of a query.
pub const MAX_QUERY: usize = 65_536;

/// The largest budget: every whole number up to here is exact in JSON.
pub const MAX_BUDGET: u64 = (1 << 53) - 1;

/// A checked query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    raw: String,
    terms: Vec<String>,
}

impl Query {
    /// Checks a query. An empty query is valid.
    pub fn new(raw: &str) -> Result<Query, Failure> {
        if raw.len() > MAX_QUERY {
            return Err(Failure::Query(QueryFlaw::Long(raw.len())));
        }
        if raw.contains('\0') {
            return Err(Failure::Query(QueryFlaw::Nul));
        }
        Ok(Query {
            raw: raw.to_owned(),
            terms: words(raw),
        })
    }

    /// Returns the text of the query.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Returns the words of the query, with duplicates and in order.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }
}

/// A number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenBudget(u64);

impl TokenBudget {
    pub fn new(tokens: u64) -> Result<TokenBudget, Failure> {
        match tokens <= MAX_BUDGET {
            true => Ok(TokenBudget(tokens)),
            false => Err(Failure::Budget(BudgetFlaw::NoCount(tokens.to_string()))),
        }
    }

    /// Parses a JSON number: `1000`, `1000.0` and `1e3` are one thousand.
    pub fn parse(text: &str) -> Result<TokenBudget, Failure> {
        let wrong = || Failure::Budget(BudgetFlaw::NoCount(text.to_owned()));
        let number: serde_json::Number = serde_json::from_str(text).map_err(|_| wrong())?;
        TokenBudget::from_number(&number).ok_or_else(wrong)
    }

    /// Returns the budget of a JSON number, or `None` if its value is not a whole number in range.
    pub fn from_number(number: &serde_json::Number) -> Option<TokenBudget> {
        let tokens = match number.as_u64() {
            Some(tokens) => tokens,
            None => {
                let value = number.as_f64()?;
                // Doubles up to 2^53 - 1 are exact for whole numbers; `-0.0` is zero.
                if !(0.0..=MAX_BUDGET as f64).contains(&value) || value.fract() != 0.0 {
                    return None;
                }
                value as u64
            }
        };
        TokenBudget::new(tokens).ok()
    }

    pub fn tokens(self) -> u64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for TokenBudget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        TokenBudget::from_number(&number).ok_or_else(|| {
            let found = number.to_string();
            de::Error::invalid_value(Unexpected::Other(&found), &"a number of tokens")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_are_budgets() {
        let read = |text| TokenBudget::parse(text).ok().map(TokenBudget::tokens);
        for (text, tokens) in [
            ("0", 0),
            ("1000", 1000),
            ("1000.0", 1000),
            ("1e3", 1000),
            ("-0", 0),
            ("-0.0", 0),
            ("9007199254740991", MAX_BUDGET),
            (" 7 ", 7),
        ] {
            assert_eq!(read(text), Some(tokens), "{text}");
        }
        for wrong in [
            "",
            "-1",
            "0.5",
            "1e400",
            "9999999999999999999",
            "9007199254740992",
            "1e16",
            "NaN",
            "0x10",
            "+1",
            "01",
            "1_000",
            "ten",
            "1 2",
            "\"5\"",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn oversized_query_is_refused() {
        assert!(Query::new("").is_ok());
        assert!(Query::new(&"x".repeat(MAX_QUERY)).is_ok());
        assert!(Query::new(&"x".repeat(MAX_QUERY + 1)).is_err());
        assert!(Query::new("a\0b").is_err());
    }
}
