//! Parses SPDX licence expressions and checks them against a list.
//!
//! `WITH` binds tightest, then `AND`, then `OR`. Crates older than the rule write `MIT/Apache-2.0`
//! and mean `OR`.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Expression {
    /// A licence, with its exception if it has one: `Apache-2.0 WITH LLVM-exception`.
    Licence(String),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

impl Expression {
    /// Returns true if licences that `allowed` accepts satisfy the expression.
    pub(crate) fn is_met(&self, allowed: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Expression::Licence(name) => allowed(name),
            Expression::All(parts) => parts.iter().all(|part| part.is_met(allowed)),
            Expression::Any(parts) => parts.iter().any(|part| part.is_met(allowed)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Malformed {
    Unexpected(String),
    Unfinished,
    TooDeep,
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Unexpected(token) => write!(out, "unexpected `{token}`"),
            Malformed::Unfinished => out.write_str("it ends too early"),
            Malformed::TooDeep => out.write_str("too many parentheses"),
        }
    }
}

pub(crate) fn parse(text: &str) -> Result<Expression, Malformed> {
    let tokens = tokens(text);
    let mut reader = Reader {
        tokens: &tokens,
        depth: 0,
    };
    let expression = reader.any()?;
    match reader.tokens.first() {
        None => Ok(expression),
        Some(extra) => Err(Malformed::Unexpected(extra.clone())),
    }
}

fn tokens(text: &str) -> Vec<String> {
    let spaced = text
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

struct Reader<'a> {
    tokens: &'a [String],
    depth: usize,
}

const DEEPEST: usize = 32;

impl Reader<'_> {
    fn any(&mut self) -> Result<Expression, Malformed> {
        self.joined("OR", Reader::all, Expression::Any)
    }

    fn all(&mut self) -> Result<Expression, Malformed> {
        self.joined("AND", Reader::one, Expression::All)
    }

    fn joined(
        &mut self,
        word: &str,
        part: fn(&mut Self) -> Result<Expression, Malformed>,
        join: fn(Vec<Expression>) -> Expression,
    ) -> Result<Expression, Malformed> {
        let first = part(self)?;
        let mut parts = vec![first];
        while self.took(word) {
            parts.push(part(self)?);
        }
        match parts.len() {
            1 => parts.pop().ok_or(Malformed::Unfinished),
            _ => Ok(join(parts)),
        }
    }

    fn one(&mut self) -> Result<Expression, Malformed> {
        if !self.took("(") {
            return self.licence().map(Expression::Licence);
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Malformed::TooDeep);
        }
        let inner = self.any()?;
        if !self.took(")") {
            return Err(self.unexpected());
        }
        self.depth -= 1;
        Ok(inner)
    }

    fn licence(&mut self) -> Result<String, Malformed> {
        let name = self.name()?;
        if self.took("WITH") {
            return Ok(format!("{name} WITH {}", self.name()?));
        }
        Ok(name)
    }

    fn name(&mut self) -> Result<String, Malformed> {
        match self.tokens.split_first() {
            Some((name, rest)) if is_name(name) => {
                self.tokens = rest;
                Ok(name.clone())
            }
            _ => Err(self.unexpected()),
        }
    }

    fn took(&mut self, word: &str) -> bool {
        match self.tokens.split_first() {
            Some((first, rest)) if first == word => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }

    fn unexpected(&self) -> Malformed {
        match self.tokens.first() {
            Some(token) => Malformed::Unexpected(token.clone()),
            None => Malformed::Unfinished,
        }
    }
}

fn is_name(token: &str) -> bool {
    let letters =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '+' | ':');
    !matches!(token, "AND" | "OR" | "WITH") && token.chars().all(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(expression: &str, allowed: &[&str]) -> bool {
        parse(expression)
            .unwrap()
            .is_met(&|name| allowed.contains(&name))
    }

    #[test]
    fn one_of_a_choice_is_enough_and_all_of_a_list_are_needed() {
        assert!(met("MIT", &["MIT"]));
        assert!(met("MIT OR GPL-3.0-only", &["MIT"]));
        assert!(!met("MIT AND GPL-3.0-only", &["MIT"]));
        assert!(met(
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            &["MIT", "Unicode-3.0"]
        ));
        assert!(!met("(MIT OR Apache-2.0) AND Unicode-3.0", &["MIT"]));
    }

    #[test]
    fn and_binds_tighter_than_or() {
        assert!(met("MIT OR A AND B", &["MIT"]));
        assert!(met("A AND B OR MIT", &["MIT"]));
        assert!(!met("MIT AND A OR B", &["MIT"]));
    }

    #[test]
    fn with_binds_exception_to_licence() {
        let expression = "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only";
        assert!(met(expression, &["Apache-2.0 WITH LLVM-exception"]));
        assert!(!met(expression, &["Apache-2.0"]));
    }

    #[test]
    fn slash_means_or() {
        assert_eq!(parse("MIT/Apache-2.0"), parse("MIT OR Apache-2.0"));
    }

    #[test]
    fn nonsense_is_refused_where_it_stands() {
        assert_eq!(parse(""), Err(Malformed::Unfinished));
        assert_eq!(parse("MIT OR"), Err(Malformed::Unfinished));
        assert_eq!(
            parse("MIT Apache-2.0"),
            Err(Malformed::Unexpected("Apache-2.0".into()))
        );
        assert_eq!(parse("AND MIT"), Err(Malformed::Unexpected("AND".into())));
        assert_eq!(parse("(MIT"), Err(Malformed::Unfinished));
        assert_eq!(parse("MIT)"), Err(Malformed::Unexpected(")".into())));
        assert_eq!(
            parse("MIT WITH WITH"),
            Err(Malformed::Unexpected("WITH".into()))
        );
        assert_eq!(parse(&"(".repeat(1000)), Err(Malformed::TooDeep));
    }
}
