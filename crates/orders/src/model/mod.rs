//! The model of orders: requests, entities, money, times and states.

mod currency;
mod entities;
mod features;
pub(crate) mod field_schemas;
mod lookup_keys;
mod money;
mod query;
mod requests;
mod status;
mod totals;
mod utc_time;
mod words;

pub use currency::Currency;
pub use entities::{
    CustomField, Customer, Fulfillment, FulfillmentLine, Inventory, LineItem, Order, OrderCustomer,
    Payment, PostalAddress, Product, ProductVariant, Refund, Return, Shipping,
};
pub use features::{Feature, UnsupportedPart};
pub use field_schemas::{MAX_NOTES, MAX_TEXT};
pub use lookup_keys::{
    MIN_PHONE_DIGITS, is_same_phone, order_name_key, person_keys, person_name_key, phone_digits,
};
pub(crate) use money::AmountText;
pub use money::{DecimalAmount, MONEY_DIGITS, Money, MoneyError};
pub use query::{EntityQuery, Filters, MAX_PAGE_SIZE, PAGE_DEFAULT, TIME_FILTERS, filter_names};
pub use requests::{
    CancelOrder, CreateOrder, CreateReturn, ExchangeLine, FulfillOrder, LineEdit, LineNumber,
    LineQuantity, MAX_ENTRIES, MAX_LINE, MAX_LINES, MAX_QUANTITY, NewLineItem, NewOrder,
    NewPayment, NewRefund, NewShipping, OrderUpdates, ReturnLine, ReturnUpdate, SettableStatus,
    UpdateOrder,
};
pub use status::OrderStatus;
pub use totals::{LineAmounts, OrderAmounts, Totals, TotalsError};
pub(crate) use totals::{amount_violation, to_money};
pub use utc_time::UtcTime;
pub use words::{
    PaymentMethod, PaymentStatus, RecordedStatus, ReturnOutcome, ReturnReason, ReturnStatus,
    SortOrder,
};
