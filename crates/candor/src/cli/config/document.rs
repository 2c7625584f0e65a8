//! The TOML text of a file: its syntax and its bounds.

use super::problem::{ConfigProblem, shown};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

/// The most keys of a file.
pub const MAX_CONFIG_KEYS: usize = 4096;

/// The most tables and arrays within each other.
pub const MAX_CONFIG_LEVELS: usize = 32;

/// Parses the text. Returns no document if it exceeds a bound.
pub(super) fn parse(text: &str) -> (Option<DeTable<'_>>, Vec<ConfigProblem>) {
    let (document, errors) = DeTable::parse_recoverable(text);
    let document = document.into_inner();
    let mut problems: Vec<_> = errors.iter().map(|error| syntax(error, text)).collect();
    problems.sort_by_key(|problem| problem.span.start);
    // The further errors of a line follow from its first one.
    problems.dedup_by(|next, first| is_one_line(text, first.span.start..next.span.start));
    let mut bounds = DocumentBounds {
        keys: 0,
        exceeded: None,
    };
    bounds.visit_table(&document, 1);
    match bounds.exceeded {
        None => (Some(document), problems),
        Some(exceeded) => (None, vec![exceeded]),
    }
}

fn syntax(error: &Error, text: &str) -> ConfigProblem {
    let span = error.span().unwrap_or(0..0);
    match error.message() {
        "duplicate key" => {
            let key = shown(text.get(span.clone()).unwrap_or_default());
            ConfigProblem::new(span, format!("the key `{key}` is set twice"))
        }
        "recursion limit" => too_deep(span),
        message => ConfigProblem::new(span, format!("this is not TOML: {message}")),
    }
}

fn is_one_line(text: &str, part: Range<usize>) -> bool {
    text.get(part).is_some_and(|part| !part.contains('\n'))
}

fn too_deep(span: Range<usize>) -> ConfigProblem {
    let message = format!("tables and arrays have more than {MAX_CONFIG_LEVELS} levels");
    ConfigProblem::new(span, message)
}

/// Counts keys and levels. The parser has a bound of its own for levels, so that this can recurse.
struct DocumentBounds {
    keys: usize,
    exceeded: Option<ConfigProblem>,
}

impl DocumentBounds {
    fn visit_table(&mut self, table: &DeTable<'_>, level: usize) {
        for (key, value) in table {
            self.keys += 1;
            if self.keys > MAX_CONFIG_KEYS {
                let message = format!("this file has more than {MAX_CONFIG_KEYS} keys");
                let exceeded = ConfigProblem::new(key.span(), message);
                self.exceeded.get_or_insert(exceeded);
            }
            self.visit(value, level);
        }
    }

    fn visit(&mut self, value: &Spanned<DeValue<'_>>, level: usize) {
        if self.exceeded.is_some() {
            return;
        }
        let is_nested = matches!(value.get_ref(), DeValue::Table(_) | DeValue::Array(_));
        if is_nested && level >= MAX_CONFIG_LEVELS {
            self.exceeded = Some(too_deep(value.span()));
            return;
        }
        match value.get_ref() {
            DeValue::Table(table) => self.visit_table(table, level + 1),
            DeValue::Array(array) => array.iter().for_each(|item| self.visit(item, level + 1)),
            _ => {}
        }
    }
}
