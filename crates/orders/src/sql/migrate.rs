//! Creates the tables of an empty database.

use super::dialect::SqlDialect;
use super::store::{DatabaseUrl, StoreError, connect_pools, read_currency};
use super::tables::{self, FORMAT};
use crate::model::Currency;
use sqlx::{AnyConnection, AssertSqlSafe};
use std::time::Duration;

/// The time that creating the tables may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// The outcome of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationOutcome {
    Created,
    /// The tables already exist.
    Current,
}

/// Creates the tables of a store with prices in this currency. Existing tables stay as they are, if
/// this program knows them.
pub async fn migrate(
    database: &DatabaseUrl,
    currency: Currency,
) -> Result<MigrationOutcome, StoreError> {
    let (reads, writes) = connect_pools(database, 2, DEADLINE).await?;
    let migrated = async {
        let mut connection = writes.acquire().await?;
        let migrated = make(&mut connection, database.dialect(), currency).await;
        match migrated {
            Ok(_) => drop(connection),
            // Closing the connection rolls the transaction back.
            Err(_) => drop(connection.detach()),
        }
        let migrated = migrated?;
        read_currency(&writes, database.dialect()).await?;
        Ok::<_, StoreError>(migrated)
    };
    let migrated = migrated.await;
    reads.close().await;
    writes.close().await;
    migrated
}

/// Returns the currency of a store that has its tables.
pub async fn currency(database: &DatabaseUrl) -> Result<Currency, StoreError> {
    let (reads, writes) = connect_pools(database, 1, DEADLINE).await?;
    let currency = read_currency(&writes, database.dialect()).await;
    reads.close().await;
    writes.close().await;
    currency
}

async fn make(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
    currency: Currency,
) -> Result<MigrationOutcome, StoreError> {
    sqlx::query(dialect.begin())
        .execute(&mut *connection)
        .await?;
    if let Some(lock) = dialect.migration_lock() {
        sqlx::query(lock).execute(&mut *connection).await?;
    }
    let found: i64 = sqlx::query_scalar(dialect.count_our_tables())
        .fetch_one(&mut *connection)
        .await?;
    let migrated = if found > 0 {
        MigrationOutcome::Current
    } else {
        if let Some(others) = dialect.count_all_tables() {
            let others: i64 = sqlx::query_scalar(others)
                .fetch_one(&mut *connection)
                .await?;
            if others > 0 {
                return Err(StoreError::Foreign(
                    "the file is a database of something else",
                ));
            }
        }
        for statement in tables::statements(dialect) {
            let made = sqlx::query(AssertSqlSafe(statement));
            made.execute(&mut *connection).await?;
        }
        let format = FORMAT.to_string();
        for (name, value) in [("format", format.as_str()), ("currency", currency.code())] {
            sqlx::query("INSERT INTO settings (name, value) VALUES ($1, $2)")
                .bind(name)
                .bind(value.to_owned())
                .execute(&mut *connection)
                .await?;
        }
        MigrationOutcome::Created
    };
    sqlx::query("COMMIT").execute(&mut *connection).await?;
    Ok(migrated)
}
