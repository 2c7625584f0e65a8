//! Checks the stored outcomes of keys, and the records.

use super::{Findings, Invariant};
use crate::failure::FinalFailure;
use crate::sql::connection::{get_optional_text, get_text, sql};
use crate::sql::keys::KeyOutcome;
use crate::sql::store::StoreError;
use futures_util::TryStreamExt as _;
use sqlx::AnyConnection;

pub(super) async fn check(
    connection: &mut AnyConnection,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut keys = sql("SELECT key, outcome FROM keys").fetch(&mut *connection);
    while let Some(row) = keys.try_next().await? {
        let outcome = get_optional_text(&row, 1)?;
        // A key without an outcome is found by a query.
        let is_read = outcome.is_none_or(|text| serde_json::from_str::<KeyOutcome>(&text).is_ok());
        if !is_read {
            let key = get_text(&row, 0)?;
            findings.add(Invariant::Keys, key);
        }
    }
    drop(keys);
    let mut records = sql("SELECT id, outcome FROM records").fetch(connection);
    while let Some(row) = records.try_next().await? {
        let outcome = get_text(&row, 1)?;
        let is_read = outcome == "done" || serde_json::from_str::<FinalFailure>(&outcome).is_ok();
        if !is_read {
            let id = get_text(&row, 0)?;
            findings.add(Invariant::Records, id);
        }
    }
    Ok(())
}
