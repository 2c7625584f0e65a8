//! A page of entities, compared with the query: filters, order, identity and cursor.
//!
//! Entities are compared as they arrived, because one that cannot be shown must fit the filters too.

use super::{Mismatch, must};
use crate::model::{OrderStatus, UtcTime};
use crate::{EntityQuery, Filters, OrderOperation};
use serde_json::Value;
use std::collections::HashSet;

const FILTER: &str = "does not fit the filter";

/// The comparison of one page, entity by entity.
#[derive(Debug)]
pub(in crate::http) struct PageComparison<'a> {
    query: &'a EntityQuery,
    /// The identities of the entities so far.
    seen: HashSet<(String, String)>,
    /// The time of the last entity.
    last: Option<UtcTime>,
}

impl<'a> PageComparison<'a> {
    pub(in crate::http) fn new(query: &'a EntityQuery) -> PageComparison<'a> {
        PageComparison {
            query,
            seen: HashSet::new(),
            last: None,
        }
    }

    /// Compares the position of the next page.
    pub(in crate::http) fn check_next(&self, next: Option<&str>) -> Result<(), Mismatch> {
        must(
            next.is_none() || next != self.query.after.as_deref(),
            "nextCursor",
            "is the cursor that was sent",
        )
    }

    /// Compares the next entity of the page.
    pub(in crate::http) fn check_entity(&mut self, entity: &Value) -> Result<(), Mismatch> {
        let Filters {
            created_at_min,
            created_at_max,
            updated_at_min,
            updated_at_max,
            ..
        } = &self.query.filters;
        check_lists(self.query, entity)?;
        let time = |name: &str| entity[name].as_str().and_then(UtcTime::read);
        let created = time("createdAt");
        check_time(created, *created_at_min, *created_at_max, "createdAt")?;
        if updated_at_min.is_some() || updated_at_max.is_some() {
            let updated = time("updatedAt");
            check_time(updated, *updated_at_min, *updated_at_max, "updatedAt")?;
        }
        must(
            created >= self.last || created.is_none(),
            "createdAt",
            "is before the one of the entity above it",
        )?;
        self.last = created.or(self.last);
        self.check_identity(entity)
    }

    fn check_identity(&mut self, entity: &Value) -> Result<(), Mismatch> {
        let text = |name: &str| entity[name].as_str().unwrap_or_default().to_owned();
        let identity = match self.query.operation {
            OrderOperation::GetInventory => (text("sku"), text("locationId")),
            _ => (text("id"), String::new()),
        };
        let member = match self.query.operation {
            OrderOperation::GetInventory => "sku",
            _ => "id",
        };
        must(self.seen.insert(identity), member, "is on the page twice")
    }
}

fn check_time(
    time: Option<UtcTime>,
    min: Option<UtcTime>,
    max: Option<UtcTime>,
    member: &str,
) -> Result<(), Mismatch> {
    let fits = min.is_none_or(|min| time.is_some_and(|time| time >= min))
        && max.is_none_or(|max| time.is_some_and(|time| time <= max));
    must(fits, member, FILTER)
}

/// Compares an entity with the lists of a query. A filter whose member is not in the schema of the
/// entity, such as the SKUs of products, cannot be compared.
fn check_lists(query: &EntityQuery, entity: &Value) -> Result<(), Mismatch> {
    let filters = &query.filters;
    let is_order = query.operation == OrderOperation::GetOrders;
    let one_of = |list: &Option<Vec<String>>, value: &Value| match list {
        None => true,
        Some(list) => value
            .as_str()
            .is_some_and(|text| list.iter().any(|one| one == text)),
    };
    must(one_of(&filters.ids, &entity["id"]), "id", FILTER)?;
    must(
        one_of(&filters.external_ids, &entity["externalId"]),
        "externalId",
        FILTER,
    )?;
    must(
        one_of(&filters.order_ids, &entity["orderId"]),
        "orderId",
        FILTER,
    )?;
    must(
        one_of(&filters.product_ids, &entity["productId"]),
        "productId",
        FILTER,
    )?;
    must(
        one_of(&filters.location_ids, &entity["locationId"]),
        "locationId",
        FILTER,
    )?;
    if let Some(statuses) = &filters.statuses {
        let status = entity["status"].as_str().and_then(OrderStatus::read);
        let fits = status.is_some_and(|status| statuses.contains(&status));
        must(fits, "status", FILTER)?;
    }
    if let Some(emails) = &filters.emails {
        let email = match is_order {
            true => &entity["customer"]["email"],
            false => &entity["email"],
        };
        let email = email.as_str().map(str::to_lowercase);
        let fits = email.is_some_and(|email| emails.contains(&email));
        must(
            fits,
            if is_order { "customer.email" } else { "email" },
            FILTER,
        )?;
    }
    match query.operation {
        OrderOperation::GetProducts => Ok(()),
        OrderOperation::GetOrders => {
            let lines = entity["lineItems"].as_array();
            let fits =
                |lines: &Vec<Value>| lines.iter().any(|line| one_of(&filters.skus, &line["sku"]));
            must(
                filters.skus.is_none() || lines.is_some_and(fits),
                "lineItems.sku",
                FILTER,
            )
        }
        _ => must(one_of(&filters.skus, &entity["sku"]), "sku", FILTER),
    }
}
