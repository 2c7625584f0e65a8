//! What orders are made of, as answers show it and as calls ask for it.

mod asked;
mod currency;
mod moment;
mod money;
mod shown;
mod status;
mod totals;

pub use asked::{
    CancelOrder, CreateOrder, CreateReturn, FulfillOrder, LineQuantity, NewLine, NewOrder,
    OrderUpdates, QUANTITY_MAX, ReturnOutcome, SettableStatus, UpdateOrder,
};
pub use currency::Currency;
pub use moment::Moment;
pub use money::{MONEY_DIGITS, Money, NotMoney};
pub use shown::{
    Address, CustomField, Customer, Fulfillment, FulfillmentLine, Inventory, LineItem, Order,
    OrderCustomer, Product, ProductVariant, Return,
};
pub use status::Status;
pub use totals::{Line, Priced, Totals, price};
