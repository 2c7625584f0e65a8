//! What calls ask for; the form in which it is compared with an earlier call of the same key.

use super::{Amount, CustomField, OrderCustomer, OrderStatus, PostalAddress};
use candor_schema::Int;
use serde::{Deserialize, Serialize};

/// How many of one SKU a line may name.
pub const QUANTITY_MAX: i64 = 1_000_000;

/// A quantity as callers write it.
type Quantity = Int<1, QUANTITY_MAX>;

/// `create-sales-order` without its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateOrder {
    /// The order to be made.
    pub order: NewOrder,
}

/// An order to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewOrder {
    /// The caller's own id; no other order may have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The currency; the store's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// What is ordered.
    pub line_items: Vec<NewLineItem>,
    /// Who orders: a known customer by id, or anybody by address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer: Option<OrderCustomer>,
    /// Where it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_address: Option<PostalAddress>,
    /// Who pays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing_address: Option<PostalAddress>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Facts of the caller's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_fields: Option<Vec<CustomField>>,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// What the caller takes the sum of all lines to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_total: Option<Amount>,
    /// What the caller takes the sum of all discounts to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discount_total: Option<Amount>,
    /// What the caller takes the sum to pay to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Amount>,
}

/// One line of an order to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewLineItem {
    /// Which variant.
    pub sku: String,
    /// How many.
    pub quantity: Quantity,
    /// What one costs; the catalogue's price if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_price: Option<Amount>,
    /// What is taken off for each; nothing if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_discount: Option<Amount>,
    /// What it is called; the catalogue's name if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// `update-order` without its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateOrder {
    /// Which order.
    pub order_id: String,
    /// What is to be different.
    pub updates: OrderUpdates,
}

/// What an update sets; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderUpdates {
    /// The next status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SettableStatus>,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_address: Option<PostalAddress>,
    /// Who pays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing_address: Option<PostalAddress>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Facts of the caller's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_fields: Option<Vec<CustomField>>,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// A status that an update may ask for; the others are set by the tools that do the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettableStatus {
    /// It was accepted.
    Confirmed,
    /// It is being prepared.
    Processing,
    /// It has arrived.
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

/// `cancel-order` without its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelOrder {
    /// Which order.
    pub order_id: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What of it; everything that is still open if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_items: Option<Vec<LineQuantity>>,
}

/// `fulfill-order` without its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FulfillOrder {
    /// Which order.
    pub order_id: String,
    /// What of it; everything that is still open if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_items: Option<Vec<LineQuantity>>,
    /// Under which the carrier knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracking_numbers: Option<Vec<String>>,
    /// From where; wherever stock lies if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location_id: Option<String>,
}

/// `create-return` without its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateReturn {
    /// Which order.
    pub order_id: String,
    /// What came back.
    pub line_items: Vec<LineQuantity>,
    /// What the customer gets for it.
    pub outcome: ReturnOutcome,
}

/// How many of one SKU. Where an order has several lines of the SKU, they are taken in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineQuantity {
    /// Which variant.
    pub sku: String,
    /// How many.
    pub quantity: Quantity,
}

/// What a customer gets for goods that come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReturnOutcome {
    /// The money.
    Refund,
    /// Other goods.
    Exchange,
    /// Money to be spent here.
    StoreCredit,
}

impl ReturnOutcome {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            ReturnOutcome::Refund => "refund",
            ReturnOutcome::Exchange => "exchange",
            ReturnOutcome::StoreCredit => "store-credit",
        }
    }

    /// The outcome of this word.
    pub fn read(word: &str) -> Option<ReturnOutcome> {
        use ReturnOutcome::{Exchange, Refund, StoreCredit};
        [Refund, Exchange, StoreCredit]
            .into_iter()
            .find(|outcome| outcome.word() == word)
    }
}
