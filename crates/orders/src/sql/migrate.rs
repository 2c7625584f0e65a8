//! Creates the tables of an empty database, and brings tables of an older format to the current one.

use super::dialect::SqlDialect;
use super::store::{DatabaseUrl, StoreError, connect_pools, read_currency};
use super::tables::{self, FORMAT};
use super::upgrade;
use crate::model::Currency;
use sqlx::{AnyConnection, AssertSqlSafe};
use std::time::Duration;

/// The time that one statement may take.
const DEADLINE: Duration = Duration::from_secs(3_600);

/// The program in the table `migrations`.
const PROGRAM: &str = concat!("candor ", env!("CARGO_PKG_VERSION"));

/// The outcome of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationOutcome {
    Created,
    /// The tables had an older format.
    Upgraded,
    /// The tables already exist.
    Current,
}

/// Creates the tables of a store with prices in this currency. Tables of format 1 are brought to
/// the current format in one transaction; a file is copied before. Current tables stay as they are.
pub async fn migrate(
    database: &DatabaseUrl,
    currency: Currency,
) -> Result<MigrationOutcome, StoreError> {
    let dialect = database.dialect();
    let (reads, writes) = connect_pools(database, 2, DEADLINE).await?;
    let migrated = async {
        let mut connection = writes.acquire().await?;
        if dialect == SqlDialect::Sqlite && format(&mut connection, dialect).await? == Some(1) {
            upgrade::copy_file(&mut connection).await?;
        }
        let migrated = make(&mut connection, dialect, currency).await;
        match migrated {
            Ok(_) => drop(connection),
            // Closing the connection rolls the transaction back.
            Err(_) => drop(connection.detach()),
        }
        let migrated = migrated?;
        let mut connection = writes.acquire().await?;
        read_currency(&mut connection, dialect).await?;
        Ok::<_, StoreError>(migrated)
    };
    let migrated = migrated.await;
    reads.close().await;
    writes.close().await;
    migrated
}

/// Returns the statements that [`migrate`] would run, without running them. Comments describe the
/// rows that are computed.
pub async fn migration_statements(database: &DatabaseUrl) -> Result<Vec<String>, StoreError> {
    let dialect = database.dialect();
    let (reads, writes) = connect_pools(database, 1, DEADLINE).await?;
    let found = async {
        let mut connection = writes.acquire().await?;
        format(&mut connection, dialect).await
    };
    let found = found.await;
    reads.close().await;
    writes.close().await;
    match found? {
        None => Ok(tables::statements(dialect).collect()),
        Some(1) => Ok(upgrade::described_statements(dialect)),
        Some(FORMAT) => Ok(Vec::new()),
        Some(newer) => Err(StoreError::Newer(newer)),
    }
}

/// Returns the currency of a store that has its tables.
pub async fn currency(database: &DatabaseUrl) -> Result<Currency, StoreError> {
    let (reads, writes) = connect_pools(database, 1, DEADLINE).await?;
    let currency = async {
        let mut connection = writes.acquire().await?;
        read_currency(&mut connection, database.dialect()).await
    };
    let currency = currency.await;
    reads.close().await;
    writes.close().await;
    currency
}

/// Returns the format of the tables, or `None` if there are none of ours.
pub(super) async fn format(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
) -> Result<Option<i64>, StoreError> {
    let found: i64 = sqlx::query_scalar(dialect.count_our_tables())
        .fetch_one(&mut *connection)
        .await?;
    if found == 0 {
        return Ok(None);
    }
    let format = sqlx::query_scalar("SELECT value FROM settings WHERE name = 'format'")
        .fetch_optional(&mut *connection)
        .await
        .map_err(|_| StoreError::Foreign("their settings have another form"))?;
    let format = format.and_then(|text: String| text.parse().ok());
    format
        .map(Some)
        .ok_or(StoreError::Foreign("they have no format"))
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
    let migrated = match format(connection, dialect).await? {
        None => {
            create(connection, dialect, currency).await?;
            MigrationOutcome::Created
        }
        Some(1) => {
            upgrade::upgrade(connection, dialect).await?;
            MigrationOutcome::Upgraded
        }
        Some(FORMAT) => MigrationOutcome::Current,
        Some(newer) => return Err(StoreError::Newer(newer)),
    };
    if migrated != MigrationOutcome::Current {
        record(connection, dialect).await?;
    }
    sqlx::query("COMMIT").execute(&mut *connection).await?;
    Ok(migrated)
}

async fn create(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
    currency: Currency,
) -> Result<(), StoreError> {
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
    Ok(())
}

/// Records the format that the tables have now, with the time of the database.
async fn record(connection: &mut AnyConnection, dialect: SqlDialect) -> Result<(), StoreError> {
    let statement = format!(
        "INSERT INTO migrations (version, at, program) VALUES ($1, {}, $2)",
        dialect.now()
    );
    sqlx::query(AssertSqlSafe(statement))
        .bind(FORMAT)
        .bind(PROGRAM)
        .execute(&mut *connection)
        .await?;
    Ok(())
}
