//! What queries ask for: filters, a page size, and where the page begins.

use super::{OrderStatus, UtcTime};
use crate::adapter::OrderOperation;
use serde::Serialize;

/// The largest page.
pub const PAGE_MAX: i64 = 100;

/// The size of a page unless the caller says otherwise.
pub const PAGE_DEFAULT: i64 = 20;

/// One page that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityQuery {
    /// Which entities.
    #[serde(skip)]
    pub operation: OrderOperation,
    /// Which of them.
    #[serde(flatten)]
    pub filters: Filters,
    /// How many at most.
    pub page_size: i64,
    /// Behind which place, in words of the adapter's own.
    #[serde(rename = "cursor", skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Which entities are wanted: those that fit every filter, where one of each list is enough.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Filters {
    /// Those with one of these ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// Those with one of these external ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_ids: Option<Vec<String>>,
    /// Those in one of these states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statuses: Option<Vec<OrderStatus>>,
    /// Those about one of these SKUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skus: Option<Vec<String>>,
    /// Those of a customer with one of these addresses, in small letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emails: Option<Vec<String>>,
    /// Those of one of these orders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_ids: Option<Vec<String>>,
    /// Those of one of these products.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_ids: Option<Vec<String>>,
    /// Those at one of these locations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location_ids: Option<Vec<String>>,
    /// Those made then or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at_min: Option<UtcTime>,
    /// Those made then or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at_max: Option<UtcTime>,
    /// Those changed then or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at_min: Option<UtcTime>,
    /// Those changed then or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at_max: Option<UtcTime>,
}
