//! What can go wrong, as typed facts. What code each becomes is decided in `faults.rs` alone.

use crate::model::OrderStatus;
use candor_fault::Cause;
use candor_guard::retry::{Again, Retryable};
use candor_street::CallStopped;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A rule about arguments that no schema can state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrderRule {
    /// The amount is digits with a point.
    Amount,
    /// The amount has no more places than its currency.
    Places,
    /// The amount, or a sum of amounts, has no more digits than are kept.
    Digits,
    /// A discount is no larger than its price.
    Discount,
    /// The sum that the caller gives is the sum of the lines.
    Total,
    /// The currency is one of ISO 4217.
    Currency,
    /// The currency is the one that the catalogue has its prices in.
    CatalogueCurrency,
    /// The country is one of ISO 3166.
    Country,
    /// The text is an instant of RFC 3339.
    Instant,
    /// The range ends after it begins.
    Range,
    /// The cursor came from this query.
    Cursor,
    /// The order has a shipping address.
    ShippingAddress,
}

/// An argument that breaks a rule that no schema can state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleViolation {
    /// The path of the argument, dotted.
    pub field: String,
    /// The rule.
    pub rule: OrderRule,
}

impl RuleViolation {
    /// The argument at `field` breaks `rule`.
    pub fn new(field: impl Into<String>, rule: OrderRule) -> RuleViolation {
        let field = field.into();
        RuleViolation { field, rule }
    }
}

/// Why an order system says no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalReason {
    /// No order has this id.
    OrderNotFound,
    /// The catalogue, or the order, has no such SKU.
    SkuNotFound,
    /// No customer has this id or address.
    CustomerNotFound,
    /// No location has this id.
    LocationNotFound,
    /// Something does not exist, and the order system does not say what.
    NotFound,
    /// The order's status does not allow this step.
    InvalidOrderState,
    /// More was asked for than is open in the order.
    QuantityExceedsOpen,
    /// There is less stock than the order needs.
    InsufficientInventory,
    /// More would come back than was sent out.
    ReturnExceedsFulfilled,
    /// The key belongs to a call with another payload.
    IdempotencyKeyReused,
    /// Another order has this external id.
    ExternalIdConflict,
    /// The order system refuses this server's credentials.
    AdapterUnauthorized,
    /// The order system answered something that is no answer.
    InvalidAdapterResponse,
    /// The order system may have made the change, and cannot be asked again without making it twice.
    OutcomeUnknown,
    /// The order system refused without an identifier that can be passed on.
    BackendRefused,
    /// The server takes changes only from those who show its write token.
    WriteTokenRequired,
    /// An identifier of the order system's own: capitals, digits and underscores.
    #[serde(rename = "Own")]
    Custom(String),
}

/// The longest identifier that an order system may bring.
pub const REASON_MAX: usize = 64;

impl RefusalReason {
    /// The identifier of an order system, where it has the form of one.
    pub fn custom(name: &str) -> Option<RefusalReason> {
        let first = name
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_uppercase());
        let rest = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        let fits = name.len() <= REASON_MAX && name.bytes().all(rest);
        (first && fits).then(|| RefusalReason::Custom(name.to_owned()))
    }
}

/// A no of the order system, with what a client may know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderRefusal {
    /// Why.
    #[serde(rename = "why")]
    pub reason: RefusalReason,
    /// The argument that it is about, dotted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The order's status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<OrderStatus>,
    /// How many there would be of what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<i64>,
}

impl From<RefusalReason> for OrderRefusal {
    fn from(reason: RefusalReason) -> Self {
        OrderRefusal {
            reason,
            field: None,
            status: None,
            available: None,
        }
    }
}

impl OrderRefusal {
    /// About the argument at this path.
    pub fn at(mut self, field: impl Into<String>) -> OrderRefusal {
        self.field = Some(field.into());
        self
    }

    /// With the order's status.
    pub fn in_status(mut self, status: OrderStatus) -> OrderRefusal {
        self.status = Some(status);
        self
    }

    /// With how many there would be.
    pub fn having(mut self, available: i64) -> OrderRefusal {
        self.available = Some(available);
        self
    }
}

/// A failure that stands: the same call with the same key comes to it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FinalFailure {
    /// An argument breaks a rule.
    #[serde(rename = "Wrong")]
    Violation(RuleViolation),
    /// The order system says no.
    #[serde(rename = "Refused")]
    Refusal(OrderRefusal),
}

impl FinalFailure {
    /// Whether the order system did not look at the call, because it refuses this server.
    pub(crate) fn refuses_us(&self) -> bool {
        matches!(self, FinalFailure::Refusal(refused) if refused.reason == RefusalReason::AdapterUnauthorized)
    }
}

/// Why an order system did not do what it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// It stands: asked again, it comes again.
    Final(Box<FinalFailure>, Option<Box<Cause>>),
    /// The order system says no for now.
    Busy(Box<OrderRefusal>, Option<Duration>, Option<Box<Cause>>),
    /// Too many calls: by this server's count, or by the order system's.
    Limited(Duration, Option<Box<Cause>>),
    /// It took too long.
    TimedOut(Option<Box<Cause>>),
    /// The order system cannot be reached.
    Unavailable(Option<Duration>, Option<Box<Cause>>),
    /// The order system is being left alone for a while.
    BreakerOpen(Duration),
    /// The order system does not offer the operation.
    Unsupported,
    /// The call was stopped before its change began.
    CallStopped(CallStopped),
    /// Something of ours is broken.
    Internal(&'static str, Box<Cause>),
}

impl Failure {
    /// Whether it tells that the order system is in trouble.
    pub fn is_trouble(&self) -> bool {
        match self {
            Failure::TimedOut(_) | Failure::Unavailable(..) => true,
            Failure::Final(stands, _) => match &**stands {
                FinalFailure::Refusal(refused) => matches!(
                    refused.reason,
                    RefusalReason::InvalidAdapterResponse | RefusalReason::OutcomeUnknown
                ),
                FinalFailure::Violation(_) => false,
            },
            _ => false,
        }
    }
}

impl Retryable for Failure {
    fn again(&self) -> Again {
        let asked = |after: &Option<Duration>| match after {
            Some(after) => Again::NotBefore(*after),
            None => Again::Soon,
        };
        match self {
            Failure::Busy(_, after, _) | Failure::Unavailable(after, _) => asked(after),
            Failure::Limited(after, _) => Again::NotBefore(*after),
            Failure::TimedOut(_) => Again::Soon,
            Failure::Final(..)
            | Failure::BreakerOpen(_)
            | Failure::Unsupported
            | Failure::CallStopped(_)
            | Failure::Internal(..) => Again::Never,
        }
    }
}

impl From<RuleViolation> for Failure {
    fn from(wrong: RuleViolation) -> Self {
        Failure::Final(Box::new(FinalFailure::Violation(wrong)), None)
    }
}

impl From<OrderRefusal> for Failure {
    fn from(refused: OrderRefusal) -> Self {
        Failure::Final(Box::new(FinalFailure::Refusal(refused)), None)
    }
}

impl From<RefusalReason> for Failure {
    fn from(reason: RefusalReason) -> Self {
        OrderRefusal::from(reason).into()
    }
}

impl From<CallStopped> for Failure {
    fn from(stopped: CallStopped) -> Self {
        Failure::CallStopped(stopped)
    }
}
