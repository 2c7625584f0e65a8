//! Rules about arguments that no schema can state and every order system shares.

use crate::failure::{OrderRule, RuleViolation};
use crate::model::{Currency, NewOrder, OrderUpdates, PostalAddress, parse_amount};

/// Checks a new order: its currency, its countries, and its amounts where the currency is given.
pub(super) fn new_order(order: &NewOrder) -> Result<(), RuleViolation> {
    if let Some(code) = &order.currency {
        let currency = Currency::read(code);
        let currency =
            currency.ok_or_else(|| RuleViolation::new("order.currency", OrderRule::Currency))?;
        amounts(order, currency)?;
    }
    address("order.shippingAddress", order.shipping_address.as_ref())?;
    address("order.billingAddress", order.billing_address.as_ref())
}

/// Checks an update: its countries.
pub(super) fn updates(updates: &OrderUpdates) -> Result<(), RuleViolation> {
    address("updates.shippingAddress", updates.shipping_address.as_ref())?;
    address("updates.billingAddress", updates.billing_address.as_ref())
}

fn amounts(order: &NewOrder, currency: Currency) -> Result<(), RuleViolation> {
    for (place, line) in order.line_items.iter().enumerate() {
        let field = |name| format!("order.lineItems.{place}.{name}");
        let (cost, off) = (field("unitPrice"), field("unitDiscount"));
        let cost = parse_amount((&cost, line.unit_price.as_deref()), currency)?;
        let less = parse_amount((&off, line.unit_discount.as_deref()), currency)?;
        if cost.zip(less).is_some_and(|(cost, less)| less > cost) {
            return Err(RuleViolation::new(off, OrderRule::Discount));
        }
    }
    parse_amount(("order.subTotal", order.sub_total.as_deref()), currency)?;
    parse_amount(
        ("order.discountTotal", order.discount_total.as_deref()),
        currency,
    )?;
    parse_amount(("order.total", order.total.as_deref()), currency)?;
    Ok(())
}

fn address(field: &str, address: Option<&PostalAddress>) -> Result<(), RuleViolation> {
    match address {
        Some(address) if !is_country(&address.country) => Err(RuleViolation::new(
            format!("{field}.country"),
            OrderRule::Country,
        )),
        _ => Ok(()),
    }
}

fn is_country(code: &str) -> bool {
    let country: Result<iso_country::Country, _> = code.parse();
    country.is_ok_and(|country| country != iso_country::Country::Unspecified)
}
