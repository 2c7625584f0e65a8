//! Opens a store for a command of its owner: one connection, beside those of running servers. A
//! missing store is not created, and a database of another program is not changed.

use super::dialect::SqlDialect;
use super::store::{DatabaseUrl, PATIENCE, StoreError, read_currency, set_up};
use crate::model::Currency;
use sqlx::any::AnyConnectOptions;
use sqlx::{AnyConnection, ConnectOptions as _, Connection as _};
use std::time::Duration;

/// The time that one statement may take.
const STATEMENT_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The time that a statement waits for a lock of a file.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(10);

/// A connection to a store that has its tables.
pub(super) struct ExistingStore {
    pub(super) connection: AnyConnection,
    pub(super) dialect: SqlDialect,
    pub(super) currency: Currency,
}

impl ExistingStore {
    pub(super) async fn open(database: &DatabaseUrl) -> Result<ExistingStore, StoreError> {
        sqlx::any::install_default_drivers();
        let dialect = database.dialect();
        let options: AnyConnectOptions = database.existing().parse()?;
        // These statements may take long, and their texts are of no use to the owner.
        let options = options.disable_statement_logging();
        let connecting = AnyConnection::connect_with(&options);
        let connection = tokio::time::timeout(PATIENCE, connecting).await;
        let mut connection = connection.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        let setup = dialect.owner_setup(STATEMENT_LIMIT, LOCK_WAIT);
        set_up(&mut connection, setup).await?;
        let currency = match read_currency(&mut connection, dialect).await {
            Err(StoreError::Empty) => Err(refuse_empty(&mut connection, dialect).await?),
            read => read,
        };
        Ok(ExistingStore {
            connection,
            dialect,
            currency: currency?,
        })
    }

    /// Starts a transaction whose statements all see the same snapshot.
    pub(super) async fn begin_snapshot(&mut self) -> Result<(), sqlx::Error> {
        let begin = super::connection::sql(self.dialect.begin_snapshot());
        begin.execute(&mut self.connection).await.map(|_| ())
    }

    pub(super) async fn close(self) -> Result<(), StoreError> {
        Ok(self.connection.close().await?)
    }
}

/// Returns the error for a database without our tables: it may have those of another program.
async fn refuse_empty(
    connection: &mut AnyConnection,
    dialect: SqlDialect,
) -> Result<StoreError, StoreError> {
    let Some(count) = dialect.count_all_tables() else {
        return Ok(StoreError::Empty);
    };
    let others: i64 = sqlx::query_scalar(count).fetch_one(connection).await?;
    Ok(match others {
        0 => StoreError::Empty,
        _ => StoreError::Foreign("the file is a database of something else"),
    })
}
