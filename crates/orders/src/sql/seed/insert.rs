//! Many rows at once, in statements of few sizes; rows that are there already stay as they are.

use crate::sql::session::{made, rows};
use sqlx::{AnyConnection, Row as _};
use std::collections::BTreeSet;

/// How many rows one statement has at most.
const MOST: usize = 512;

/// A value of a row.
#[derive(Debug, Clone)]
pub(in crate::sql) enum Value {
    Text(Option<String>),
    Number(i64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(Some(text.to_owned()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(Some(text))
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        Value::Text(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Number(number)
    }
}

/// A table that rows go into: its name, and its columns with their types, the key first.
pub(in crate::sql) struct Into<const N: usize> {
    pub(in crate::sql) table: &'static str,
    pub(in crate::sql) columns: [(&'static str, &'static str); N],
}

pub(super) const TEXT: &str = "TEXT";
pub(super) const BIGINT: &str = "BIGINT";

impl<const N: usize> Into<N> {
    fn text(&self, count: usize) -> String {
        let columns = self.columns.map(|(name, _)| name).join(", ");
        let types = self.columns.map(|(_, kind)| kind);
        let key = self.columns.first().map_or("", |(name, _)| name);
        format!(
            "INSERT INTO {} ({columns}) VALUES {} ON CONFLICT DO NOTHING RETURNING {key}",
            self.table,
            rows(count, &types, 1)
        )
    }

    /// Inserts the rows that are not there; gives the keys of those that were inserted.
    pub(in crate::sql) async fn insert(
        &self,
        connection: &mut AnyConnection,
        rows: Vec<[Value; N]>,
    ) -> Result<BTreeSet<String>, sqlx::Error> {
        let mut inserted = BTreeSet::new();
        let mut left = rows.len();
        let mut rows = rows.into_iter();
        while left > 0 {
            // Powers of two: so few sizes that each is prepared once.
            let count = MOST.min(1 << left.ilog2());
            left -= count;
            let values = rows.by_ref().take(count).flatten();
            let statement = values.fold(made(self.text(count)), |statement, value| match value {
                Value::Text(text) => statement.bind(text),
                Value::Number(number) => statement.bind(number),
            });
            for row in statement.fetch_all(&mut *connection).await? {
                inserted.insert(row.try_get(0)?);
            }
        }
        Ok(inserted)
    }
}
