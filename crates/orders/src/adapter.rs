//! What stands between the tools and an order system: one method, whatever the system is.

use crate::model::{CancelOrder, CreateOrder, CreateReturn, FulfillOrder, UpdateOrder};
use crate::{Failure, Query};
use candor_guard::Deadline;
use candor_street::EffectMark;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;
use std::fmt;

/// The twelve things an order system may be asked for; each has the name of its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// `create-sales-order`.
    CreateOrder,
    /// `update-order`.
    UpdateOrder,
    /// `cancel-order`.
    CancelOrder,
    /// `fulfill-order`.
    FulfillOrder,
    /// `create-return`.
    CreateReturn,
    /// `get-orders`.
    GetOrders,
    /// `get-customers`.
    GetCustomers,
    /// `get-products`.
    GetProducts,
    /// `get-product-variants`.
    GetVariants,
    /// `get-inventory`.
    GetInventory,
    /// `get-fulfillments`.
    GetFulfillments,
    /// `get-returns`.
    GetReturns,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Operation; 12] = [
        Operation::CreateOrder,
        Operation::UpdateOrder,
        Operation::CancelOrder,
        Operation::FulfillOrder,
        Operation::CreateReturn,
        Operation::GetOrders,
        Operation::GetCustomers,
        Operation::GetProducts,
        Operation::GetVariants,
        Operation::GetInventory,
        Operation::GetFulfillments,
        Operation::GetReturns,
    ];

    /// The name of its tool.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::CreateOrder => "create-sales-order",
            Operation::UpdateOrder => "update-order",
            Operation::CancelOrder => "cancel-order",
            Operation::FulfillOrder => "fulfill-order",
            Operation::CreateReturn => "create-return",
            Operation::GetOrders => "get-orders",
            Operation::GetCustomers => "get-customers",
            Operation::GetProducts => "get-products",
            Operation::GetVariants => "get-product-variants",
            Operation::GetInventory => "get-inventory",
            Operation::GetFulfillments => "get-fulfillments",
            Operation::GetReturns => "get-returns",
        }
    }

    /// The operation of this name.
    pub fn read(name: &str) -> Option<Operation> {
        Operation::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The member of its answer that holds what was asked for.
    pub const fn member(self) -> &'static str {
        match self {
            Operation::CreateOrder | Operation::UpdateOrder | Operation::CancelOrder => "order",
            Operation::FulfillOrder => "fulfillment",
            Operation::CreateReturn => "return",
            Operation::GetOrders => "orders",
            Operation::GetCustomers => "customers",
            Operation::GetProducts => "products",
            Operation::GetVariants => "productVariants",
            Operation::GetInventory => "inventory",
            Operation::GetFulfillments => "fulfillments",
            Operation::GetReturns => "returns",
        }
    }

    /// Whether it changes anything.
    pub const fn changes(self) -> bool {
        matches!(
            self,
            Operation::CreateOrder
                | Operation::UpdateOrder
                | Operation::CancelOrder
                | Operation::FulfillOrder
                | Operation::CreateReturn
        )
    }
}

/// What an order system is asked for. Its JSON is that of the tool's arguments, without the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Request {
    /// To make an order.
    Create(Box<CreateOrder>),
    /// To change one.
    Update(Box<UpdateOrder>),
    /// To cancel one, or a part of it.
    Cancel(CancelOrder),
    /// To send one, or a part of it.
    Fulfill(FulfillOrder),
    /// To take goods back.
    Return(CreateReturn),
    /// For a page of entities.
    Query(Box<Query>),
}

impl Request {
    /// Which operation it is.
    pub fn operation(&self) -> Operation {
        match self {
            Request::Create(_) => Operation::CreateOrder,
            Request::Update(_) => Operation::UpdateOrder,
            Request::Cancel(_) => Operation::CancelOrder,
            Request::Fulfill(_) => Operation::FulfillOrder,
            Request::Return(_) => Operation::CreateReturn,
            Request::Query(query) => query.operation,
        }
    }
}

/// What an order system answers.
#[derive(Debug, Clone)]
pub enum Response {
    /// The entity that was made or changed.
    One(Box<RawValue>),
    /// A page of entities, and where the next one begins.
    Page {
        /// The array of entities.
        items: Box<RawValue>,
        /// Where the next page begins, in words of the adapter's own.
        next: Option<String>,
    },
}

/// The key of a change: it belongs to a client and a tool.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Whose it is.
    pub client: String,
    /// The key itself.
    pub key: String,
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A key lets its holder read an outcome: it stays out of logs.
        write!(out, "Key({})", self.client)
    }
}

/// What an adapter has of a call beside the request.
#[derive(Debug, Clone)]
pub struct Turn {
    /// When the call's time is over; the adapter's future is dropped then.
    pub deadline: Deadline,
    /// Set right before the step that cannot be taken back: a commit, or a request that was sent.
    pub mark: EffectMark,
    /// The key, for changes.
    pub key: Option<Key>,
}

/// An answer that is awaited.
pub type Answering<'a> = BoxFuture<'a, Result<Response, Failure>>;

/// One order system.
pub trait Adapter: Send + Sync + 'static {
    /// Asks it. The future may be dropped at any time: nothing goes on then but a commit, or a
    /// request, that was sent already.
    fn call<'a>(&'a self, request: &'a Request, turn: &'a Turn) -> Answering<'a>;

    /// Whether the same key never makes the same change twice. Where it does not, a change is never
    /// tried again.
    fn keeps_keys(&self) -> bool;
}
