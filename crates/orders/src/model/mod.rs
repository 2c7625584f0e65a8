//! What orders are made of, as answers show it and as calls ask for it.

mod currency;
mod entities;
mod money;
mod requests;
mod status;
mod totals;
mod utc_time;

pub use currency::Currency;
pub use entities::{
    CustomField, Customer, Fulfillment, FulfillmentLine, Inventory, LineItem, Order, OrderCustomer,
    PostalAddress, Product, ProductVariant, Return,
};
pub use money::{MONEY_DIGITS, Money, MoneyError};
pub use requests::{
    CancelOrder, CreateOrder, CreateReturn, FulfillOrder, LineQuantity, NewLineItem, NewOrder,
    OrderUpdates, QUANTITY_MAX, ReturnOutcome, SettableStatus, UpdateOrder,
};
pub use status::OrderStatus;
pub use totals::{AmountField, LineAmounts, Totals, parse_amount};
pub use utc_time::UtcTime;
