//! The typed failures of the order tools. `faults.rs` maps them to codes.

use crate::model::{OrderStatus, ReturnStatus, UnsupportedPart};
use candor_fault::Cause;
use candor_guard::retry::{RetryAdvice, Retryable};
use candor_street::CallStopped;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A rule about arguments that no JSON Schema can state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrderRule {
    /// An amount is digits, with or without a point.
    Amount,
    /// An amount has no more decimal places than its currency.
    Places,
    /// An amount, or a sum of amounts, has no more digits than can be stored.
    Digits,
    /// A discount is not larger than its price.
    Discount,
    /// A sum that the caller gives is the sum of the lines.
    Total,
    /// A currency is one of ISO 4217.
    Currency,
    /// Lines without a price need the currency of the catalogue.
    CatalogueCurrency,
    /// A country is one of ISO 3166.
    Country,
    /// A time is an instant of RFC 3339.
    Instant,
    /// A range ends after it starts.
    Range,
    /// A cursor comes from the same query.
    Cursor,
    /// An order that is shipped has a shipping address.
    ShippingAddress,
    /// A discount off the whole order does not exceed what the lines come to.
    OrderDiscount,
    /// A tax is not larger than the amount that it belongs to.
    Tax,
    /// A line number names a line of the SKU, and is given if the SKU has several lines.
    Line,
    /// An edit leaves at least one line.
    Lines,
    /// Replacements are for the outcome `exchange`.
    Outcome,
    /// Stock is added when goods are received.
    Restock,
    /// A phone number has enough digits to be looked up.
    Phone,
    /// An order holds a limited number of entries.
    EntryLimit,
    /// An order holds a limited number of lines.
    LineLimit,
    /// A member that has two names is given under one of them.
    Required,
    /// A member that has two names is given once.
    TwoNames,
    /// A return has one form.
    BesideReturn,
    /// An update sets at least one member.
    EmptyUpdate,
    /// A page starts after a number of entities or after a cursor.
    SkipAndCursor,
    /// The reasons of a return fit into its note.
    LongReasons,
}

/// An argument that breaks an [`OrderRule`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleViolation {
    /// The dotted path of the argument.
    pub field: String,
    pub rule: OrderRule,
}

impl RuleViolation {
    pub fn new(field: impl Into<String>, rule: OrderRule) -> RuleViolation {
        let field = field.into();
        RuleViolation { field, rule }
    }
}

/// The reason why an order system refuses a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalReason {
    OrderNotFound,
    /// The catalogue or the order does not contain the SKU.
    SkuNotFound,
    CustomerNotFound,
    LocationNotFound,
    /// Something does not exist, and the order system does not report what.
    NotFound,
    /// The order's status does not allow this step.
    InvalidOrderState,
    /// The request exceeds the open units of the order.
    QuantityExceedsOpen,
    InsufficientInventory,
    ReturnExceedsFulfilled,
    /// The key was used with other arguments.
    IdempotencyKeyReused,
    ExternalIdConflict,
    /// The order system refuses this server's credentials.
    AdapterUnauthorized,
    /// The order system sent an answer that cannot be used.
    InvalidAdapterResponse,
    /// The order system may have made the change, and a retry could make it twice.
    OutcomeUnknown,
    /// The order system refused without a valid identifier.
    BackendRefused,
    /// Changes require the server's write token.
    WriteTokenRequired,
    ReturnNotFound,
    /// The return's status does not allow this step.
    InvalidReturnState,
    /// More would be paid back than was paid, or than the order came to.
    RefundExceedsPaid,
    /// The order has another payment or refund with this reference.
    PaymentReferenceConflict,
    /// The stored outcome was erased together with the customer's data.
    CustomerErased,
    /// The client may not call this tool.
    ScopeRequired,
    /// An identifier of the order system itself: capitals, digits and underscores.
    #[serde(rename = "Own")]
    Custom(String),
}

/// The longest identifier of an order system, in bytes.
pub const MAX_REASON: usize = 64;

impl RefusalReason {
    /// Returns the identifier of an order system, or `None` if it does not have the form of one.
    pub fn custom(name: &str) -> Option<RefusalReason> {
        let first = name
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_uppercase());
        let rest = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        let fits = name.len() <= MAX_REASON && name.bytes().all(rest);
        (first && fits).then(|| RefusalReason::Custom(name.to_owned()))
    }

    /// Returns true if the call was refused before the order system looked at it, so that its key
    /// is not bound.
    pub(crate) const fn leaves_key_free(&self) -> bool {
        matches!(
            self,
            RefusalReason::AdapterUnauthorized
                | RefusalReason::WriteTokenRequired
                | RefusalReason::ScopeRequired
        )
    }
}

/// A refusal by the order system, with the facts that a client may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderRefusal {
    #[serde(rename = "why")]
    pub reason: RefusalReason,
    /// The dotted path of the argument that is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<OrderStatus>,
    /// The number of units that would be possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<i64>,
    /// The amount that would be possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_amount: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_status: Option<ReturnStatus>,
    /// The scope that the client lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The tool that the client may not call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

impl From<RefusalReason> for OrderRefusal {
    fn from(reason: RefusalReason) -> Self {
        OrderRefusal {
            reason,
            field: None,
            status: None,
            available: None,
            available_amount: None,
            return_status: None,
            scope: None,
            tool: None,
        }
    }
}

impl OrderRefusal {
    /// Sets the path of the argument.
    pub fn at(mut self, field: impl Into<String>) -> OrderRefusal {
        self.field = Some(field.into());
        self
    }

    /// Sets the order's status.
    pub fn in_status(mut self, status: OrderStatus) -> OrderRefusal {
        self.status = Some(status);
        self
    }

    /// Sets the number of units that would be possible.
    pub fn having(mut self, available: i64) -> OrderRefusal {
        self.available = Some(available);
        self
    }

    /// Sets the amount that would be possible.
    pub fn having_amount(mut self, available: String) -> OrderRefusal {
        self.available_amount = Some(available);
        self
    }

    /// Sets the return's status.
    pub fn in_return_status(mut self, status: ReturnStatus) -> OrderRefusal {
        self.return_status = Some(status);
        self
    }
}

/// A failure that is stored with its key: the same call fails in the same way again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FinalFailure {
    #[serde(rename = "Wrong")]
    Violation(RuleViolation),
    #[serde(rename = "Refused")]
    Refusal(OrderRefusal),
}

impl FinalFailure {
    /// Returns true if the order system rejected this server and did not process the call.
    pub(crate) fn refuses_us(&self) -> bool {
        matches!(self, FinalFailure::Refusal(refused) if refused.reason == RefusalReason::AdapterUnauthorized)
    }
}

/// The thing that a change waited for in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitedFor {
    /// Its turn among the changes of this server.
    Lane,
    /// A lock that somebody else holds in the database.
    Lock,
}

impl WaitedFor {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            WaitedFor::Lane => "lane",
            WaitedFor::Lock => "lock",
        }
    }
}

/// The permission that a client lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingScope {
    /// The scope `write`.
    Write,
    /// The tool with this name.
    Tool(&'static str),
}

/// The failure of a request to an order system.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// A retry fails in the same way.
    Final(Box<FinalFailure>, Option<Box<Cause>>),
    /// The order system refuses for now.
    Busy(Box<OrderRefusal>, Option<Duration>, Option<Box<Cause>>),
    /// Too many calls, counted by this server or by the order system.
    Limited(Duration, Option<Box<Cause>>),
    TimedOut(Option<Box<Cause>>),
    /// The time was over while the change waited. The order system works, and others use what the
    /// change needs.
    Waited(WaitedFor),
    Unavailable(Option<Duration>, Option<Box<Cause>>),
    /// The breaker is open: the order system failed repeatedly and is not called for this time.
    BreakerOpen(Duration),
    Unsupported,
    /// The order system offers the operation, but not this part of the request.
    UnsupportedPart(UnsupportedPart),
    /// The client may not call this tool.
    ScopeRequired(MissingScope),
    /// The call was cancelled before its change began.
    CallStopped(CallStopped),
    /// A defect of this program or of its data.
    Internal(&'static str, Box<Cause>),
}

impl Failure {
    /// Returns true if the order system sent an answer that cannot be used.
    pub(crate) fn is_invalid_answer(&self) -> bool {
        let Failure::Final(stands, _) = self else {
            return false;
        };
        matches!(&**stands, FinalFailure::Refusal(refused) if refused.reason == RefusalReason::InvalidAdapterResponse)
    }

    /// Returns true if the failure indicates that the order system has a problem.
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
    fn retry_advice(&self) -> RetryAdvice {
        let asked = |after: &Option<Duration>| match after {
            Some(after) => RetryAdvice::NotBefore(*after),
            None => RetryAdvice::Soon,
        };
        match self {
            Failure::Busy(_, after, _) | Failure::Unavailable(after, _) => asked(after),
            Failure::Limited(after, _) => RetryAdvice::NotBefore(*after),
            Failure::TimedOut(_) => RetryAdvice::Soon,
            // The wait has taken its share of the time; the client decides about another one.
            Failure::Waited(_)
            | Failure::Final(..)
            | Failure::BreakerOpen(_)
            | Failure::Unsupported
            | Failure::UnsupportedPart(_)
            | Failure::ScopeRequired(_)
            | Failure::CallStopped(_)
            | Failure::Internal(..) => RetryAdvice::Never,
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
