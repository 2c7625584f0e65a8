//! Queries for pages of entities.

use super::{OrderStatus, PaymentStatus, ReturnOutcome, ReturnStatus, SortOrder, UtcTime};
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

impl EntityQuery {
    /// Returns the time by which pages are sorted.
    pub fn sort(&self) -> SortOrder {
        self.filters.sort.unwrap_or(SortOrder::CreatedAt)
    }
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_numbers: Option<Vec<String>>,
    /// Names of orders or of customers, as the caller writes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracking_numbers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_names: Option<Vec<String>>,
    /// Phone numbers, each with enough digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phones: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_statuses: Option<Vec<PaymentStatus>>,
    /// The statuses of a query for returns.
    #[serde(rename = "statuses", skip_serializing_if = "Option::is_none")]
    pub return_statuses: Option<Vec<ReturnStatus>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<Vec<ReturnOutcome>>,
    /// The creation time if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort: Option<SortOrder>,
}

/// The filters by creation and update time, which every query has.
pub const TIME_FILTERS: [&str; 4] = [
    "createdAtMin",
    "createdAtMax",
    "updatedAtMin",
    "updatedAtMax",
];

/// Returns the filters of a query other than [`TIME_FILTERS`]: those that every order system has,
/// and those that it has to declare.
pub const fn filter_names(
    operation: OrderOperation,
) -> (&'static [&'static str], &'static [&'static str]) {
    match operation {
        OrderOperation::GetOrders => (
            &["ids", "externalIds", "statuses", "skus", "emails"],
            &[
                "orderNumbers",
                "names",
                "trackingNumbers",
                "customerIds",
                "customerNames",
                "phones",
                "paymentStatuses",
                "sort",
            ],
        ),
        OrderOperation::GetCustomers => (&["ids", "emails"], &["names", "phones", "sort"]),
        OrderOperation::GetProducts => (&["ids", "skus"], &[]),
        OrderOperation::GetVariants => (&["ids", "skus", "productIds"], &[]),
        OrderOperation::GetInventory => (&["skus", "locationIds"], &[]),
        OrderOperation::GetFulfillments => (&["ids", "orderIds"], &["trackingNumbers", "sort"]),
        OrderOperation::GetReturns => (&["ids", "orderIds"], &["statuses", "outcomes", "sort"]),
        _ => (&[], &[]),
    }
}

impl Filters {
    /// Returns the names of the filters that are set.
    pub fn used(&self) -> Vec<&'static str> {
        let lists = [
            ("ids", self.ids.is_some()),
            ("externalIds", self.external_ids.is_some()),
            (
                "statuses",
                self.statuses.is_some() || self.return_statuses.is_some(),
            ),
            ("skus", self.skus.is_some()),
            ("emails", self.emails.is_some()),
            ("orderIds", self.order_ids.is_some()),
            ("productIds", self.product_ids.is_some()),
            ("locationIds", self.location_ids.is_some()),
            ("createdAtMin", self.created_at_min.is_some()),
            ("createdAtMax", self.created_at_max.is_some()),
            ("updatedAtMin", self.updated_at_min.is_some()),
            ("updatedAtMax", self.updated_at_max.is_some()),
            ("orderNumbers", self.order_numbers.is_some()),
            ("names", self.names.is_some()),
            ("trackingNumbers", self.tracking_numbers.is_some()),
            ("customerIds", self.customer_ids.is_some()),
            ("customerNames", self.customer_names.is_some()),
            ("phones", self.phones.is_some()),
            ("paymentStatuses", self.payment_statuses.is_some()),
            ("outcomes", self.outcomes.is_some()),
            ("sort", self.sort.is_some()),
        ];
        let used = lists.into_iter().filter(|(_, used)| *used);
        used.map(|(name, _)| name).collect()
    }
}
