//! The requests of calls. A key's request is compared in this form with an earlier one.

use super::{
    CustomField, DecimalAmount, OrderCustomer, OrderStatus, PaymentMethod, PostalAddress,
    RecordedStatus, ReturnOutcome, ReturnReason, ReturnStatus,
};
use candor_schema::Int;
use serde::{Deserialize, Serialize};

/// The most lines of an order.
pub const MAX_LINES: usize = 500;

/// The most payments or refunds of an order, and the most lines of an exchange.
pub const MAX_ENTRIES: usize = 100;

/// The most units of a line.
pub const MAX_QUANTITY: i64 = 1_000_000;

/// The largest number of a line.
pub const MAX_LINE: i64 = 1_000_000;

type Quantity = Int<1, MAX_QUANTITY>;

/// The number of a line of an order.
pub type LineNumber = Int<1, MAX_LINE>;

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping: Option<NewShipping>,
    /// An amount off the whole order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_discount: Option<DecimalAmount>,
    /// Tax that is not stated by line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_tax: Option<DecimalAmount>,
    /// False if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax_included: Option<bool>,
    /// Checked against the price of the shipping if present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_total: Option<DecimalAmount>,
    /// Checked against the taxes if present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax_total: Option<DecimalAmount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payments: Option<Vec<NewPayment>>,
}

/// The delivery of an order, as a caller states it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewShipping {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<DecimalAmount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<DecimalAmount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// Money that was received elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewPayment {
    pub reference: String,
    pub method: PaymentMethod,
    pub amount: DecimalAmount,
    /// Captured if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RecordedStatus>,
}

/// Money that was paid back elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewRefund {
    pub amount: DecimalAmount,
    pub reference: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The return that is paid for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_id: Option<String>,
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
    /// The tax on the whole line. Zero if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<DecimalAmount>,
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
    /// Sets the named members; the others stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping: Option<NewShipping>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_items: Option<Vec<LineEdit>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payments: Option<Vec<NewPayment>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refunds: Option<Vec<NewRefund>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns: Option<Vec<ReturnUpdate>>,
}

/// The new values of a line, or a new line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LineEdit {
    pub sku: String,
    /// Zero removes the line.
    pub quantity: Int<0, MAX_QUANTITY>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineNumber>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_price: Option<DecimalAmount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_discount: Option<DecimalAmount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<DecimalAmount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The next step of a return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReturnUpdate {
    pub id: String,
    pub status: ReturnStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The location whose stock gets the units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restock_location_id: Option<String>,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

/// The arguments of `create-return` without the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateReturn {
    pub order_id: String,
    pub line_items: Vec<ReturnLine>,
    pub outcome: ReturnOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The price of the returned units if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refund_amount: Option<DecimalAmount>,
    /// The lines of the order that replaces the goods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange_line_items: Option<Vec<ExchangeLine>>,
}

/// Units of one SKU. If an order has several lines of the SKU and none is named, they are used in
/// their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineQuantity {
    pub sku: String,
    pub quantity: Quantity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineNumber>,
}

/// Returned units of one SKU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnLine {
    pub sku: String,
    pub quantity: Quantity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineNumber>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ReturnReason>,
}

/// A line of the order that replaces returned goods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExchangeLine {
    pub sku: String,
    pub quantity: Quantity,
    /// The catalogue's price if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_price: Option<DecimalAmount>,
}
