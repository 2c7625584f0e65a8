//! Argument rules that every order system shares. A value that the schema rejects is left to the
//! schema.

use super::query::{ParsedQuery, QueryArguments, TimeFilters};
use crate::failure::{OrderRule, RuleViolation};
use crate::faults::violation;
use crate::model::{
    AmountText, CreateReturn, Currency, ReturnOutcome, amount_violation, phone_digits,
};
use crate::{OrderOperation, Request, cursor};
use candor_fault::Violations;
use candor_street::JsonRef;
use serde::Deserialize as _;
use std::borrow::Cow;

/// Checks the currency and the countries of a new order, and its amounts if the currency is given.
pub(super) fn check_new_order(arguments: JsonRef<'_>) -> Violations {
    let order = arguments.get_or_null("order");
    let mut broken = Vec::new();
    if let Some(code) = capitals(order.get_or_null("currency"), 3) {
        match Currency::read(&code) {
            Some(currency) => check_amounts(order, currency, &mut broken),
            None => broken.push(RuleViolation::new("order.currency", OrderRule::Currency)),
        }
    }
    check_countries("order", order, &mut broken);
    broken.iter().map(violation).collect()
}

/// Checks the countries of an update.
pub(super) fn check_updates(arguments: JsonRef<'_>) -> Violations {
    let mut broken = Vec::new();
    check_countries("updates", arguments.get_or_null("updates"), &mut broken);
    broken.iter().map(violation).collect()
}

/// Checks the rules between members of a request that every order system shares.
pub(super) fn check_request(request: &Request) -> Result<(), RuleViolation> {
    match request {
        Request::Return(CreateReturn {
            exchange_line_items: Some(_),
            outcome,
            ..
        }) if *outcome != ReturnOutcome::Exchange => {
            Err(RuleViolation::new("exchangeLineItems", OrderRule::Outcome))
        }
        _ => Ok(()),
    }
}

/// Checks that every phone number of a query has enough digits.
pub(super) fn check_phones(phones: Option<&[String]>) -> Result<(), RuleViolation> {
    let mut phones = phones.unwrap_or_default().iter();
    match phones.position(|phone| phone_digits(phone).is_none()) {
        None => Ok(()),
        Some(index) => Err(RuleViolation::new(
            format!("phones.{index}"),
            OrderRule::Phone,
        )),
    }
}

/// Parses the arguments of a query, and checks its ranges and its cursor.
pub(super) fn parse_query(
    operation: OrderOperation,
    arguments: JsonRef<'_>,
) -> Result<Option<ParsedQuery>, Violations> {
    let times = TimeFilters::read(arguments);
    let mut broken = times.inverted_ranges();
    // The schema rejects arguments of another shape.
    let asked = QueryArguments::deserialize(arguments).ok();
    let asked = asked.filter(|_| times.are_texts());
    let query = asked.map(|asked| asked.query(operation, &times));
    let has_cursor = |text: Cow<'_, str>| (1..=cursor::MAX_CURSOR).contains(&text.len());
    if let Some(Err(wrong)) = &query
        && wrong.rule == OrderRule::Cursor
        && arguments
            .get_or_null("cursor")
            .as_str()
            .is_some_and(has_cursor)
    {
        broken.push(wrong.clone());
    }
    match broken.is_empty() {
        true => Ok(query),
        false => Err(broken.iter().map(violation).collect()),
    }
}

fn check_amounts(order: JsonRef<'_>, currency: Currency, broken: &mut Vec<RuleViolation>) {
    let lines = order.get_or_null("lineItems").items();
    for (index, line) in lines.enumerate() {
        let field = |name| format!("order.lineItems.{index}.{name}");
        let (price, discount) = (line.get("unitPrice"), line.get("unitDiscount"));
        let (price, discount) = (price.and_then(text), discount.and_then(text));
        let tax = line.get("tax").and_then(text);
        let mut amount = |name, text| check_amount(&field(name), text, currency, broken);
        if let Some(tax) = tax.as_deref() {
            amount("tax", tax);
        }
        let price = price.as_deref().and_then(|text| amount("unitPrice", text));
        let discount = discount
            .as_deref()
            .and_then(|text| amount("unitDiscount", text));
        if discount
            .zip(price)
            .is_some_and(|(discount, price)| discount.is_larger_than(price))
        {
            let field = field("unitDiscount");
            broken.push(RuleViolation::new(field, OrderRule::Discount));
        }
    }
    for name in ORDER_AMOUNTS {
        if let Some(text) = order.get(name).and_then(text) {
            check_amount(&format!("order.{name}"), &text, currency, broken);
        }
    }
    for name in ["price", "tax"] {
        let shipping = order.get_or_null("shipping");
        if let Some(text) = shipping.get(name).and_then(text) {
            check_amount(&format!("order.shipping.{name}"), &text, currency, broken);
        }
    }
    let payments = order.get_or_null("payments").items();
    for (index, payment) in payments.enumerate() {
        if let Some(text) = payment.get("amount").and_then(text) {
            let field = format!("order.payments.{index}.amount");
            check_amount(&field, &text, currency, broken);
        }
    }
}

/// The amounts of an order outside of its lines.
const ORDER_AMOUNTS: [&str; 7] = [
    "subTotal",
    "discountTotal",
    "total",
    "orderDiscount",
    "orderTax",
    "shippingTotal",
    "taxTotal",
];

fn text(value: JsonRef<'_>) -> Option<Cow<'_, str>> {
    value.as_str()
}

/// Checks an amount by the length of its text. It is converted to a number once, later, when the
/// request is deserialized.
fn check_amount<'a>(
    field: &str,
    text: &'a str,
    currency: Currency,
    broken: &mut Vec<RuleViolation>,
) -> Option<AmountText<'a>> {
    let text = Some(text).filter(|text| has_amount_form(text))?;
    let amount = AmountText::split(text).ok()?;
    match amount.check(currency) {
        Ok(()) => Some(amount),
        Err(error) => {
            broken.push(amount_violation(field, error));
            None
        }
    }
}

/// Returns true if the schema admits the text as an amount.
fn has_amount_form(text: &str) -> bool {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str, most| {
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    digits(whole, 15) && digits(part, 4)
}

fn check_countries(parent: &str, value: JsonRef<'_>, broken: &mut Vec<RuleViolation>) {
    for name in ["shippingAddress", "billingAddress"] {
        let country = value.get_or_null(name).get_or_null("country");
        if capitals(country, 2).is_some_and(|code| !is_country(&code)) {
            let field = format!("{parent}.{name}.country");
            broken.push(RuleViolation::new(field, OrderRule::Country));
        }
    }
}

/// Returns the text if the schema admits it: exactly this many capital letters.
fn capitals(value: JsonRef<'_>, length: usize) -> Option<Cow<'_, str>> {
    let is_code = |code: &Cow<'_, str>| {
        code.len() == length && code.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    value.as_str().filter(is_code)
}

fn is_country(code: &str) -> bool {
    let country: Result<iso_country::Country, _> = code.parse();
    country.is_ok_and(|country| country != iso_country::Country::Unspecified)
}
