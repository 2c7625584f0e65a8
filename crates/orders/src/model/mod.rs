//! The model of orders: requests, entities, money, times and states.

mod currency;
mod entities;
pub(crate) mod field_schemas;
mod money;
mod query;
mod requests;
mod status;
mod totals;
mod utc_time;

pub use currency::Currency;
pub use entities::{
    CustomField, Customer, Fulfillment, FulfillmentLine, Inventory, LineItem, Order, OrderCustomer,
    PostalAddress, Product, ProductVariant, Return,
};
pub use field_schemas::{NOTES_MAX, TEXT_MAX};
pub(crate) use money::AmountText;
pub use money::{DecimalAmount, MONEY_DIGITS, Money, MoneyError};
pub use query::{EntityQuery, Filters, PAGE_DEFAULT, PAGE_MAX};
pub use requests::{
    CancelOrder, CreateOrder, CreateReturn, FulfillOrder, LineQuantity, NewLineItem, NewOrder,
    OrderUpdates, QUANTITY_MAX, ReturnOutcome, SettableStatus, UpdateOrder,
};
pub use status::OrderStatus;
pub use totals::{LineAmounts, Totals};
pub(crate) use totals::{amount_violation, to_money};
pub use utc_time::UtcTime;
