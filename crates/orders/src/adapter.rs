//! What stands between the tools and an order system: one method, whatever the system is.

use crate::failure::Failure;
use crate::model::{
    CancelOrder, CreateOrder, CreateReturn, EntityQuery, FulfillOrder, UpdateOrder,
};
use candor_guard::Deadline;
use candor_street::EffectMark;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;
use std::fmt;
use std::time::Duration;

/// The time that a call may take, unless the owner configures another.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// The twelve things an order system may be asked for; each has the name of its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OrderOperation {
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

impl OrderOperation {
    /// Every operation.
    pub const ALL: [OrderOperation; 12] = [
        OrderOperation::CreateOrder,
        OrderOperation::UpdateOrder,
        OrderOperation::CancelOrder,
        OrderOperation::FulfillOrder,
        OrderOperation::CreateReturn,
        OrderOperation::GetOrders,
        OrderOperation::GetCustomers,
        OrderOperation::GetProducts,
        OrderOperation::GetVariants,
        OrderOperation::GetInventory,
        OrderOperation::GetFulfillments,
        OrderOperation::GetReturns,
    ];

    /// The name of its tool.
    pub const fn name(self) -> &'static str {
        match self {
            OrderOperation::CreateOrder => "create-sales-order",
            OrderOperation::UpdateOrder => "update-order",
            OrderOperation::CancelOrder => "cancel-order",
            OrderOperation::FulfillOrder => "fulfill-order",
            OrderOperation::CreateReturn => "create-return",
            OrderOperation::GetOrders => "get-orders",
            OrderOperation::GetCustomers => "get-customers",
            OrderOperation::GetProducts => "get-products",
            OrderOperation::GetVariants => "get-product-variants",
            OrderOperation::GetInventory => "get-inventory",
            OrderOperation::GetFulfillments => "get-fulfillments",
            OrderOperation::GetReturns => "get-returns",
        }
    }

    /// The operation of this name.
    pub fn read(name: &str) -> Option<OrderOperation> {
        OrderOperation::ALL
            .into_iter()
            .find(|one| one.name() == name)
    }

    /// The member of its answer that holds what was asked for.
    pub const fn member(self) -> &'static str {
        match self {
            OrderOperation::CreateOrder
            | OrderOperation::UpdateOrder
            | OrderOperation::CancelOrder => "order",
            OrderOperation::FulfillOrder => "fulfillment",
            OrderOperation::CreateReturn => "return",
            OrderOperation::GetOrders => "orders",
            OrderOperation::GetCustomers => "customers",
            OrderOperation::GetProducts => "products",
            OrderOperation::GetVariants => "productVariants",
            OrderOperation::GetInventory => "inventory",
            OrderOperation::GetFulfillments => "fulfillments",
            OrderOperation::GetReturns => "returns",
        }
    }

    /// Whether it changes anything.
    pub const fn changes(self) -> bool {
        matches!(
            self,
            OrderOperation::CreateOrder
                | OrderOperation::UpdateOrder
                | OrderOperation::CancelOrder
                | OrderOperation::FulfillOrder
                | OrderOperation::CreateReturn
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
    Query(Box<EntityQuery>),
}

impl Request {
    /// Which operation it is.
    pub fn operation(&self) -> OrderOperation {
        match self {
            Request::Create(_) => OrderOperation::CreateOrder,
            Request::Update(_) => OrderOperation::UpdateOrder,
            Request::Cancel(_) => OrderOperation::CancelOrder,
            Request::Fulfill(_) => OrderOperation::FulfillOrder,
            Request::Return(_) => OrderOperation::CreateReturn,
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
pub struct IdempotencyKey {
    /// Whose it is.
    pub client: String,
    /// The key itself.
    pub key: String,
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A key lets its holder read an outcome: it stays out of logs.
        write!(out, "Key({})", self.client)
    }
}

/// What an adapter has of a call beside the request.
#[derive(Debug, Clone)]
pub struct RequestContext {
    /// When the call's time is over; the adapter's future is dropped then.
    pub deadline: Deadline,
    /// Set right before the step that cannot be taken back: a commit, or a request that was sent.
    pub mark: EffectMark,
    /// The key, for changes.
    pub key: Option<IdempotencyKey>,
}

/// An answer that is awaited.
pub type AdapterFuture<'a> = BoxFuture<'a, Result<Response, Failure>>;

/// One order system.
pub trait Adapter: Send + Sync + 'static {
    /// Asks it. The future may be dropped at any time: nothing goes on then but a commit, or a
    /// request, that was sent already.
    fn call<'a>(&'a self, request: &'a Request, context: &'a RequestContext) -> AdapterFuture<'a>;

    /// Whether the same key never makes the same change twice. Where it does not, a change is never
    /// tried again.
    fn keeps_keys(&self) -> bool;
}
