//! The order tools: twelve of them, written once against [`Adapter`], in front of any order system.

mod adapter;
pub mod check;
mod cursor;
mod failure;
mod faults;
pub mod faulty;
mod fields;
mod guarded;
pub mod http;
pub mod model;
mod query;
mod server;
mod shapes;
pub mod sql;
mod tools;

pub use adapter::{Adapter, Answering, Key, Operation, Request, Response, Turn};
pub use cursor::{CURSOR_MAX, PLACE_MAX};
pub use failure::{Failure, Final, OWN_MAX, Refused, Rule, Why, Wrong};
pub use fields::{FILTER_MAX, KEY_MAX, LINES_MAX, LIST_MAX, NOTES_MAX, TEXT_MAX};
pub use guarded::{DEADLINE, GuardConfig, Witness};
pub use query::{Filters, PAGE_MAX, PAGE_USUAL, Query};
pub use server::{CALLS_A_MINUTE, Config, MAX_LIMITED, OrdersServer, TOOL_CALLS_A_MINUTE};
