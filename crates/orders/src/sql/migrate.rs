//! Making the tables of an empty database, once.

use super::dialect::Speaks;
use super::store::{Place, Unusable, pools};
use super::tables::{self, FORMAT};
use crate::model::Currency;
use sqlx::{AnyConnection, AssertSqlSafe};
use std::time::Duration;

/// How long making the tables may take.
const DEADLINE: Duration = Duration::from_secs(60);

/// What making the tables came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Migrated {
    /// They were made.
    Made,
    /// They were there already.
    Current,
}

/// Makes the tables of a store with prices in this currency; tables that are there stay as they are.
pub async fn migrate(place: &Place, currency: Currency) -> Result<Migrated, Unusable> {
    let unreachable = |error: sqlx::Error| Unusable::Unreachable(error.to_string());
    let (reads, writes) = pools(place, 2, DEADLINE).await.map_err(unreachable)?;
    let migrated = async {
        let mut connection = writes.acquire().await?;
        let migrated = make(&mut connection, place.speaks(), currency).await;
        if migrated.is_err() {
            // What was begun is rolled back with its connection.
            drop(connection.detach());
        }
        migrated
    };
    let migrated = migrated.await.map_err(unreachable);
    reads.close().await;
    writes.close().await;
    migrated
}

async fn make(
    connection: &mut AnyConnection,
    speaks: Speaks,
    currency: Currency,
) -> Result<Migrated, sqlx::Error> {
    sqlx::query(speaks.begin())
        .execute(&mut *connection)
        .await?;
    if let Some(lock) = speaks.only_one_migrates() {
        sqlx::query(lock).execute(&mut *connection).await?;
    }
    let found: i64 = sqlx::query_scalar(speaks.has_tables())
        .fetch_one(&mut *connection)
        .await?;
    let migrated = if found > 0 {
        Migrated::Current
    } else {
        for statement in tables::statements(speaks) {
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
        Migrated::Made
    };
    sqlx::query("COMMIT").execute(&mut *connection).await?;
    Ok(migrated)
}
