//! Maps failures to codes. Beside `dialect/`, which declares them, no other file names a code.

use crate::dialect::codes;
use crate::dialect::{KeyState, Orders};
use crate::failure::{
    Failure, FinalFailure, MissingScope, OrderRefusal, OrderRule, RefusalReason, RuleViolation,
};
use crate::model::UnsupportedPart;
use candor_fault::Dialect as _;
use candor_fault::{
    ArgumentPath, Cause, ClientText, Effect, Fault, Fixed, PathStep, Raise, Refusal, Retry,
    Violation, excerpt,
};
use serde_json::{Value, json};
use std::time::Duration;

/// The wait before a retry if an unavailable order system does not name one.
const USUAL_WAIT: Duration = Duration::from_secs(1);

impl Failure {
    /// Converts the failure to a fault. `effect` is the effect that the call's mark records.
    pub(crate) fn fault(self, effect: Effect) -> Fault<Orders> {
        match self {
            Failure::Final(stands, cause) => match *stands {
                FinalFailure::Violation(wrong) => rule_fault(wrong),
                FinalFailure::Refusal(refused) => {
                    let retry = match refused.reason {
                        RefusalReason::IdempotencyKeyReused | RefusalReason::OutcomeUnknown => {
                            Retry::Never
                        }
                        _ => Retry::AfterChange,
                    };
                    with_optional_cause(refusal(refused, retry, effect), cause)
                }
            },
            Failure::Busy(refused, after, cause) => {
                let fault = refusal(*refused, Retry::SameCall, effect)
                    .with_remedy("Send the same call with the same idempotencyKey a little later.");
                let fault = match after {
                    Some(after) => fault.after(after),
                    None => fault,
                };
                with_optional_cause(fault, cause)
            }
            Failure::Limited(after, cause) => {
                with_optional_cause(codes::RateLimited.fault().after(after), cause)
            }
            Failure::TimedOut(cause) => with_optional_cause(codes::Timeout.fault(effect), cause),
            Failure::Waited(waited_for) => codes::Timeout
                .fault(effect)
                .with_message("Operation timed out: others use what the call needs")
                .with_facts(|facts| {
                    let word = Value::from(waited_for.word());
                    facts.context.insert(String::from("waitedFor"), word);
                }),
            Failure::Unavailable(after, cause) => {
                let after = after.unwrap_or(USUAL_WAIT);
                with_optional_cause(codes::BackendUnavailable.fault(effect).after(after), cause)
            }
            Failure::BreakerOpen(after) => codes::BackendUnavailable
                .fault(effect)
                .with_message(
                    "Backend is unavailable: it failed repeatedly and is left alone for a while",
                )
                .after(after),
            Failure::Unsupported => codes::NotImplemented.fault(),
            Failure::UnsupportedPart(part) => unsupported_part(part),
            Failure::ScopeRequired(missing) => scope_fault(missing),
            Failure::CallStopped(stopped) => stopped.into(),
            Failure::Internal(what, cause) => Orders::adopt(Refusal::Panicked {
                cause: Cause::Data(json!({ "what": what, "cause": cause })),
                effect,
            }),
        }
    }

    /// Returns the code under which a retried failure is counted.
    pub(crate) fn code(&self) -> i32 {
        let row = match self {
            Failure::Final(stands, _) => match &**stands {
                FinalFailure::Violation(wrong) => rule_code(wrong.rule).row(),
                FinalFailure::Refusal(_) => codes::AdapterError.row(),
            },
            Failure::Busy(..) | Failure::ScopeRequired(_) => codes::AdapterError.row(),
            Failure::Limited(..) => codes::RateLimited.row(),
            Failure::TimedOut(_) | Failure::Waited(_) | Failure::CallStopped(_) => {
                codes::Timeout.row()
            }
            Failure::Unavailable(..) | Failure::BreakerOpen(_) => codes::BackendUnavailable.row(),
            Failure::Unsupported | Failure::UnsupportedPart(_) => codes::NotImplemented.row(),
            Failure::Internal(..) => candor_fault::codes::wire::InternalError.row(),
        };
        row.code.number()
    }
}

/// Returns the identifier of a refusal.
pub(crate) fn original_error(failure: &Failure) -> Option<String> {
    let refusal = match failure {
        Failure::Final(failure, _) => match &**failure {
            FinalFailure::Refusal(refusal) => refusal,
            FinalFailure::Violation(_) => return None,
        },
        Failure::Busy(refusal, ..) => refusal,
        _ => return None,
    };
    Some(describe_reason(&refusal.reason).0.to_owned())
}

/// Returns the fault of a part of a request that the order system does not support.
fn unsupported_part(part: UnsupportedPart) -> Fault<Orders> {
    let (name, word) = match part {
        UnsupportedPart::Feature(feature) => ("feature", feature.word()),
        UnsupportedPart::Filter(filter) => ("filter", filter),
    };
    let remedy = match part {
        UnsupportedPart::Feature(_) => {
            "Leave out the members of `details.context.feature`; this order system does not have them."
        }
        UnsupportedPart::Filter(_) => {
            "Leave out the filter in `details.context.filter`; this order system does not have it."
        }
    };
    let fault = codes::NotImplemented.fault().with_remedy(remedy);
    fault.with_facts(|facts| {
        facts.context.insert(name.to_owned(), word.into());
    })
}

/// Converts the failure of a change whose key the caller does not have. A retry of such a call is
/// another change, so an unknown outcome must not invite one.
pub(crate) fn fault_without_key(
    failure: Failure,
    effect: Effect,
    own_key: String,
) -> Fault<Orders> {
    let fault = match failure {
        Failure::TimedOut(cause) | Failure::Unavailable(_, cause) if effect == Effect::Unknown => {
            let unknown = FinalFailure::Refusal(RefusalReason::OutcomeUnknown.into());
            let fault = Failure::Final(Box::new(unknown), cause).fault(effect);
            fault.with_message(
                "Adapter error: the change may have been made, and the call had no idempotencyKey",
            )
        }
        failure => failure.fault(effect),
    };
    fault.with_facts(|facts| facts.own_key = Some(own_key))
}

/// Adapts the remedy of a query's failure: a query has no key to send again.
pub(crate) fn of_query(fault: Fault<Orders>) -> Fault<Orders> {
    let fault = fault.with_facts(|facts| facts.key = None);
    if fault.is(codes::Timeout) {
        return fault.with_remedy("Send the same call again.");
    }
    if fault.is(codes::BackendUnavailable) {
        return fault.with_remedy("Wait `retryAfterMs`, then send the same call.");
    }
    fault
}

fn with_optional_cause(fault: Fault<Orders>, cause: Option<Box<Cause>>) -> Fault<Orders> {
    match cause {
        Some(cause) => fault.with_cause(*cause),
        None => fault,
    }
}

/// Returns the code of an argument that breaks a rule.
pub(crate) fn rule_code(rule: OrderRule) -> Raise<Orders, Fixed, Fixed> {
    match rule {
        OrderRule::Amount
        | OrderRule::Places
        | OrderRule::Instant
        | OrderRule::Cursor
        | OrderRule::Phone => codes::InvalidFormat,
        OrderRule::ShippingAddress | OrderRule::Required => codes::MissingField,
        OrderRule::Digits
        | OrderRule::Discount
        | OrderRule::Total
        | OrderRule::Currency
        | OrderRule::CatalogueCurrency
        | OrderRule::Country
        | OrderRule::Range
        | OrderRule::OrderDiscount
        | OrderRule::Tax
        | OrderRule::Line
        | OrderRule::Lines
        | OrderRule::Outcome
        | OrderRule::Restock
        | OrderRule::EntryLimit
        | OrderRule::LineLimit
        | OrderRule::TwoNames
        | OrderRule::BesideReturn
        | OrderRule::EmptyUpdate
        | OrderRule::SkipAndCursor
        | OrderRule::LongReasons => codes::Validation,
    }
}

/// Returns the rule's name, what is wrong with the field, and the remedy.
fn describe_rule(rule: OrderRule) -> (&'static str, &'static str, &'static str) {
    match rule {
        OrderRule::Amount => (
            "amount",
            " must be an amount in digits, `12.50` for example",
            "Send the amount as digits with a point, without sign, spaces or separators.",
        ),
        OrderRule::Places => (
            "places",
            " has more decimal places than its currency",
            "Round the amount to the places of the currency: two for most, none for JPY, three for KWD.",
        ),
        OrderRule::Digits => (
            "digits",
            " comes to more than 15 digits",
            "Split the order, or correct the amounts and quantities.",
        ),
        OrderRule::Discount => (
            "discount",
            " is larger than the price",
            "Take off no more than the line's unitPrice.",
        ),
        OrderRule::Total => (
            "total",
            " is not what the order comes to",
            "Leave the totals out, or compute them: prices less discounts, plus shipping, plus tax unless it is included.",
        ),
        OrderRule::Currency => (
            "currency",
            " is no currency of ISO 4217",
            "Send a code like USD or EUR, or leave the currency out.",
        ),
        OrderRule::CatalogueCurrency => (
            "catalogueCurrency",
            " is not the currency of the catalogue, so the prices have to be given",
            "Give a unitPrice in every line, or leave the currency out.",
        ),
        OrderRule::Country => (
            "country",
            " is no country of ISO 3166",
            "Send the two capital letters of the country, `DE` for example.",
        ),
        OrderRule::Instant => (
            "instant",
            " must be an instant of RFC 3339",
            "Send a date and time like 2025-10-12T15:49:21Z.",
        ),
        OrderRule::Range => (
            "range",
            " is before the beginning of its range",
            "Give a maximum that is not before the minimum.",
        ),
        OrderRule::Cursor => (
            "cursor",
            " is no cursor of this query",
            "Send the nextCursor of the last page with the same filters, or leave the cursor out.",
        ),
        OrderRule::ShippingAddress => (
            "required",
            " is required: the order has no address to ship to",
            "Set updates.shippingAddress with update-order, then fulfil the order again.",
        ),
        OrderRule::OrderDiscount => (
            "discount",
            " makes the discounts larger than the prices",
            "Take off no more than the subTotal, unit discounts included.",
        ),
        OrderRule::Tax => (
            "tax",
            " is larger than the amount that it belongs to",
            "Send a tax that is at most the discounted amount of its line, or the price of the shipping.",
        ),
        OrderRule::Line => (
            "line",
            " must be the number of a line of this SKU, and is needed if several lines have the SKU",
            "Read the order with get-orders and send the `line` of one of its lines together with that line's SKU.",
        ),
        OrderRule::Lines => (
            "lines",
            " would leave the order without a line",
            "To end the order, use cancel-order.",
        ),
        OrderRule::Outcome => (
            "outcome",
            " needs the outcome `exchange`",
            "Send the outcome `exchange`, or leave exchangeLineItems out.",
        ),
        OrderRule::Restock => (
            "restock",
            " is for goods that are received",
            "Send restockLocationId with the status `received` only.",
        ),
        OrderRule::Phone => (
            "phone",
            " has fewer than 7 digits",
            "Send at least the last 7 digits of the phone number; leading zeros do not count.",
        ),
        OrderRule::EntryLimit => (
            "maxItems",
            " would be more than 100 entries of the order",
            "An order holds at most 100 payments and 100 refunds; record further ones in the order's notes.",
        ),
        OrderRule::LineLimit => (
            "maxItems",
            " would be more than 500 lines of the order",
            "Put the further lines into another order with create-sales-order.",
        ),
        OrderRule::Required => (
            "required",
            " is required",
            "Add the field named in `details.field`, under its own name or the reference server's.",
        ),
        OrderRule::TwoNames => (
            "names",
            " is given twice, under two names",
            "Send the member under one of its names.",
        ),
        OrderRule::BesideReturn => (
            "names",
            " cannot be combined with `return`",
            "Send either `return`, or orderId, lineItems and outcome.",
        ),
        OrderRule::EmptyUpdate => (
            "minProperties",
            " has no member that can be changed",
            "Send at least one member that is not ignored.",
        ),
        OrderRule::SkipAndCursor => (
            "skip",
            " cannot be combined with a cursor",
            "Send either the skip or the cursor.",
        ),
        OrderRule::LongReasons => (
            "maxLength",
            " has reasons that are longer than a note",
            "Send shorter reasons, or those of `lineItems.reason`.",
        ),
    }
}

/// Returns the fault of an argument that breaks a rule.
fn rule_fault(wrong: RuleViolation) -> Fault<Orders> {
    let raise = rule_code(wrong.rule);
    let (reason, what, remedy) = describe_rule(wrong.rule);
    let describe_reason = ClientText::from(raise.row().message).then(": ");
    let describe_reason = describe_reason.quoting(&wrong.field).then(what);
    let fault = raise
        .fault()
        .with_message(describe_reason)
        .with_remedy(remedy);
    fault.with_facts(|facts| {
        facts.field = Some(wrong.field);
        facts.reason = Some(reason);
    })
}

/// The argument rules, each with what it expects.
const ARGUMENT_RULES: [(OrderRule, &str); 7] = [
    (
        OrderRule::Places,
        "no more decimal places than the currency has",
    ),
    (OrderRule::Digits, "no more than 15 digits"),
    (OrderRule::Discount, "at most the price"),
    (OrderRule::Currency, "a currency of ISO 4217"),
    (OrderRule::Country, "a country of ISO 3166"),
    (
        OrderRule::Range,
        "an instant that is not before the minimum",
    ),
    (OrderRule::Cursor, "the nextCursor of a page of this query"),
];

/// Returns a broken argument rule as a violation.
pub(crate) fn violation(broken_rule: &RuleViolation) -> Violation {
    let (reason, what, remedy) = describe_rule(broken_rule.rule);
    let mut rules = ARGUMENT_RULES.iter();
    let expected = rules.find(|(rule, _)| *rule == broken_rule.rule);
    let step = |step: &str| match step.parse() {
        Ok(index) => PathStep::Item(index),
        Err(_) => PathStep::Member(step.to_owned()),
    };
    Violation {
        path: ArgumentPath(broken_rule.field.split('.').map(step).collect()),
        keyword: reason,
        message: what.trim_start().into(),
        params: json!({}).into(),
        value: excerpt(&Value::Null),
        expected: expected.map_or(remedy, |(_, expected)| expected).into(),
        hint: None,
    }
}

/// Returns the argument rule that is broken. Returns `None` if the published schema is.
pub(crate) fn argument_rule(violation: &Violation) -> Option<OrderRule> {
    let mut rules = ARGUMENT_RULES.into_iter().map(|(rule, _)| rule);
    rules.find(|rule| describe_rule(*rule).0 == violation.keyword)
}

/// Gives a refusal of arguments the remedy of the argument rule that is broken first, if the schema
/// admits everything.
pub(crate) fn with_rule_remedy(fault: Fault<Orders>) -> Fault<Orders> {
    match fault.violations().shown().first().and_then(argument_rule) {
        Some(rule) => fault.with_remedy(describe_rule(rule).2),
        None => fault,
    }
}

/// Every refusal reason that this server names itself.
const NAMED_REASONS: [RefusalReason; 22] = [
    RefusalReason::OrderNotFound,
    RefusalReason::SkuNotFound,
    RefusalReason::CustomerNotFound,
    RefusalReason::LocationNotFound,
    RefusalReason::NotFound,
    RefusalReason::InvalidOrderState,
    RefusalReason::QuantityExceedsOpen,
    RefusalReason::InsufficientInventory,
    RefusalReason::ReturnExceedsFulfilled,
    RefusalReason::IdempotencyKeyReused,
    RefusalReason::ExternalIdConflict,
    RefusalReason::AdapterUnauthorized,
    RefusalReason::InvalidAdapterResponse,
    RefusalReason::OutcomeUnknown,
    RefusalReason::BackendRefused,
    RefusalReason::WriteTokenRequired,
    RefusalReason::ReturnNotFound,
    RefusalReason::InvalidReturnState,
    RefusalReason::RefundExceedsPaid,
    RefusalReason::PaymentReferenceConflict,
    RefusalReason::CustomerErased,
    RefusalReason::ScopeRequired,
];

impl RefusalReason {
    /// Returns the reason with this identifier: one of this server's, or one of the order system's
    /// own if it has the right form.
    pub fn read(name: &str) -> Option<RefusalReason> {
        let ours = NAMED_REASONS
            .iter()
            .find(|reason| describe_reason(reason).0 == name);
        ours.cloned().or_else(|| RefusalReason::custom(name))
    }
}

impl FinalFailure {
    /// Returns the identifier of a stored failure, for people who read the records.
    pub(crate) fn identifier(&self) -> &str {
        match self {
            FinalFailure::Violation(wrong) => describe_rule(wrong.rule).0,
            FinalFailure::Refusal(refused) => describe_reason(&refused.reason).0,
        }
    }
}

/// Returns the identifier that replaces one which must not be passed on.
pub(crate) fn unnamed() -> String {
    describe_reason(&RefusalReason::BackendRefused).0.to_owned()
}

/// Returns the identifier of a reason, its message and its remedy.
fn describe_reason(reason: &RefusalReason) -> (&str, &'static str, &'static str) {
    match reason {
        RefusalReason::OrderNotFound => (
            "ORDER_NOT_FOUND",
            "no order has this id",
            "Look the order up with get-orders, then call again with a new idempotencyKey.",
        ),
        RefusalReason::SkuNotFound => (
            "SKU_NOT_FOUND",
            "there is no such SKU here",
            "Look the SKU up with get-product-variants, or in the order's lines, then call again with a new idempotencyKey.",
        ),
        RefusalReason::CustomerNotFound => (
            "CUSTOMER_NOT_FOUND",
            "no customer has this id or address",
            "Look the customer up with get-customers, or give an email without an id, then call again with a new idempotencyKey.",
        ),
        RefusalReason::LocationNotFound => (
            "LOCATION_NOT_FOUND",
            "no location has this id",
            "Look the locations up with get-inventory, then call again with a new idempotencyKey.",
        ),
        RefusalReason::NotFound => (
            "NOT_FOUND",
            "something that the call names does not exist",
            "Look up what the call names, then call again with a new idempotencyKey.",
        ),
        RefusalReason::InvalidOrderState => (
            "INVALID_ORDER_STATE",
            "the order's status does not allow this step",
            "Look at `details.context.status`; read the order with get-orders before the next step.",
        ),
        RefusalReason::QuantityExceedsOpen => (
            "QUANTITY_EXCEEDS_OPEN",
            "the order has fewer open units of this SKU",
            "Cancel, ship or remove no more than `details.context.available` units, with a new idempotencyKey.",
        ),
        RefusalReason::InsufficientInventory => (
            "INSUFFICIENT_INVENTORY",
            "there is less stock than the call needs",
            "Ask for no more than `details.context.available`, or wait for stock; call again with a new idempotencyKey.",
        ),
        RefusalReason::ReturnExceedsFulfilled => (
            "RETURN_EXCEEDS_FULFILLED",
            "more would come back than was sent out",
            "Return no more than `details.context.available`, with a new idempotencyKey.",
        ),
        RefusalReason::IdempotencyKeyReused => (
            "IDEMPOTENCY_KEY_REUSED",
            "this idempotencyKey belongs to a call with other arguments",
            "Send a new idempotencyKey, a UUID, with each new wish, and the old key only with the very same call.",
        ),
        RefusalReason::ExternalIdConflict => (
            "EXTERNAL_ID_CONFLICT",
            "another order has this externalId",
            "Look it up with get-orders and externalIds; it may be the order you want. Else choose another externalId and a new idempotencyKey.",
        ),
        RefusalReason::AdapterUnauthorized => (
            "ADAPTER_UNAUTHORIZED",
            "the order system refuses this server's credentials",
            "Tell the owner of the server: its credentials for the order system are refused.",
        ),
        RefusalReason::InvalidAdapterResponse => (
            "INVALID_ADAPTER_RESPONSE",
            "the order system answered something that cannot be used",
            "Tell the owner of the server, whose log names what was wrong.",
        ),
        RefusalReason::OutcomeUnknown => (
            "OUTCOME_UNKNOWN",
            "the order system may have made the change, and does not keep idempotency keys",
            "Read the order with get-orders to see whether the change was made; only if it was not, call again with a new idempotencyKey.",
        ),
        RefusalReason::BackendRefused => (
            "BACKEND_REFUSED",
            "the order system refused the call",
            "Change the arguments, or ask the owner of the server, whose log has the order system's own words.",
        ),
        RefusalReason::WriteTokenRequired => (
            "WRITE_TOKEN_REQUIRED",
            "this server takes changes only with its write token",
            "Ask the owner of the server for the write token; reading works without it.",
        ),
        RefusalReason::ReturnNotFound => (
            "RETURN_NOT_FOUND",
            "the order has no return with this id",
            "Look the returns of the order up with get-returns and orderIds, then call again with a new idempotencyKey.",
        ),
        RefusalReason::InvalidReturnState => (
            "INVALID_RETURN_STATE",
            "the return's status does not allow this step",
            "Look at `details.context.returnStatus`: requested goods are received or declined, received ones completed or declined. Call again with a new idempotencyKey.",
        ),
        RefusalReason::RefundExceedsPaid => (
            "REFUND_EXCEEDS_PAID",
            "more would be paid back than there is to pay back",
            "Refund no more than `details.context.availableAmount`, with a new idempotencyKey.",
        ),
        RefusalReason::PaymentReferenceConflict => (
            "PAYMENT_REFERENCE_CONFLICT",
            "the order already has an entry with this reference",
            "Read the order with get-orders: the entry may be recorded already. Otherwise send another reference with a new idempotencyKey.",
        ),
        RefusalReason::CustomerErased => (
            "CUSTOMER_ERASED",
            "the outcome of this call was erased together with the customer's data",
            "The change was made once and its answer is gone. Read what is left of the order with get-orders; for another wish use a new idempotencyKey.",
        ),
        RefusalReason::ScopeRequired => (
            "SCOPE_REQUIRED",
            "this client may not call this tool",
            "Ask the owner of the server for the scope in `details.context.scope` or the tool in `details.context.tool`.",
        ),
        RefusalReason::Custom(name) => (
            name,
            "the order system refused the call",
            "Act on `details.originalError`, an identifier of the order system's own.",
        ),
    }
}

/// Returns the fault of a tool that a client may not call.
fn scope_fault(missing: MissingScope) -> Fault<Orders> {
    let (name, value) = match missing {
        MissingScope::Write => ("scope", "write"),
        MissingScope::Tool(tool) => ("tool", tool),
    };
    let refused = RefusalReason::ScopeRequired.into();
    refusal(refused, Retry::AfterChange, Effect::None).with_facts(|facts| {
        facts.context.insert(name.to_owned(), value.into());
    })
}

/// Returns the fault of a refusal by the order system.
fn refusal(refused: OrderRefusal, retry: Retry, effect: Effect) -> Fault<Orders> {
    let (name, what, mut remedy) = describe_reason(&refused.reason);
    let effect = match refused.reason {
        RefusalReason::InvalidAdapterResponse | RefusalReason::OutcomeUnknown => effect,
        // Only the answer is gone.
        RefusalReason::CustomerErased => Effect::Done,
        // A refused request has no effect.
        _ => Effect::None,
    };
    if effect != Effect::None && refused.reason == RefusalReason::InvalidAdapterResponse {
        remedy = "Read the order with get-orders to see whether the change was made, and tell the owner of the server. Only if it was not made, call again with a new idempotencyKey.";
    }
    let is_free = refused.reason.leaves_key_free();
    let fault = codes::AdapterError
        .fault(retry, effect)
        .with_message(ClientText::from("Adapter error: ").then(what))
        .with_remedy(remedy);
    let name = name.to_owned();
    fault.with_facts(|facts| {
        facts.original_error = Some(name);
        facts.key = is_free.then_some(KeyState::Free);
        let more = [
            ("field", refused.field.map(Value::from)),
            ("status", refused.status.map(|status| status.word().into())),
            ("available", refused.available.map(Value::from)),
            ("availableAmount", refused.available_amount.map(Value::from)),
            (
                "returnStatus",
                refused.return_status.map(|status| status.word().into()),
            ),
            ("scope", refused.scope.map(Value::from)),
            ("tool", refused.tool.map(Value::from)),
        ];
        let known = more
            .into_iter()
            .filter_map(|(name, fact)| Some((name, fact?)));
        facts
            .context
            .extend(known.map(|(name, fact)| (name.to_owned(), fact)));
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::codes::ORIGINAL_ERRORS;
    use crate::dialect::with_key_state;

    #[test]
    fn every_identifier_is_in_the_registry() {
        let ours: Vec<_> = NAMED_REASONS
            .iter()
            .map(|reason| describe_reason(reason).0)
            .collect();
        let known: Vec<_> = ORIGINAL_ERRORS.iter().map(|reason| reason.name).collect();
        assert_eq!(ours, known);
    }

    #[test]
    fn identifier_parses_to_its_reason() {
        for reason in NAMED_REASONS {
            assert_eq!(
                RefusalReason::read(describe_reason(&reason).0),
                Some(reason)
            );
        }
        let own = RefusalReason::Custom(String::from("CREDIT_HOLD"));
        assert_eq!(RefusalReason::read("CREDIT_HOLD"), Some(own));
        assert_eq!(RefusalReason::read("credit hold"), None);
    }

    /// Returns every failure that a change can have, by the rows of the registry.
    fn failures_of_changes() -> Vec<Fault<Orders>> {
        let effects = [Effect::None, Effect::Unknown];
        let rules = [
            OrderRule::Amount,
            OrderRule::Places,
            OrderRule::Digits,
            OrderRule::Discount,
            OrderRule::Total,
            OrderRule::Currency,
            OrderRule::CatalogueCurrency,
            OrderRule::Country,
            OrderRule::ShippingAddress,
        ];
        let mut faults: Vec<_> = rules
            .map(|rule| rule_fault(RuleViolation::new("order", rule)))
            .into();
        for code in <codes::Code as candor_fault::Code>::all() {
            for effect in effects {
                faults.push(Fault::replay(*code, Retry::AfterChange, effect));
                faults.push(Fault::replay(*code, Retry::SameCall, effect));
            }
        }
        let custom = RefusalReason::Custom(String::from("CREDIT_HOLD"));
        for reason in NAMED_REASONS.into_iter().chain([custom]) {
            for effect in effects {
                faults.push(Failure::from(reason.clone()).fault(effect));
                let busy = Failure::Busy(Box::new(reason.clone().into()), None, None);
                faults.push(busy.fault(effect));
            }
        }
        faults
    }

    #[test]
    fn every_remedy_of_a_change_names_the_key() {
        let mut seen = Vec::new();
        for fault in failures_of_changes() {
            let fault = with_key_state(fault, true);
            let (number, remedy) = (fault.row().code.number(), fault.remedy());
            let state = fault.facts().key.unwrap();
            let names = match state {
                KeyState::Free => remedy.ends_with("This call did not bind the idempotencyKey."),
                KeyState::Keep => remedy.contains("the same idempotencyKey"),
                KeyState::Bound => remedy.contains("a new idempotencyKey"),
            };
            assert!(names, "{number} {state:?}: {remedy}");
            let is_unknown = state == KeyState::Bound && fault.effect() == Effect::Unknown;
            if is_unknown && fault.facts().original_error.is_some() {
                assert!(remedy.starts_with("Read the order"), "{number}: {remedy}");
            }
            seen.push((number, state));
        }
        seen.sort_unstable_by_key(|(number, state)| (*number, *state as u8));
        seen.dedup();
        let states = |code| {
            let of_code = seen.iter().filter(|(number, _)| *number == code);
            of_code.map(|(_, state)| *state).collect::<Vec<_>>()
        };
        for code in [2001, 2002, 2003, 5001] {
            assert_eq!(states(code), [KeyState::Free], "{code}");
        }
        for code in [3001, 3002, 4002] {
            assert_eq!(states(code), [KeyState::Keep], "{code}");
        }
        assert_eq!(states(4001), KeyState::ALL);
    }

    #[test]
    fn refusal_binds_no_key_if_the_order_system_keeps_none() {
        for (reason, effect, expected) in [
            (RefusalReason::OrderNotFound, Effect::None, KeyState::Free),
            (
                RefusalReason::OutcomeUnknown,
                Effect::Unknown,
                KeyState::Bound,
            ),
            (
                RefusalReason::InvalidAdapterResponse,
                Effect::Unknown,
                KeyState::Bound,
            ),
        ] {
            let fault = with_key_state(Failure::from(reason).fault(effect), false);
            assert_eq!(fault.facts().key, Some(expected));
            assert!(fault.remedy().contains("idempotencyKey"));
        }
    }
}
