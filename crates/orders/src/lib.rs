//! The order tools: twelve tools, written once against [`Adapter`], in front of any order system.

mod adapter;
mod argument_schemas;
pub mod check;
mod cursor;
pub mod dialect;
mod failure;
mod faults;
pub mod faulty;
mod guarded_adapter;
pub mod http;
pub mod model;
mod output_schemas;
mod server;
pub mod sql;
mod tools;

pub use adapter::{
    Adapter, AdapterFuture, DEADLINE, IdempotencyKey, OrderOperation, Request, RequestContext,
    Response,
};
pub use argument_schemas::{FILTER_MAX, KEY_MAX, LINES_MAX, LIST_MAX};
pub use cursor::{CURSOR_MAX, POSITION_MAX};
pub use dialect::REGISTRY;
pub use failure::{
    Failure, FinalFailure, OrderRefusal, OrderRule, REASON_MAX, RefusalReason, RuleViolation,
};
pub use guarded_adapter::GuardConfig;
pub use model::{EntityQuery, Filters, NOTES_MAX, PAGE_DEFAULT, PAGE_MAX, TEXT_MAX};
pub use server::{CALLS_A_MINUTE, Config, MAX_LIMITED, OrdersServer, TOOL_CALLS_A_MINUTE};
