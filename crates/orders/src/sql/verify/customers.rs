//! Checks each customer.

use super::{Findings, Invariant};
use crate::sql::connection::{get_optional_number, get_optional_text, get_text, sql};
use crate::sql::store::StoreError;
use futures_util::TryStreamExt as _;
use sqlx::AnyConnection;

/// Checks that the email address of each customer is found, and that erased ones are empty.
pub(super) async fn check(
    connection: &mut AnyConnection,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let customers = sql(
        "SELECT id, email, email_key, first_name, last_name, phone, erased_at, updated_at
         FROM customers",
    );
    let mut rows = customers.fetch(connection);
    while let Some(row) = rows.try_next().await? {
        let id = get_text(&row, 0)?;
        let text = |index| get_optional_text(&row, index).map_err(StoreError::from);
        let key = text(1)?.map(|email| email.to_lowercase());
        findings.check(key == text(2)?, Invariant::Customers, &id);
        let number = |index| get_optional_number(&row, index).map_err(StoreError::from);
        if number(6)?.is_some() && number(6)? == number(7)? {
            let mut is_clean = true;
            for index in 1..=5 {
                is_clean &= text(index)?.is_none();
            }
            findings.check(is_clean, Invariant::ErasedData, &id);
        }
    }
    Ok(())
}
