//! Queries for pages of entities.

use super::{OrderStatus, UtcTime};
use crate::adapter::OrderOperation;
use serde::Serialize;

pub const MAX_PAGE_SIZE: i64 = 100;

/// The page size if the caller gives none.
pub const PAGE_DEFAULT: i64 = 20;

/// A query for one page of entities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityQuery {
    #[serde(skip)]
    pub operation: OrderOperation,
    #[serde(flatten)]
    pub filters: Filters,
    pub page_size: i64,
    /// The position after which the page starts, in a form of the adapter's own.
    #[serde(rename = "cursor", skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Filters of entities. All of them must match; a list matches if one of its values does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Filters {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statuses: Option<Vec<OrderStatus>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skus: Option<Vec<String>>,
    /// Email addresses of customers, in lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emails: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location_ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at_min: Option<UtcTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at_max: Option<UtcTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at_min: Option<UtcTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at_max: Option<UtcTime>,
}
