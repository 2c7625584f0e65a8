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
pub use field_schemas::{MAX_NOTES, MAX_TEXT};
pub(crate) use money::AmountText;
pub use money::{DecimalAmount, MONEY_DIGITS, Money, MoneyError};
pub use query::{EntityQuery, Filters, MAX_PAGE_SIZE, PAGE_DEFAULT};
pub use requests::{
    CancelOrder, CreateOrder, CreateReturn, FulfillOrder, LineQuantity, MAX_QUANTITY, NewLineItem,
    NewOrder, OrderUpdates, ReturnOutcome, SettableStatus, UpdateOrder,
};
pub use status::OrderStatus;
pub use totals::{LineAmounts, Totals};
pub(crate) use totals::{amount_violation, to_money};
pub use utc_time::UtcTime;
