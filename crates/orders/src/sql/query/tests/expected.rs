//! Entities in memory, filtered in the simplest way.

use crate::adapter::OrderOperation;
use crate::model::UtcTime;
use crate::model::{EntityQuery, Filters};
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
        let lists = [
            ("ids", filters.ids.clone()),
            ("externalIds", filters.external_ids.clone()),
            ("statuses", filters.statuses.as_ref().map(words)),
            ("skus", filters.skus.clone()),
            ("emails", filters.emails.clone()),
            ("orderIds", filters.order_ids.clone()),
            ("productIds", filters.product_ids.clone()),
            ("locationIds", filters.location_ids.clone()),
        ];
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
            && within(
                self.position.0,
                filters.created_at_min,
                filters.created_at_max,
            )
            && within(self.changed, filters.updated_at_min, filters.updated_at_max)
    }
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
        fitting.sort_by(|a, b| a.position.cmp(&b.position));
        fitting
            .into_iter()
            .map(|entity| entity.json.clone())
            .collect()
    }
}
