//! The boundary between the tools and an order system.

use crate::failure::Failure;
use crate::model::{
    CancelOrder, CreateOrder, CreateReturn, EntityQuery, FulfillOrder, UpdateOrder,
};
use candor_guard::Deadline;
use candor_street::{EffectMark, MetricsHub};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;
use std::fmt;
use std::time::Duration;

/// The time that a call may take, unless the owner configures another.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// The operations of an order system; each has the name of its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OrderOperation {
    CreateOrder,
    UpdateOrder,
    CancelOrder,
    FulfillOrder,
    CreateReturn,
    GetOrders,
    GetCustomers,
    GetProducts,
    GetVariants,
    GetInventory,
    GetFulfillments,
    GetReturns,
}

impl OrderOperation {
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

    /// Returns the name of the tool.
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

    /// Returns the operation of the tool with this name.
    pub fn read(name: &str) -> Option<OrderOperation> {
        OrderOperation::ALL
            .into_iter()
            .find(|one| one.name() == name)
    }

    /// Returns the member of the answer that contains the entities.
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

    /// Returns true if the operation can change something.
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

/// A request to an order system. It serializes as the tool's arguments without the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Request {
    Create(Box<CreateOrder>),
    Update(Box<UpdateOrder>),
    Cancel(CancelOrder),
    Fulfill(FulfillOrder),
    Return(CreateReturn),
    Query(Box<EntityQuery>),
}

impl Request {
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

/// The answer of an order system.
#[derive(Debug, Clone)]
pub enum Response {
    /// The entity that was created or changed.
    One {
        entity: Box<RawValue>,
        corrections: Corrections,
    },
    /// A page of entities.
    Page {
        /// A JSON array.
        items: Box<RawValue>,
        /// The position of the next page, in a form of the adapter's own. `None` on the last page.
        next: Option<String>,
        corrections: Corrections,
    },
}

impl Response {
    /// Returns the answer with an entity that needed no corrections.
    pub fn one(entity: Box<RawValue>) -> Response {
        Response::One {
            entity,
            corrections: Corrections::default(),
        }
    }

    /// Returns the answer with a page that needed no corrections.
    pub fn page(items: Box<RawValue>, next: Option<String>) -> Response {
        Response::Page {
            items,
            next,
            corrections: Corrections::default(),
        }
    }

    pub fn corrections(&self) -> &Corrections {
        match self {
            Response::One { corrections, .. } | Response::Page { corrections, .. } => corrections,
        }
    }
}

/// The differences between an order system's answer and what a client is shown of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corrections {
    /// The number of texts in which characters were replaced.
    pub cleaned: usize,
    /// The entities of a page that cannot be shown.
    pub omitted: Vec<OmittedEntity>,
}

/// An entity that is left out of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OmittedEntity {
    /// Its id; the SKU of an inventory entry.
    pub id: String,
    pub reason: OmissionReason,
    /// The member and the rule that it breaks, for the log.
    #[serde(skip)]
    pub detail: String,
}

/// The reason why an entity cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OmissionReason {
    /// Its status is not mapped to one of ours.
    Status,
    /// Its quantities or sums contradict each other.
    Sums,
    /// An identifier contains control or direction characters.
    Text,
    /// It does not match its schema.
    Schema,
}

/// The idempotency key of a change. It is scoped to a client and a tool.
#[derive(Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub client: String,
    pub key: String,
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A key gives access to its outcome, so it stays out of logs.
        write!(out, "Key({})", self.client)
    }
}

/// The circumstances of a request.
#[derive(Debug, Clone)]
pub struct RequestContext {
    /// The end of the call; the adapter's future is dropped then.
    pub deadline: Deadline,
    /// Set right before the irreversible step: a commit, or the sending of a request.
    pub mark: EffectMark,
    /// The client that makes the call.
    pub client: String,
    /// The tenant of the client, if the order system has several.
    pub tenant: Option<String>,
    /// The position in the caller's trace (W3C Trace Context).
    pub trace_parent: Option<String>,
    /// Present for changes.
    pub key: Option<IdempotencyKey>,
}

/// The pending answer of an adapter.
pub type AdapterFuture<'a> = BoxFuture<'a, Result<Response, Failure>>;

/// The reason why an order system cannot be used now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotReady {
    /// It cannot be reached.
    Unreachable,
    /// Its tables have another format.
    Format,
    /// It does not say what it can do.
    Capabilities,
}

/// The pending answer to the question whether an order system can be used.
pub type ReadinessFuture<'a> = BoxFuture<'a, Result<(), NotReady>>;

/// An order system.
pub trait Adapter: Send + Sync + 'static {
    /// Returns the name under which the owner chooses this adapter.
    fn name(&self) -> &'static str;

    /// Checks whether the order system can be used now, without changing anything.
    fn readiness(&self) -> ReadinessFuture<'_>;

    /// Sends a request. The future may be dropped at any time. After that nothing goes on except a
    /// commit or a request that was already sent.
    fn call<'a>(&'a self, request: &'a Request, context: &'a RequestContext) -> AdapterFuture<'a>;

    /// Returns true if the outcome of a change is stored with its key, so that the same key never
    /// makes the same change twice.
    fn keeps_keys(&self) -> bool;

    /// Reports the load of the adapter to these metrics from now on.
    fn report_to(&self, _metrics: &MetricsHub) {}

    /// Returns true if a change whose answer was lost may be sent again with the same key. Other
    /// changes are never retried.
    fn may_repeat(&self, _change: &Request) -> bool {
        self.keeps_keys()
    }
}
