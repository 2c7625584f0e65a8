//! The entities in answers. Members without a value are left out.

use super::{
    OrderStatus, PaymentMethod, PaymentStatus, RecordedStatus, ReturnLine, ReturnOutcome,
    ReturnStatus, UtcTime,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    pub id: String,
    /// The number that the order system assigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_number: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub status: OrderStatus,
    /// The order system's own word for the status, if it has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_status: Option<String>,
    pub currency: String,
    pub line_items: Vec<LineItem>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer: Option<OrderCustomer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_address: Option<PostalAddress>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing_address: Option<PostalAddress>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping: Option<Shipping>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub custom_fields: Vec<CustomField>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// The reason of the last cancellation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// The id of the return that this order replaces goods of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange_for: Option<String>,
    /// The sum of all lines before discounts.
    pub sub_total: String,
    pub discount_total: String,
    /// The part of `discount_total` that is off the whole order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_discount: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_total: Option<String>,
    /// The part of `tax_total` that is not stated by line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_tax: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax_total: Option<String>,
    /// If true, the prices contain the tax, and `total` does not add it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax_included: Option<bool>,
    pub total: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payments: Option<Vec<Payment>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refunds: Option<Vec<Refund>>,
    /// The sum of the captured payments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_total: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refunded_total: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment_status: Option<PaymentStatus>,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineItem {
    /// The number of the line in its order, from 1. It never changes and is never reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    pub sku: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub quantity: i64,
    pub unit_price: String,
    pub unit_discount: String,
    /// The tax on the whole line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<String>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
}

/// The delivery of an order, and its price.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shipping {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// Money that was received elsewhere for an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payment {
    pub id: String,
    pub reference: String,
    pub method: PaymentMethod,
    pub amount: String,
    pub status: RecordedStatus,
    /// The time of the last change of this entry.
    pub at: UtcTime,
}

/// Money that was paid back elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refund {
    pub id: String,
    pub amount: String,
    pub reference: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_id: Option<String>,
    pub at: UtcTime,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ReturnStatus>,
    pub line_items: Vec<ReturnLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The amount that the customer is to get back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refund_amount: Option<String>,
    /// The order that replaces the returned goods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange_order_id: Option<String>,
    /// The location whose stock the units were added to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restock_location_id: Option<String>,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
}
