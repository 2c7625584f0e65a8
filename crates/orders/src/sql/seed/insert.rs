//! Inserts many rows at once, in statements of few sizes. Existing rows stay as they are.

use crate::sql::connection::{dynamic_sql, values_list};
use sqlx::{AnyConnection, Row as _};
use std::collections::BTreeSet;

/// The most rows of one statement.
const MOST: usize = 512;

#[derive(Debug, Clone)]
pub(in crate::sql) enum CellValue {
    Text(Option<String>),
    Number(i64),
}

impl From<&str> for CellValue {
    fn from(text: &str) -> Self {
        CellValue::Text(Some(text.to_owned()))
    }
}

impl From<String> for CellValue {
    fn from(text: String) -> Self {
        CellValue::Text(Some(text))
    }
}

impl From<Option<String>> for CellValue {
    fn from(text: Option<String>) -> Self {
        CellValue::Text(text)
    }
}

impl From<i64> for CellValue {
    fn from(number: i64) -> Self {
        CellValue::Number(number)
    }
}

/// An insert into a table: its name and typed columns, the key first.
pub(in crate::sql) struct TableInsert<const N: usize> {
    pub(in crate::sql) table: &'static str,
    pub(in crate::sql) columns: [(&'static str, &'static str); N],
}

pub(super) const TEXT: &str = "TEXT";
pub(super) const BIGINT: &str = "BIGINT";

impl<const N: usize> TableInsert<N> {
    fn text(&self, count: usize) -> String {
        let columns = self.columns.map(|(name, _)| name).join(", ");
        let types = self.columns.map(|(_, kind)| kind);
        let key = self.columns.first().map_or("", |(name, _)| name);
        format!(
            "INSERT INTO {} ({columns}) VALUES {} ON CONFLICT DO NOTHING RETURNING {key}",
            self.table,
            values_list(count, &types, 1)
        )
    }

    /// Inserts the missing rows, and returns their keys.
    pub(in crate::sql) async fn insert(
        &self,
        connection: &mut AnyConnection,
        rows: Vec<[CellValue; N]>,
    ) -> Result<BTreeSet<String>, sqlx::Error> {
        let mut inserted = BTreeSet::new();
        let mut left = rows.len();
        let mut rows = rows.into_iter();
        while left > 0 {
            // Powers of two: few sizes, each prepared once.
            let count = MOST.min(1 << left.ilog2());
            left -= count;
            let values = rows.by_ref().take(count).flatten();
            let statement =
                values.fold(
                    dynamic_sql(self.text(count)),
                    |statement, value| match value {
                        CellValue::Text(text) => statement.bind(text),
                        CellValue::Number(number) => statement.bind(number),
                    },
                );
            for row in statement.fetch_all(&mut *connection).await? {
                inserted.insert(row.try_get(0)?);
            }
        }
        Ok(inserted)
    }
}
