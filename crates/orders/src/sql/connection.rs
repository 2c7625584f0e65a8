//! A pooled connection, returned when its work is done and closed when it is dropped before.

use super::dialect::SqlDialect;
use super::errors::{TransactionError, to_transaction_error};
use super::statement_batch::StatementBatch;
use super::stock_changes::{CatalogueEntry, StockChanges};
use crate::failure::Failure;
use candor_fault::Cause;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, AssertSqlSafe, Execute as _, Executor as _, Row as _};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::{self, Write as _};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// A query with its arguments.
pub(super) type AnyQuery = Query<'static, Any, AnyArguments>;

/// Returns a query with a fixed text.
pub(super) fn sql(text: &'static str) -> AnyQuery {
    sqlx::query(text)
}

/// Returns a query whose text was built here, without any text of a caller.
pub(super) fn dynamic_sql(text: String) -> AnyQuery {
    sqlx::query(AssertSqlSafe(text))
}

/// Returns `($1, $2), ($3, $4)`: rows of arguments numbered from `first`, cast to the given types.
pub(super) fn values_list(count: usize, types: &[&str], first: usize) -> String {
    let mut text = String::with_capacity(count * types.len() * 20);
    for row in 0..count {
        text.push_str(if row == 0 { "(" } else { ", (" });
        for (index, kind) in types.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let number = first + row * types.len() + index;
            // Writing to a string cannot fail.
            let _ = write!(text, "{comma}CAST(${number} AS {kind})");
        }
        text.push(')');
    }
    text
}

/// Returns `$1, $2, $3`: arguments numbered from `first`.
pub(super) fn placeholders(count: usize, first: usize) -> String {
    let numbers: Vec<_> = (first..first + count).map(|n| format!("${n}")).collect();
    numbers.join(", ")
}

/// The connection of one call. If it is dropped in the middle of its work it is closed, and an open
/// transaction is rolled back: nothing goes on after the caller has left.
pub(super) struct DbConnection {
    connection: Option<PoolConnection<Any>>,
    dialect: SqlDialect,
    /// The stock changes of the open transaction, and those of them that an earlier savepoint has.
    stock: StockChanges,
    stock_before: StockChanges,
    /// The catalogue entries that earlier changes of a group have read.
    entries: BTreeMap<String, CatalogueEntry>,
    /// True if rows were written since the last savepoint.
    has_written: bool,
    has_savepoint: bool,
    /// True if the savepoint is set together with the next statement.
    sets_savepoint: bool,
    /// The texts and the rows of queries that were sent ahead and are about to be asked.
    ahead: VecDeque<(String, Vec<AnyRow>)>,
    /// Locks the stock that is read, because an attempt without locks found too little in the end.
    pub(super) locks_stock: bool,
    // Declared after the connection, so that the connection is returned first.
    _permit: OwnedSemaphorePermit,
}

impl fmt::Debug for DbConnection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DbConnection({:?})", self.dialect)
    }
}

impl DbConnection {
    pub(super) fn new(
        connection: PoolConnection<Any>,
        permit: OwnedSemaphorePermit,
        dialect: SqlDialect,
    ) -> DbConnection {
        DbConnection {
            connection: Some(connection),
            dialect,
            stock: StockChanges::default(),
            stock_before: StockChanges::default(),
            entries: BTreeMap::new(),
            has_written: false,
            has_savepoint: false,
            sets_savepoint: false,
            ahead: VecDeque::new(),
            locks_stock: false,
            _permit: permit,
        }
    }

    pub(super) const fn dialect(&self) -> SqlDialect {
        self.dialect
    }

    fn at_work(&mut self) -> Result<&mut AnyConnection, TransactionError> {
        let over = || {
            let cause = Box::new(Cause::from("the connection was given back"));
            TransactionError::Failed(Failure::Internal(
                "a connection was used after its end",
                cause,
            ))
        };
        self.connection.as_deref_mut().ok_or_else(over)
    }

    /// Starts a transaction that writes. Each of its statements waits at most `lock_wait` for a lock.
    pub(super) async fn begin(&mut self, lock_wait: Duration) -> Result<(), TransactionError> {
        self.run(self.dialect.begin_waiting(lock_wait)).await
    }

    /// Undoes everything since [`DbConnection::begin`], and starts anew.
    pub(super) async fn restart(&mut self, lock_wait: Duration) -> Result<(), TransactionError> {
        self.run(String::from("ROLLBACK")).await?;
        self.stock = StockChanges::default();
        self.has_written = false;
        self.begin(lock_wait).await
    }

    /// Sets a savepoint, in place of an earlier one. In a file it is set together with the next
    /// statement, which has to be [`DbConnection::first_of_change`].
    pub(super) async fn set_savepoint(&mut self) -> Result<(), TransactionError> {
        self.ahead.clear();
        match self.dialect {
            SqlDialect::Sqlite => self.sets_savepoint = true,
            SqlDialect::Postgres => {
                let text = self.savepoint_text();
                self.run(text.to_owned()).await?;
            }
        }
        self.has_written = false;
        self.stock_before = self.stock.clone();
        Ok(())
    }

    /// Returns the statements that set a savepoint, which are about to be run.
    const fn savepoint_text(&mut self) -> &'static str {
        match std::mem::replace(&mut self.has_savepoint, true) {
            true => "RELEASE SAVEPOINT member; SAVEPOINT member",
            false => "SAVEPOINT member",
        }
    }

    /// Undoes everything since the savepoint, which stays.
    pub(super) async fn roll_back_to_savepoint(&mut self) -> Result<(), TransactionError> {
        self.ahead.clear();
        // Nothing was done since a savepoint that is not set yet.
        if !self.sets_savepoint {
            self.run(String::from("ROLLBACK TO SAVEPOINT member"))
                .await?;
        }
        self.has_written = false;
        self.stock = self.stock_before.clone();
        Ok(())
    }

    pub(super) const fn has_written(&self) -> bool {
        self.has_written
    }

    pub(super) const fn stock(&self) -> &StockChanges {
        &self.stock
    }

    pub(super) const fn stock_mut(&mut self) -> &mut StockChanges {
        &mut self.stock
    }

    /// Returns the catalogue entries of these SKUs, if earlier changes of the same group have read
    /// all of them. The changes of a group have all been asked for when it starts, and its last
    /// statement checks the stock, so none of them needs entries of its own.
    pub(super) fn known_entries(
        &self,
        skus: &BTreeSet<&str>,
    ) -> Option<BTreeMap<String, CatalogueEntry>> {
        let known = |sku: &&str| Some(((*sku).to_owned(), self.entries.get(*sku)?.clone()));
        skus.iter().map(known).collect()
    }

    /// Keeps catalogue entries for the next changes of a group. In a file, where any change may be in
    /// a group, an entry could be written before it is used again.
    pub(super) fn keep_entries(&mut self, entries: &BTreeMap<String, CatalogueEntry>) {
        if self.has_savepoint && self.dialect == SqlDialect::Postgres && !self.locks_stock {
            self.entries.append(&mut entries.clone());
        }
    }

    /// Writes the stock changes of the transaction. Returns false if there is too little stock.
    pub(super) async fn write_stock(&mut self) -> Result<bool, TransactionError> {
        let stock = std::mem::take(&mut self.stock);
        stock.write(self).await
    }

    /// Runs statements without arguments in one round trip.
    async fn run(&mut self, text: String) -> Result<(), TransactionError> {
        let dialect = self.dialect;
        let done = self.at_work()?.execute(AssertSqlSafe(text)).await;
        done.map(|_| ())
            .map_err(|error| to_transaction_error(error, dialect))
    }

    /// Returns true if statements of a change are sent together: in a group of changes of a file.
    const fn sends_together(&self) -> bool {
        self.has_savepoint && matches!(self.dialect, SqlDialect::Sqlite)
    }

    async fn run_batch(
        &mut self,
        batch: StatementBatch,
    ) -> Result<Vec<Vec<AnyRow>>, TransactionError> {
        let dialect = self.dialect;
        let rows = batch.run(self.at_work()?).await;
        rows.map_err(|error| to_transaction_error(error, dialect))
    }

    /// Runs the first statement of a change, and returns its first row. In a group of changes of a
    /// file, the savepoint is set before it, and `following` queries are sent along: they are those
    /// that come next, if nothing is written before them.
    pub(super) async fn first_of_change(
        &mut self,
        statement: AnyQuery,
        following: impl FnOnce() -> Vec<AnyQuery>,
    ) -> Result<Option<AnyRow>, TransactionError> {
        self.ahead.clear();
        if !self.sends_together() && !self.sets_savepoint {
            return self.first(statement).await;
        }
        let (mut batch, mut texts) = (StatementBatch::default(), Vec::new());
        if std::mem::take(&mut self.sets_savepoint) {
            batch.add_text(self.savepoint_text());
        }
        batch.add(statement)?;
        for query in following() {
            texts.push(batch.add(query)?);
        }
        let mut results = self.run_batch(batch).await?;
        let following = results.split_off(results.len().saturating_sub(texts.len()));
        self.ahead = texts.into_iter().zip(following).collect();
        let first = results.pop().unwrap_or_default();
        Ok(first.into_iter().next())
    }

    /// Writes rows, and returns the first row of the first statement. If that one has no row, the
    /// caller has to roll back; the others may or may not have been run.
    pub(super) async fn write_all(
        &mut self,
        statements: Vec<AnyQuery>,
    ) -> Result<Option<AnyRow>, TransactionError> {
        self.has_written = true;
        self.ahead.clear();
        if self.sends_together() {
            let results = self.run_batch(StatementBatch::of(statements)?).await?;
            let first = results.into_iter().next().unwrap_or_default();
            return Ok(first.into_iter().next());
        }
        let mut statements = statements.into_iter();
        let first = match statements.next() {
            Some(statement) => self.first(statement).await?,
            None => None,
        };
        if first.is_some() {
            for statement in statements {
                self.execute(statement).await?;
            }
        }
        Ok(first)
    }

    /// Runs statements that change rows.
    pub(super) async fn execute_all(
        &mut self,
        statements: Vec<AnyQuery>,
    ) -> Result<(), TransactionError> {
        self.has_written = true;
        self.ahead.clear();
        if self.sends_together() {
            let batch = StatementBatch::of(statements)?;
            return self.run_batch(batch).await.map(drop);
        }
        for statement in statements {
            self.execute(statement).await?;
        }
        Ok(())
    }

    /// Returns the rows of a query that was sent ahead, or the query.
    fn take_ahead(&mut self, mut query: AnyQuery) -> Result<Vec<AnyRow>, AnyQuery> {
        let Some((text, rows)) = self.ahead.pop_front() else {
            return Err(query);
        };
        let arguments = query.take_arguments().ok().flatten().unwrap_or_default();
        let asked = query.sql();
        if asked.as_str() == text {
            return Ok(rows);
        }
        self.ahead.clear();
        Err(sqlx::query_with(asked, arguments))
    }

    /// Runs a query and returns the number of changed rows.
    pub(super) async fn execute(&mut self, statement: AnyQuery) -> Result<u64, TransactionError> {
        let dialect = self.dialect;
        self.has_written = true;
        self.ahead.clear();
        let done = statement.execute(self.at_work()?).await;
        done.map(|done| done.rows_affected())
            .map_err(|error| to_transaction_error(error, dialect))
    }

    pub(super) async fn all(
        &mut self,
        statement: AnyQuery,
    ) -> Result<Vec<AnyRow>, TransactionError> {
        let dialect = self.dialect;
        let statement = match self.take_ahead(statement) {
            Ok(rows) => return Ok(rows),
            Err(statement) => statement,
        };
        let rows = statement.fetch_all(self.at_work()?).await;
        rows.map_err(|error| to_transaction_error(error, dialect))
    }

    pub(super) async fn first(
        &mut self,
        statement: AnyQuery,
    ) -> Result<Option<AnyRow>, TransactionError> {
        let dialect = self.dialect;
        let statement = match self.take_ahead(statement) {
            Ok(rows) => return Ok(rows.into_iter().next()),
            Err(statement) => statement,
        };
        let row = statement.fetch_optional(self.at_work()?).await;
        row.map_err(|error| to_transaction_error(error, dialect))
    }

    pub(super) async fn commit(mut self) -> Result<(), TransactionError> {
        self.execute(sql("COMMIT")).await?;
        self.finish();
        Ok(())
    }

    /// Undoes the transaction. A connection that cannot do that is closed, which undoes it too.
    pub(super) async fn roll_back(mut self) {
        if self.execute(sql("ROLLBACK")).await.is_ok() {
            self.finish();
        }
    }

    /// Returns the connection to its pool. No transaction may be open.
    pub(super) fn finish(mut self) {
        drop(self.connection.take());
    }
}

impl Drop for DbConnection {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(connection.detach());
        }
    }
}

fn unread(error: sqlx::Error) -> Failure {
    let cause = Cause::error("DatabaseError", &error);
    Failure::Internal("a row of the database cannot be read", Box::new(cause))
}

pub(super) fn get_text(row: &AnyRow, index: usize) -> Result<String, Failure> {
    row.try_get(index).map_err(unread)
}

pub(super) fn get_optional_text(row: &AnyRow, index: usize) -> Result<Option<String>, Failure> {
    row.try_get(index).map_err(unread)
}

pub(super) fn get_number(row: &AnyRow, index: usize) -> Result<i64, Failure> {
    row.try_get(index).map_err(unread)
}

pub(super) fn get_optional_number(row: &AnyRow, index: usize) -> Result<Option<i64>, Failure> {
    row.try_get(index).map_err(unread)
}

pub(super) fn get_json<T: serde::de::DeserializeOwned>(
    row: &AnyRow,
    index: usize,
) -> Result<T, Failure> {
    let text = get_text(row, index)?;
    serde_json::from_str(&text).map_err(|error| {
        let cause = Cause::error("DatabaseError", &error);
        Failure::Internal("a row of the database cannot be read", Box::new(cause))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_numbered_consecutively() {
        assert_eq!(placeholders(3, 2), "$2, $3, $4");
        assert_eq!(
            values_list(2, &["TEXT", "BIGINT"], 1),
            "(CAST($1 AS TEXT), CAST($2 AS BIGINT)), (CAST($3 AS TEXT), CAST($4 AS BIGINT))"
        );
    }
}
