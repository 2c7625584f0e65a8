//! Removes old records in the background, in small batches between the changes of the server.

use super::commit_group::ChangeRunner;
use super::connection::{get_number, get_text, sql};
use super::errors::TransactionError;
use super::ids::first_id;
use crate::failure::Failure;
use crate::model::UtcTime;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The time between two runs.
const EVERY: Duration = Duration::from_secs(60 * 60);

/// The most records that are removed at a time.
pub const REMOVED_AT_ONCE: i64 = 500;

/// The wait of a batch while changes are being made, and the most of such waits.
const PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSES: u32 = 50;

/// The time that a batch waits for a lock.
const LOCK_WAIT: Duration = Duration::from_secs(1);

/// A task that removes old records. It ends when this value is dropped.
#[derive(Debug)]
pub(super) struct RecordRemoval(JoinHandle<()>);

impl RecordRemoval {
    /// Removes records that are older than `keep`, now and every hour.
    pub(super) fn start(runner: Arc<ChangeRunner>, keep: Duration) -> RecordRemoval {
        RecordRemoval(tokio::spawn(async move {
            loop {
                match remove_old(&runner, keep).await {
                    Ok(0) => {}
                    Ok(records) => tracing::info!(records, "old records were removed"),
                    // They do no harm; the next run removes them.
                    Err(_) => tracing::warn!("old records could not be removed"),
                }
                tokio::time::sleep(EVERY).await;
            }
        }))
    }
}

impl Drop for RecordRemoval {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Removes all records that are older than `keep`. The record of a key stays as long as the key:
/// an erasure finds the stored answer by it.
async fn remove_old(runner: &ChangeRunner, keep: Duration) -> Result<u64, TransactionError> {
    let keep = i64::try_from(keep.as_micros()).unwrap_or(i64::MAX);
    let oldest = UtcTime::of_micros(now(runner).await?.micros().saturating_sub(keep));
    let end = first_id("rec", oldest);
    let mut after = String::new();
    let mut removed = 0;
    while let Some(last) = batch_end(runner, &after, &end).await? {
        wait_for_changes(runner).await;
        let mut session = runner.store.begin_write(LOCK_WAIT).await?;
        let statement = sql(
            "DELETE FROM records WHERE id > $1 AND id <= $2 AND at < $3 AND NOT EXISTS
                 (SELECT 1 FROM keys WHERE keys.client = records.client
                  AND keys.tool = records.tool AND keys.key = records.key)",
        );
        let statement = statement.bind(after).bind(last.clone());
        removed += session.execute(statement.bind(oldest.micros())).await?;
        session.commit().await?;
        after = last;
    }
    Ok(removed)
}

/// Returns the time by which records are dated.
async fn now(runner: &ChangeRunner) -> Result<UtcTime, TransactionError> {
    if !runner.database_clock {
        return Ok(runner.clock.now().into());
    }
    let text = format!("SELECT {}", runner.store.dialect.now());
    let rows = runner
        .store
        .read(|| super::connection::dynamic_sql(text.clone()))
        .await?;
    let missing = || TransactionError::Again(Failure::Unavailable(None, None));
    let row = rows.first().ok_or_else(missing)?;
    Ok(UtcTime::of_micros(get_number(row, 0)?))
}

/// Returns the last id of the next batch, or `None` if no record is left. Ids sort by time.
async fn batch_end(
    runner: &ChangeRunner,
    after: &str,
    end: &str,
) -> Result<Option<String>, TransactionError> {
    let query = || {
        sql("SELECT id FROM records WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3")
            .bind(after.to_owned())
            .bind(end.to_owned())
            .bind(REMOVED_AT_ONCE)
    };
    let rows = runner.store.read(query).await?;
    let last = rows.last().map(|row| get_text(row, 0)).transpose();
    Ok(last?)
}

/// Waits until the server makes no change. A server that is never idle is not waited for longer
/// than a second.
async fn wait_for_changes(runner: &ChangeRunner) {
    for _ in 0..MAX_PAUSES {
        if runner.open.load(Ordering::Relaxed) == 0 {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
