//! The stock changes of a transaction, collected until its last statement, so that rows of popular
//! SKUs are locked for that statement and the commit only.

use super::connection::{DbConnection, dynamic_sql, values_list};
use super::dialect::SqlDialect;
use super::errors::TransactionError;
use crate::model::Money;
use std::collections::BTreeMap;

/// A SKU in the catalogue, with the units that can still be ordered.
#[derive(Debug, Clone)]
pub(super) struct CatalogueEntry {
    pub(super) name: String,
    pub(super) price: Money,
    pub(super) available: i64,
}

/// The units that a transaction adds to the stock and to the reservations of each SKU.
#[derive(Debug, Clone, Default)]
pub(super) struct StockChanges(BTreeMap<String, StockChange>);

#[derive(Debug, Clone, Copy, Default)]
struct StockChange {
    on_hand: i64,
    reserved: i64,
}

impl StockChanges {
    pub(super) fn add(&mut self, sku: &str, on_hand: i64, reserved: i64) {
        let change = self.0.entry(sku.to_owned()).or_default();
        change.on_hand += on_hand;
        change.reserved += reserved;
    }

    /// Returns the number of units by which earlier changes of the transaction raise what can be
    /// ordered.
    pub(super) fn available(&self, sku: &str) -> i64 {
        let change = self.0.get(sku);
        change.map_or(0, |change| change.on_hand - change.reserved)
    }

    /// Writes all changes; on a server in one statement, which locks the rows in the order of their
    /// SKUs. Checks that nothing is reserved twice. Returns false if there is too little stock; then
    /// nothing may be committed.
    pub(super) async fn write(&self, session: &mut DbConnection) -> Result<bool, TransactionError> {
        if self.0.is_empty() {
            return Ok(true);
        }
        let dialect = session.dialect();
        let all: Vec<_> = self.0.iter().collect();
        let (mut rest, mut changed) = (all.as_slice(), 0);
        while !rest.is_empty() {
            // A file is locked already. There are few different texts, because prepared statements
            // are cached.
            let (some, others) = match dialect {
                SqlDialect::Sqlite => rest.split_at(1 << rest.len().ilog2()),
                SqlDialect::Postgres => rest.split_at(rest.len()),
            };
            let statement = dynamic_sql(statement(dialect, some.len()));
            let statement = some.iter().fold(statement, |query, (sku, change)| {
                let query = query.bind((*sku).clone());
                query.bind(change.on_hand).bind(change.reserved)
            });
            changed += session.execute(statement).await?;
            rest = others;
        }
        let takes = self.0.keys().any(|sku| self.available(sku) < 0);
        Ok(!takes || changed == all.len() as u64)
    }
}

fn statement(dialect: SqlDialect, count: usize) -> String {
    let values = values_list(count, &["TEXT", "BIGINT", "BIGINT"], 1);
    let update = format!(
        "UPDATE variants SET on_hand = on_hand + v.column2, reserved = reserved + v.column3
         FROM (VALUES {values}) AS v
         WHERE variants.sku = v.column1 AND on_hand + v.column2 >= reserved + v.column3"
    );
    match dialect {
        // A statement that updates several rows locks them in the order of its plan. The count
        // is computed first, and locks them in the order of their SKUs.
        SqlDialect::Postgres if count > 1 => {
            let skus: Vec<_> = (0..count).map(|row| format!("${}", 3 * row + 1)).collect();
            format!(
                "WITH locked AS MATERIALIZED
                 (SELECT sku FROM variants WHERE sku IN ({}) ORDER BY sku FOR UPDATE)
                 {update} AND (SELECT COUNT(*) FROM locked) > 0",
                skus.join(", ")
            )
        }
        SqlDialect::Postgres | SqlDialect::Sqlite => update,
    }
}
