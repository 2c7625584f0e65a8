//! Idempotency keys: the first final outcome of a key is its outcome for as long as the key is
//! kept.

use super::connection::{
    AnyQuery, DbConnection, dynamic_sql, get_json, get_number, get_optional_text, get_text, sql,
    values_list,
};
use super::errors::TransactionError;
use super::pending_change::PendingChange;
use crate::adapter::{IdempotencyKey, OrderOperation, Request};
use crate::failure::{Failure, FinalFailure, OrderRefusal, RefusalReason};
use crate::model::UtcTime;
use candor_fault::{Cause, to_json};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::time::Duration;

/// The most keys that are deleted at a time.
const DELETED_AT_ONCE: i64 = 500;

/// The claim of a call to a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyClaim<'a> {
    key: &'a IdempotencyKey,
    operation: OrderOperation,
    fingerprint: &'a str,
}

/// The outcome of a claimed key, which is about to be stored.
pub(super) struct SettledKey<'a> {
    pub(super) claim: KeyClaim<'a>,
    pub(super) at: UtcTime,
    pub(super) outcome: &'a KeyOutcome,
    /// The id of the record.
    pub(super) record: &'a str,
    pub(super) order: Option<&'a str>,
}

/// The clock that measures the age of keys and the times of changes.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyClock {
    /// The clock of the database, so that servers with different clocks agree.
    Database,
    /// This time, taken from the clock of this server.
    Server(UtcTime),
}

/// The result of a claim.
#[derive(Debug)]
pub(super) enum ClaimResult {
    /// The key belongs to this call, since this time.
    Claimed(UtcTime),
    /// The key already has an outcome.
    Stored(KeyOutcome),
}

/// The final outcome of a change.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum KeyOutcome {
    /// The change was made; contains the entity.
    Done(Box<RawValue>),
    Failed(FinalFailure),
}

/// Returns a hash that is the same for the same arguments, however they are written.
pub(crate) fn fingerprint(request: &Request) -> String {
    let hash = Sha256::digest(to_json(request));
    let mut text = String::with_capacity(2 * hash.len());
    for byte in hash {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

impl<'a> KeyClaim<'a> {
    pub(super) fn of(change: &'a PendingChange) -> KeyClaim<'a> {
        KeyClaim {
            key: &change.key,
            operation: change.request.operation(),
            fingerprint: &change.fingerprint,
        }
    }

    /// Claims the key for this call, or returns the outcome that it already has. Waits for a call
    /// that holds the key. A key that is older than `keep` is replaced. `following` are the queries
    /// that come next if the key is claimed.
    pub(super) async fn acquire(
        &self,
        session: &mut DbConnection,
        (clock, keep): (KeyClock, Duration),
        following: impl FnOnce() -> Vec<AnyQuery>,
    ) -> Result<ClaimResult, TransactionError> {
        let now = match clock {
            KeyClock::Database => session.dialect().now(),
            KeyClock::Server(_) => "CAST($6 AS BIGINT)",
        };
        let statement = dynamic_sql(format!(
            "INSERT INTO keys (client, tool, key, fingerprint, outcome, at)
             VALUES ($1, $2, $3, $4, NULL, {now})
             ON CONFLICT (client, tool, key) DO UPDATE
             SET fingerprint = excluded.fingerprint, outcome = NULL, at = excluded.at
             WHERE keys.at < {now} - CAST($5 AS BIGINT)
             RETURNING at"
        ))
        .bind(self.key.client.clone())
        .bind(self.operation.name())
        .bind(self.key.key.clone())
        .bind(self.fingerprint.to_owned())
        .bind(i64::try_from(keep.as_micros()).unwrap_or(i64::MAX));
        let statement = match clock {
            KeyClock::Database => statement,
            KeyClock::Server(now) => statement.bind(now.micros()),
        };
        match session.first_of_change(statement, following).await? {
            Some(row) => {
                let at = get_number(&row, 0)?;
                Ok(ClaimResult::Claimed(UtcTime::of_micros(at)))
            }
            None => self.stored_outcome(session).await.map(ClaimResult::Stored),
        }
    }

    /// Returns the stored outcome of the key.
    async fn stored_outcome(
        &self,
        session: &mut DbConnection,
    ) -> Result<KeyOutcome, TransactionError> {
        let row = session
            .first(
                sql("SELECT fingerprint, outcome FROM keys WHERE client = $1 AND tool = $2 AND key = $3")
                    .bind(self.key.client.clone())
                    .bind(self.operation.name())
                    .bind(self.key.key.clone()),
            )
            .await?;
        // Another call deleted the key between the two statements: the same call succeeds now.
        let Some(row) = row else {
            return Err(TransactionError::Again(Failure::Unavailable(None, None)));
        };
        if get_text(&row, 0)? != self.fingerprint {
            let reused =
                OrderRefusal::from(RefusalReason::IdempotencyKeyReused).at("idempotencyKey");
            return Ok(KeyOutcome::Failed(FinalFailure::Refusal(reused)));
        }
        match get_optional_text(&row, 1)? {
            Some(_) => Ok(get_json(&row, 1)?),
            None => {
                let cause = Box::new(Cause::from("a key without an outcome"));
                Err(Failure::Internal("the database has a row that is never written", cause).into())
            }
        }
    }
}

/// Stores the outcomes of keys, and a record of each call.
pub(super) async fn settle(
    session: &mut DbConnection,
    mut settled: &[SettledKey<'_>],
) -> Result<(), TransactionError> {
    // There are few different texts, because databases cache prepared statements.
    while !settled.is_empty() {
        let (some, rest) = settled.split_at(1 << settled.len().ilog2());
        session
            .execute_all(vec![outcomes(some), records(some)])
            .await?;
        settled = rest;
    }
    Ok(())
}

fn outcomes(settled: &[SettledKey<'_>]) -> AnyQuery {
    let values = values_list(settled.len(), &["TEXT"; 4], 1);
    let statement = dynamic_sql(format!(
        "UPDATE keys SET outcome = v.column4 FROM (VALUES {values}) AS v
         WHERE client = v.column1 AND tool = v.column2 AND key = v.column3"
    ));
    settled.iter().fold(statement, |query, settled| {
        query
            .bind(settled.claim.key.client.clone())
            .bind(settled.claim.operation.name())
            .bind(settled.claim.key.key.clone())
            .bind(to_json(settled.outcome))
    })
}

fn records(settled: &[SettledKey<'_>]) -> AnyQuery {
    const TYPES: [&str; 8] = [
        "TEXT", "BIGINT", "TEXT", "TEXT", "TEXT", "TEXT", "TEXT", "TEXT",
    ];
    let statement = dynamic_sql(format!(
        "INSERT INTO records (id, at, client, tool, key, fingerprint, order_id, outcome) VALUES {}",
        values_list(settled.len(), &TYPES, 1)
    ));
    settled.iter().fold(statement, |query, settled| {
        let recorded = match settled.outcome {
            KeyOutcome::Done(_) => String::from("done"),
            KeyOutcome::Failed(failure) => to_json(failure),
        };
        query
            .bind(settled.record.to_owned())
            .bind(settled.at.micros())
            .bind(settled.claim.key.client.clone())
            .bind(settled.claim.operation.name())
            .bind(settled.claim.key.key.clone())
            .bind(settled.claim.fingerprint.to_owned())
            .bind(settled.order.map(str::to_owned))
            .bind(recorded)
    })
}

/// Deletes some keys that are older than `oldest`, and returns their number.
pub(super) async fn delete_before(
    session: &mut DbConnection,
    oldest: UtcTime,
) -> Result<u64, TransactionError> {
    session
        .execute(
            sql("DELETE FROM keys WHERE at < $1 AND (client, tool, key) IN
                 (SELECT client, tool, key FROM keys WHERE at < $1 ORDER BY at LIMIT $2)")
            .bind(oldest.micros())
            .bind(DELETED_AT_ONCE),
        )
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_outcomes_stay_readable() {
        for stored_outcome in [
            r#"{"done":{"id":"ord_1","total":"1.00"}}"#,
            r#"{"failed":{"Wrong":{"field":"order.shippingAddress","rule":"ShippingAddress"}}}"#,
            r#"{"failed":{"Refused":{"why":"OrderNotFound"}}}"#,
            r#"{"failed":{"Refused":{"why":"InvalidOrderState","field":"orderId","status":"shipped"}}}"#,
            r#"{"failed":{"Refused":{"why":"InsufficientInventory","field":"order.lineItems.0.quantity","available":3}}}"#,
        ] {
            let read: KeyOutcome = serde_json::from_str(stored_outcome).unwrap();
            assert_eq!(to_json(&read), stored_outcome);
        }
    }
}
