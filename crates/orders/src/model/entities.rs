//! The entities as answers show them; members that have no value are left out.

use super::{OrderStatus, ReturnOutcome, UtcTime};
use serde::{Deserialize, Serialize};

/// An order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// The id that this order system gave it.
    pub id: String,
    /// The caller's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it stands.
    pub status: OrderStatus,
    /// The currency of all its amounts.
    pub currency: String,
    /// What was ordered.
    pub line_items: Vec<LineItem>,
    /// Who ordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer: Option<OrderCustomer>,
    /// Where it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_address: Option<PostalAddress>,
    /// Who pays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing_address: Option<PostalAddress>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Facts of the caller's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub custom_fields: Vec<CustomField>,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Why it, or a part of it, was cancelled last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// What all lines cost before discounts.
    pub sub_total: String,
    /// What is taken off.
    pub discount_total: String,
    /// What is left to pay.
    pub total: String,
    /// When it was made.
    pub created_at: UtcTime,
    /// When it was changed last.
    pub updated_at: UtcTime,
}

/// One line of an order, with what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineItem {
    /// Which variant.
    pub sku: String,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many were ordered.
    pub quantity: i64,
    /// What one costs.
    pub unit_price: String,
    /// What is taken off for each.
    pub unit_discount: String,
    /// How many have left.
    pub fulfilled_quantity: i64,
    /// How many were cancelled.
    pub cancelled_quantity: i64,
    /// How many came back.
    pub returned_quantity: i64,
}

/// Who orders, as a call says it and as the order remembers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderCustomer {
    /// The customer's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The address of mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The given name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// The family name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
}

/// A postal address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PostalAddress {
    /// The first line.
    pub address1: String,
    /// The second line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address2: Option<String>,
    /// The town.
    pub city: String,
    /// The state or province.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_or_province: Option<String>,
    /// The postal code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zip_code_or_postal_code: Option<String>,
    /// The country, ISO 3166 alpha-2.
    pub country: String,
    /// The given name of the person there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// The family name of the person there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// The company there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    /// A telephone number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
}

/// One fact of the caller's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomField {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A customer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Customer {
    /// The id.
    pub id: String,
    /// The address of mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The given name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// The family name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// When it was made.
    pub created_at: UtcTime,
    /// When it was changed last.
    pub updated_at: UtcTime,
}

/// A product of the catalogue; what is sold are its variants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Product {
    /// The id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it was made.
    pub created_at: UtcTime,
    /// When it was changed last.
    pub updated_at: UtcTime,
}

/// One variant of a product: what a line of an order names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProductVariant {
    /// The id.
    pub id: String,
    /// The product that it is a variant of.
    pub product_id: String,
    /// The unit that stock is kept of.
    pub sku: String,
    /// What it is called.
    pub name: String,
    /// The currency of its price.
    pub currency: String,
    /// What one costs.
    pub price: String,
    /// When it was made.
    pub created_at: UtcTime,
    /// When it was changed last.
    pub updated_at: UtcTime,
}

/// The stock of one SKU at one location. Reservations belong to the SKU: the location is chosen when
/// the goods leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// Which variant.
    pub sku: String,
    /// Where.
    pub location_id: String,
    /// How many lie at this location.
    pub on_hand: i64,
    /// How many of the SKU open orders have reserved, over all locations.
    pub reserved_total: i64,
    /// How many of the SKU can still be ordered, over all locations.
    pub available_total: i64,
    /// When it was made.
    pub created_at: UtcTime,
    /// When it was changed last.
    pub updated_at: UtcTime,
}

/// Goods of an order that left together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fulfillment {
    /// The id.
    pub id: String,
    /// The order.
    pub order_id: String,
    /// What left, and from where.
    pub line_items: Vec<FulfillmentLine>,
    /// Under which the carrier knows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tracking_numbers: Vec<String>,
    /// When it left.
    pub created_at: UtcTime,
    /// When it was changed last.
    pub updated_at: UtcTime,
}

/// How many of one SKU left from one location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FulfillmentLine {
    /// Which variant.
    pub sku: String,
    /// How many.
    pub quantity: i64,
    /// From where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location_id: Option<String>,
}

/// Goods of an order that came back together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Return {
    /// The id.
    pub id: String,
    /// The order.
    pub order_id: String,
    /// What the customer gets for it.
    pub outcome: ReturnOutcome,
    /// What came back.
    pub line_items: Vec<super::LineQuantity>,
    /// When it was made.
    pub created_at: UtcTime,
    /// When it was changed last.
    pub updated_at: UtcTime,
}
