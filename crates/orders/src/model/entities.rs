//! The entities in answers. Members without a value are left out.

use super::{OrderStatus, ReturnOutcome, UtcTime};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub status: OrderStatus,
    pub currency: String,
    pub line_items: Vec<LineItem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer: Option<OrderCustomer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_address: Option<PostalAddress>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing_address: Option<PostalAddress>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub custom_fields: Vec<CustomField>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// The reason of the last cancellation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// The sum of all lines before discounts.
    pub sub_total: String,
    pub discount_total: String,
    pub total: String,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineItem {
    pub sku: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub quantity: i64,
    pub unit_price: String,
    pub unit_discount: String,
    pub fulfilled_quantity: i64,
    pub cancelled_quantity: i64,
    pub returned_quantity: i64,
}

/// The customer of an order, in a request and in the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderCustomer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PostalAddress {
    pub address1: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address2: Option<String>,
    pub city: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_or_province: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zip_code_or_postal_code: Option<String>,
    /// ISO 3166 alpha-2.
    pub country: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomField {
    pub name: String,
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Customer {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
}

/// A product of the catalogue. Its variants are what is sold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Product {
    pub id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
}

/// A variant of a product. A line of an order names its SKU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProductVariant {
    pub id: String,
    pub product_id: String,
    pub sku: String,
    pub name: String,
    pub currency: String,
    pub price: String,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
}

/// The stock of one SKU at one location. Reservations belong to the SKU, because the location is
/// chosen when the goods are shipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    pub sku: String,
    pub location_id: String,
    pub on_hand: i64,
    /// The units of the SKU that open orders have reserved, at all locations.
    pub reserved_total: i64,
    /// The units of the SKU that can still be ordered, at all locations.
    pub available_total: i64,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
}

/// Goods of an order that were shipped together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fulfillment {
    pub id: String,
    pub order_id: String,
    pub line_items: Vec<FulfillmentLine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tracking_numbers: Vec<String>,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
}

/// The units of one SKU that left one location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FulfillmentLine {
    pub sku: String,
    pub quantity: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location_id: Option<String>,
}

/// Goods of an order that were returned together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Return {
    pub id: String,
    pub order_id: String,
    pub outcome: ReturnOutcome,
    pub line_items: Vec<super::LineQuantity>,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
}
