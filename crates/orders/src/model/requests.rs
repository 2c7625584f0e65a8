//! The requests of calls. A key's request is compared in this form with an earlier one.

use super::{CustomField, DecimalAmount, OrderCustomer, OrderStatus, PostalAddress};
use candor_schema::Int;
use serde::{Deserialize, Serialize};

/// The most units of a line.
pub const MAX_QUANTITY: i64 = 1_000_000;

type Quantity = Int<1, MAX_QUANTITY>;

/// The arguments of `create-sales-order` without the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateOrder {
    pub order: NewOrder,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewOrder {
    /// The caller's own id. No other order may have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The store's currency if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    pub line_items: Vec<NewLineItem>,
    /// A known customer by id, or any customer by email address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer: Option<OrderCustomer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_address: Option<PostalAddress>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing_address: Option<PostalAddress>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_fields: Option<Vec<CustomField>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Checked against the lines if present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_total: Option<DecimalAmount>,
    /// Checked against the lines if present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discount_total: Option<DecimalAmount>,
    /// Checked against the lines if present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<DecimalAmount>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewLineItem {
    pub sku: String,
    pub quantity: Quantity,
    /// The catalogue's price if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_price: Option<DecimalAmount>,
    /// Zero if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_discount: Option<DecimalAmount>,
    /// The catalogue's name if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The arguments of `update-order` without the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateOrder {
    pub order_id: String,
    pub updates: OrderUpdates,
}

/// The members that an update sets; absent ones stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderUpdates {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SettableStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_address: Option<PostalAddress>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing_address: Option<PostalAddress>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_fields: Option<Vec<CustomField>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// A status that an update may set. The other tools set the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettableStatus {
    Confirmed,
    Processing,
    Delivered,
}

impl From<SettableStatus> for OrderStatus {
    fn from(settable: SettableStatus) -> Self {
        match settable {
            SettableStatus::Confirmed => OrderStatus::Confirmed,
            SettableStatus::Processing => OrderStatus::Processing,
            SettableStatus::Delivered => OrderStatus::Delivered,
        }
    }
}

/// The arguments of `cancel-order` without the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelOrder {
    pub order_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The units to process. If absent, every open unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_items: Option<Vec<LineQuantity>>,
}

/// The arguments of `fulfill-order` without the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FulfillOrder {
    pub order_id: String,
    /// The units to process. If absent, every open unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_items: Option<Vec<LineQuantity>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracking_numbers: Option<Vec<String>>,
    /// The location that ships the goods. If absent, any that has stock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location_id: Option<String>,
}

/// The arguments of `create-return` without the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateReturn {
    pub order_id: String,
    pub line_items: Vec<LineQuantity>,
    pub outcome: ReturnOutcome,
}

/// Units of one SKU. If an order has several lines of the SKU, they are used in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineQuantity {
    pub sku: String,
    pub quantity: Quantity,
}

/// The compensation of a customer for returned goods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReturnOutcome {
    Refund,
    Exchange,
    StoreCredit,
}

impl ReturnOutcome {
    pub const fn word(self) -> &'static str {
        match self {
            ReturnOutcome::Refund => "refund",
            ReturnOutcome::Exchange => "exchange",
            ReturnOutcome::StoreCredit => "store-credit",
        }
    }

    pub fn read(word: &str) -> Option<ReturnOutcome> {
        use ReturnOutcome::{Exchange, Refund, StoreCredit};
        [Refund, Exchange, StoreCredit]
            .into_iter()
            .find(|outcome| outcome.word() == word)
    }
}
