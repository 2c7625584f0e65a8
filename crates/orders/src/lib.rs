//! The order tools: twelve tools, written once against [`Adapter`], in front of any order system.

mod adapter;
mod argument_schemas;
pub mod check;
mod clients;
mod cursor;
pub mod dialect;
mod failure;
mod failure_log;
mod faults;
pub mod faulty;
mod guarded_adapter;
pub mod http;
pub mod model;
mod output_schemas;
mod readiness;
mod reference;
mod server;
pub mod sql;
mod tools;

pub use adapter::{
    Adapter, AdapterFuture, Corrections, DEADLINE, IdempotencyKey, NotReady, OmissionReason,
    OmittedEntity, OrderOperation, ReadinessFuture, Request, RequestContext, Response,
};
pub use argument_schemas::{MAX_FILTER, MAX_KEY, MAX_LIST};
pub use clients::{
    Client, ClientDirectory, ClientsFile, ClientsFileError, MAX_CLIENTS, MAX_CLIENTS_FILE,
    MAX_TOKENS, TokenHash,
};
pub use cursor::{MAX_CURSOR, MAX_POSITION};
pub use dialect::REGISTRY;
pub use failure::{
    Failure, FinalFailure, MAX_REASON, MissingScope, OrderRefusal, OrderRule, RefusalReason,
    RuleViolation, WaitedFor,
};
pub use failure_log::{EQUAL_LINES_EVERY, MAX_REMEMBERED_LINES};
pub use guarded_adapter::GuardConfig;
pub use model::{
    EntityQuery, Filters, MAX_ENTRIES, MAX_LINES, MAX_NOTES, MAX_PAGE_SIZE, MAX_TEXT, PAGE_DEFAULT,
};
pub use readiness::ServerReadiness;
pub use reference::MAX_SKIP;
pub use server::{
    CALLS_A_MINUTE, CALLS_IN_FLIGHT, Compat, Config, MAX_LIMITED, OrdersServer, TOOL_CALLS_A_MINUTE,
};
