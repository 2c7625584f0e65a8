//! A page of entities, compared with the query: filters, order, identity and cursor.
//!
//! Entities are compared as they arrived, because one that cannot be shown must fit the filters too.

use super::{Mismatch, must};
use crate::model::{
    OrderStatus, PaymentStatus, ReturnOutcome, ReturnStatus, SortOrder, UtcTime, is_same_phone,
    order_name_key, person_keys, person_name_key,
};
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
        check_people(self.query, entity)?;
        check_words(&self.query.filters, entity)?;
        let time = |name: &str| entity[name].as_str().and_then(UtcTime::read);
        let created = time("createdAt");
        check_time(created, *created_at_min, *created_at_max, "createdAt")?;
        if updated_at_min.is_some() || updated_at_max.is_some() {
            let updated = time("updatedAt");
            check_time(updated, *updated_at_min, *updated_at_max, "updatedAt")?;
        }
        let sort = self.query.sort();
        let sorted = match sort {
            SortOrder::CreatedAt => created,
            SortOrder::UpdatedAt => time("updatedAt"),
        };
        must(
            sorted >= self.last || sorted.is_none(),
            sort.word(),
            "is before the one of the entity above it",
        )?;
        self.last = sorted.or(self.last);
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
    for (list, member) in [
        (&filters.order_ids, "orderId"),
        (&filters.product_ids, "productId"),
        (&filters.location_ids, "locationId"),
        (&filters.order_numbers, "orderNumber"),
    ] {
        must(one_of(list, &entity[member]), member, FILTER)?;
    }
    must(
        one_of(&filters.customer_ids, &entity["customer"]["id"]),
        "customer.id",
        FILTER,
    )?;
    // Orders do not show their tracking numbers.
    if query.operation == OrderOperation::GetFulfillments && filters.tracking_numbers.is_some() {
        let shown = entity["trackingNumbers"].as_array();
        let fits = shown.is_some_and(|shown| {
            let mut shown = shown.iter();
            shown.any(|number| one_of(&filters.tracking_numbers, number))
        });
        must(fits, "trackingNumbers", FILTER)?;
    }
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

/// Compares an entity with the filters by names and phone numbers.
fn check_people(query: &EntityQuery, entity: &Value) -> Result<(), Mismatch> {
    let filters = &query.filters;
    let is_order = query.operation == OrderOperation::GetOrders;
    let names = filters.names.as_ref();
    if let Some(names) = names.filter(|_| is_order) {
        let key = entity["name"].as_str().map(order_name_key);
        let fits = key.is_some_and(|key| names.iter().any(|name| order_name_key(name) == key));
        must(fits, "name", FILTER)?;
    }
    let people = match is_order {
        true => vec![
            &entity["customer"],
            &entity["shippingAddress"],
            &entity["billingAddress"],
        ],
        false => vec![entity],
    };
    let people_names = match is_order {
        true => filters.customer_names.as_ref(),
        false => names,
    };
    if let Some(names) = people_names {
        let searched: Vec<_> = names.iter().map(|name| person_name_key(name)).collect();
        let fits = people.iter().any(|person| {
            let keys = person_keys(person["firstName"].as_str(), person["lastName"].as_str());
            keys.iter().any(|key| searched.contains(key))
        });
        let member = if is_order { "customer" } else { "lastName" };
        must(fits, member, FILTER)?;
    }
    let Some(phones) = &filters.phones else {
        return Ok(());
    };
    let has_phone = |person: &&Value| {
        let shown = person["phone"].as_str();
        shown.is_some_and(|shown| phones.iter().any(|phone| is_same_phone(phone, shown)))
    };
    must(people.iter().any(has_phone), "phone", FILTER)
}

/// Compares an entity with the filters by enumerated words.
fn check_words(filters: &Filters, entity: &Value) -> Result<(), Mismatch> {
    fn one_of<T: PartialEq>(
        list: &Option<Vec<T>>,
        value: &Value,
        read: fn(&str) -> Option<T>,
    ) -> bool {
        let word = value.as_str().and_then(read);
        list.as_ref()
            .is_none_or(|list| word.is_some_and(|word| list.contains(&word)))
    }
    for (fits, member) in [
        (
            one_of(
                &filters.payment_statuses,
                &entity["paymentStatus"],
                PaymentStatus::read,
            ),
            "paymentStatus",
        ),
        (
            one_of(
                &filters.return_statuses,
                &entity["status"],
                ReturnStatus::read,
            ),
            "status",
        ),
        (
            one_of(&filters.outcomes, &entity["outcome"], ReturnOutcome::read),
            "outcome",
        ),
    ] {
        must(fits, member, FILTER)?;
    }
    Ok(())
}
