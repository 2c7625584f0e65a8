//! Entities in memory, filtered in the simplest way.

use crate::adapter::OrderOperation;
use crate::model::{EntityQuery, Filters};
use crate::model::{SortOrder, UtcTime};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The existing SKUs, and one that does not exist.
pub(super) const SKUS: [&str; 5] = ["A", "B", "b", "Ä", "none"];

/// The existing email addresses, and one that does not exist.
pub(super) const EMAILS: [&str; 4] = [
    "a@x.example",
    "b@x.example",
    "ü@x.example",
    "none@x.example",
];

/// Names of persons that a query may contain.
pub(super) const PERSONS: [&str; 8] = [
    "ada  LOVELACE",
    "Lovelace, Ada",
    "lovelace",
    "Ada",
    "grace van der  berg",
    "Berg",
    "van der Berg",
    "nobody",
];

/// First and last names of persons in a store.
pub(super) const NAMES: [(&str, &str); 4] = [
    ("Ada", "Lovelace"),
    ("", "Lovelace"),
    ("Grace", "van der Berg"),
    ("Ada", ""),
];

/// Phone numbers, in queries and in a store.
pub(super) const PHONES: [&str; 7] = [
    "+49 30 1234567",
    "030/123 45 67",
    "1234567",
    "+49 40 1234567",
    "(212) 765-4321",
    "+1 212 765 4321",
    "0000000001234567",
];

/// An entity with its filterable values.
#[derive(Debug, Clone)]
pub(super) struct ExpectedEntity {
    position: (UtcTime, Vec<String>),
    changed: UtcTime,
    facts: BTreeMap<&'static str, Vec<String>>,
    json: Value,
}

/// The entities of a store.
#[derive(Debug, Default)]
pub(super) struct ExpectedStore {
    pub(super) orders: Vec<ExpectedEntity>,
    pub(super) customers: Vec<ExpectedEntity>,
    pub(super) products: Vec<ExpectedEntity>,
    pub(super) variants: Vec<ExpectedEntity>,
    pub(super) inventory: Vec<ExpectedEntity>,
    pub(super) fulfillments: Vec<ExpectedEntity>,
    pub(super) returns: Vec<ExpectedEntity>,
}

impl ExpectedEntity {
    pub(super) fn new<S: AsRef<str>, const N: usize>(
        entity: &impl Serialize,
        (at, changed): (UtcTime, UtcTime),
        rest: [S; N],
    ) -> ExpectedEntity {
        ExpectedEntity {
            position: (
                at,
                rest.iter().map(|text| text.as_ref().to_owned()).collect(),
            ),
            changed,
            facts: BTreeMap::new(),
            json: serde_json::to_value(entity).unwrap(),
        }
    }

    pub(super) fn with_values<S: AsRef<str>>(
        mut self,
        filter: &'static str,
        facts: impl IntoIterator<Item = S>,
    ) -> ExpectedEntity {
        let facts = facts.into_iter().map(|fact| fact.as_ref().to_owned());
        self.facts.entry(filter).or_default().extend(facts);
        self
    }

    fn matches(&self, filters: &Filters) -> bool {
        let words = |all: &Vec<crate::model::OrderStatus>| {
            all.iter().map(|one| one.word().to_owned()).collect()
        };
        let returns = filters.return_statuses.as_ref();
        let returns = returns.map(|all| all.iter().map(|one| one.word().to_owned()).collect());
        let outcomes = filters.outcomes.as_ref();
        let outcomes = outcomes.map(|all| all.iter().map(|one| one.word().to_owned()).collect());
        let payments = filters.payment_statuses.as_ref();
        let payments = payments.map(|all| all.iter().map(|one| one.word().to_owned()).collect());
        let lists = [
            ("ids", filters.ids.clone()),
            ("externalIds", filters.external_ids.clone()),
            ("statuses", filters.statuses.as_ref().map(words)),
            ("skus", filters.skus.clone()),
            ("emails", filters.emails.clone()),
            ("orderIds", filters.order_ids.clone()),
            ("productIds", filters.product_ids.clone()),
            ("locationIds", filters.location_ids.clone()),
            ("orderNumbers", filters.order_numbers.clone()),
            ("trackingNumbers", filters.tracking_numbers.clone()),
            ("customerIds", filters.customer_ids.clone()),
            ("paymentStatuses", payments),
            ("returnStatuses", returns),
            ("outcomes", outcomes),
        ];
        let scans = [
            (
                "names",
                &filters.names,
                is_same_name as fn(&str, &str) -> bool,
            ),
            ("customerNames", &filters.customer_names, is_person),
            ("phones", &filters.phones, ends_alike),
        ];
        let scanned = scans.into_iter().all(|(name, list, matches)| {
            let facts = || self.facts.get(name).into_iter().flatten();
            list.as_ref().is_none_or(|list| {
                list.iter()
                    .any(|value| facts().any(|fact| matches(value, fact)))
            })
        });
        let listed = lists
            .into_iter()
            .all(|(name, list): (_, Option<Vec<String>>)| {
                let facts = self.facts.get(name).into_iter().flatten();
                list.is_none_or(|list| facts.into_iter().any(|fact| list.contains(fact)))
            });
        let within = |moment: UtcTime, min: Option<UtcTime>, max: Option<UtcTime>| {
            min.is_none_or(|min| moment >= min) && max.is_none_or(|max| moment <= max)
        };
        listed
            && scanned
            && within(
                self.position.0,
                filters.created_at_min,
                filters.created_at_max,
            )
            && within(self.changed, filters.updated_at_min, filters.updated_at_max)
    }
}

fn lower(text: &str) -> String {
    let words: Vec<_> = text
        .to_lowercase()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    words.join(" ")
}

/// Compares the names of two orders; for customers, a name with a fact as in [`is_person`].
fn is_same_name(value: &str, fact: &str) -> bool {
    if fact.contains('|') {
        return is_person(value, fact);
    }
    let plain = |text: &str| lower(text.strip_prefix('#').unwrap_or(text));
    plain(value) == plain(fact)
}

/// Compares a searched name with a person: the first name, a bar, the last name.
fn is_person(value: &str, fact: &str) -> bool {
    let (first, last) = fact.split_once('|').unwrap_or((fact, ""));
    let forms = [
        format!("{first} {last}"),
        format!("{last}, {first}"),
        last.to_owned(),
    ];
    forms
        .iter()
        .any(|form| !form.is_empty() && lower(form) == lower(value))
}

/// Compares two phone numbers digit by digit from their ends.
fn ends_alike(value: &str, fact: &str) -> bool {
    let digits = |text: &str| {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        let digits: Vec<_> = digits.trim_start_matches('0').chars().rev().collect();
        digits
    };
    let (one, other) = (digits(value), digits(fact));
    one.len() >= 7 && other.len() >= 7 && one.iter().zip(&other).all(|(a, b)| a == b)
}

impl ExpectedStore {
    /// Returns the entities that match a query, in the order of pages.
    pub(super) fn matching(&self, query: &EntityQuery) -> Vec<Value> {
        let all = match query.operation {
            OrderOperation::GetOrders => &self.orders,
            OrderOperation::GetCustomers => &self.customers,
            OrderOperation::GetProducts => &self.products,
            OrderOperation::GetVariants => &self.variants,
            OrderOperation::GetInventory => &self.inventory,
            OrderOperation::GetFulfillments => &self.fulfillments,
            OrderOperation::GetReturns => &self.returns,
            _ => unreachable!("not a query"),
        };
        let fitting = all.iter().filter(|entity| entity.matches(&query.filters));
        let mut fitting: Vec<_> = fitting.collect();
        let by_change = query.filters.sort == Some(SortOrder::UpdatedAt);
        fitting.sort_by(|a, b| match by_change {
            true => (a.changed, &a.position.1).cmp(&(b.changed, &b.position.1)),
            false => a.position.cmp(&b.position),
        });
        fitting
            .into_iter()
            .map(|entity| entity.json.clone())
            .collect()
    }
}
