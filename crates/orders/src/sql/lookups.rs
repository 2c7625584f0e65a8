//! The keys by which orders, customers and fulfilments are looked up: names, phone numbers and
//! tracking numbers, in the table `lookups`.
//!
//! A key starts with the kind of entity and value. It is followed by the time and the id of the
//! entity, so that the primary key has the order of pages.

use super::connection::{AnyQuery, DbConnection, dynamic_sql, values_list};
use super::errors::TransactionError;
use super::order::OrderDetails;
use crate::model::{UtcTime, order_name_key, person_keys, person_name_key, phone_digits};
use std::collections::BTreeSet;

/// A kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookupKind {
    OrderName,
    /// The name of an order's customer, or of a person in its addresses.
    OrderPerson,
    OrderPhone,
    OrderTracking,
    CustomerName,
    CustomerPhone,
    FulfillmentTracking,
}

/// The digits at the end of a phone number that are its key. The whole number is the value.
const PHONE_KEY_DIGITS: usize = 7;

impl LookupKind {
    /// Returns the start of the keys.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            LookupKind::OrderName => "on:",
            LookupKind::OrderPerson => "oc:",
            LookupKind::OrderPhone => "op:",
            LookupKind::OrderTracking => "ot:",
            LookupKind::CustomerName => "cn:",
            LookupKind::CustomerPhone => "cp:",
            LookupKind::FulfillmentTracking => "ft:",
        }
    }

    /// Returns the keys of searched values. The values of phones are their digits, see
    /// [`LookupKind::searched_digits`].
    pub(super) fn searched_keys(self, values: &[String]) -> Vec<String> {
        let normal = |value: &String| match self {
            LookupKind::OrderName => order_name_key(value),
            LookupKind::OrderPerson | LookupKind::CustomerName => person_name_key(value),
            _ => value.clone(),
        };
        let keys: BTreeSet<_> = values.iter().map(normal).collect();
        keys.iter()
            .map(|key| format!("{}{key}", self.prefix()))
            .collect()
    }
}

/// Returns the digits of searched phone numbers.
pub(super) fn searched_digits(phones: &[String]) -> Vec<String> {
    let digits: BTreeSet<_> = phones
        .iter()
        .filter_map(|phone| phone_digits(phone))
        .collect();
    digits.into_iter().collect()
}

/// The keys of one entity, each with its value.
pub(super) type LookupKeys = BTreeSet<(String, String)>;

fn add(keys: &mut LookupKeys, kind: LookupKind, key: &str) {
    keys.insert((format!("{}{key}", kind.prefix()), String::new()));
}

fn add_person(keys: &mut LookupKeys, kind: LookupKind, names: (Option<&str>, Option<&str>)) {
    for key in person_keys(names.0, names.1) {
        add(keys, kind, &key);
    }
}

fn add_phone(keys: &mut LookupKeys, kind: LookupKind, phone: Option<&str>) {
    if let Some(digits) = phone.and_then(phone_digits) {
        let end = digits.len() - PHONE_KEY_DIGITS.min(digits.len());
        let key = format!("{}{}", kind.prefix(), digits.get(end..).unwrap_or_default());
        keys.insert((key, digits));
    }
}

/// Returns the keys of an order, except those of its tracking numbers.
pub(super) fn of_order(name: Option<&str>, details: &OrderDetails) -> LookupKeys {
    let mut keys = LookupKeys::new();
    if let Some(name) = name {
        add(&mut keys, LookupKind::OrderName, &order_name_key(name));
    }
    if let Some(customer) = &details.customer {
        let names = (
            customer.first_name.as_deref(),
            customer.last_name.as_deref(),
        );
        add_person(&mut keys, LookupKind::OrderPerson, names);
        add_phone(&mut keys, LookupKind::OrderPhone, customer.phone.as_deref());
    }
    let addresses = [&details.shipping_address, &details.billing_address];
    for address in addresses.into_iter().flatten() {
        let names = (address.first_name.as_deref(), address.last_name.as_deref());
        add_person(&mut keys, LookupKind::OrderPerson, names);
        add_phone(&mut keys, LookupKind::OrderPhone, address.phone.as_deref());
    }
    keys
}

/// Returns the keys of a customer.
pub(super) fn of_customer(
    first: Option<&str>,
    last: Option<&str>,
    phone: Option<&str>,
) -> LookupKeys {
    let mut keys = LookupKeys::new();
    add_person(&mut keys, LookupKind::CustomerName, (first, last));
    add_phone(&mut keys, LookupKind::CustomerPhone, phone);
    keys
}

/// Returns the keys of tracking numbers.
pub(super) fn of_tracking(kind: LookupKind, numbers: &[String]) -> LookupKeys {
    let mut keys = LookupKeys::new();
    for number in numbers {
        add(&mut keys, kind, number);
    }
    keys
}

/// Inserts the keys of an entity. Existing ones stay.
pub(super) async fn insert(
    session: &mut DbConnection,
    (id, created_at): (&str, UtcTime),
    keys: &LookupKeys,
) -> Result<(), TransactionError> {
    match insert_statement((id, created_at), keys) {
        Some(statement) => session.execute(statement).await.map(drop),
        None => Ok(()),
    }
}

/// Returns the statement that inserts the keys of an entity, if there are any.
pub(super) fn insert_statement(
    (id, created_at): (&str, UtcTime),
    keys: &LookupKeys,
) -> Option<AnyQuery> {
    if keys.is_empty() {
        return None;
    }
    let types = ["TEXT", "BIGINT", "TEXT", "TEXT"];
    let statement = dynamic_sql(format!(
        "INSERT INTO lookups (key, created_at, id, value) VALUES {} ON CONFLICT DO NOTHING",
        values_list(keys.len(), &types, 1)
    ));
    Some(keys.iter().fold(statement, |query, (key, value)| {
        query
            .bind(key.clone())
            .bind(created_at.micros())
            .bind(id.to_owned())
            .bind(value.clone())
    }))
}

/// Replaces the keys of an entity.
pub(super) async fn replace(
    session: &mut DbConnection,
    entity: (&str, UtcTime),
    before: &LookupKeys,
    after: &LookupKeys,
) -> Result<(), TransactionError> {
    for (key, value) in before.difference(after) {
        let statement = dynamic_sql(String::from(
            "DELETE FROM lookups WHERE key = $1 AND created_at = $2 AND id = $3 AND value = $4",
        ));
        let statement = statement
            .bind(key.clone())
            .bind(entity.1.micros())
            .bind(entity.0.to_owned())
            .bind(value.clone());
        session.execute(statement).await?;
    }
    let new = after.difference(before).cloned().collect();
    insert(session, entity, &new).await
}
