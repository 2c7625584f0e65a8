//! The entity that answers a change, compared with the request.

use super::amounts::ExactAmount;
use super::{Mismatch, details, must};
use crate::Request;
use crate::model::{
    CancelOrder, CreateReturn, CustomField, DecimalAmount, FulfillOrder, Fulfillment, LineItem,
    LineNumber, LineQuantity, NewLineItem, NewOrder, Order, OrderCustomer, OrderStatus,
    OrderUpdates, PostalAddress, Return, ReturnLine,
};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const GIVEN: &str = "is not what the request gives";
const ORDER: &str = "is not the order of the request";
const QUANTITIES: &str = "do not have the quantities of the request";
const UNTOUCHED: &str = "of a new order has fulfilled, cancelled or returned units";

/// Compares the order that answers a create, an update or a cancellation.
pub(in crate::http) fn check_order(request: &Request, order: &Order) -> Result<(), Mismatch> {
    match request {
        Request::Create(create) => check_created(&create.order, order),
        Request::Update(update) => {
            must(order.id == update.order_id, "id", ORDER)?;
            check_updated(&update.updates, order)
        }
        Request::Cancel(cancel) => check_cancelled(cancel, order),
        Request::Fulfill(_) | Request::Return(_) | Request::Query(_) => Ok(()),
    }
}

fn check_created(new: &NewOrder, order: &Order) -> Result<(), Mismatch> {
    must(
        order.status.is_open(),
        "status",
        "is not one of a new order",
    )?;
    let used = |line: &LineItem| {
        line.fulfilled_quantity + line.cancelled_quantity + line.returned_quantity
    };
    must(
        order.line_items.iter().all(|line| used(line) == 0),
        "lineItems",
        UNTOUCHED,
    )?;
    check_lines(&new.line_items, &order.line_items)?;
    let external = new.external_id.as_ref();
    must(
        external.is_none_or(|given| order.external_id.as_ref() == Some(given)),
        "externalId",
        GIVEN,
    )?;
    let currency = new.currency.as_ref();
    must(
        currency.is_none_or(|given| order.currency.eq_ignore_ascii_case(given)),
        "currency",
        GIVEN,
    )?;
    check_customer(new.customer.as_ref(), order.customer.as_ref())?;
    check_address(
        "shippingAddress",
        new.shipping_address.as_ref(),
        order.shipping_address.as_ref(),
    )?;
    check_address(
        "billingAddress",
        new.billing_address.as_ref(),
        order.billing_address.as_ref(),
    )?;
    for (member, given, shown) in [
        ("subTotal", &new.sub_total, &order.sub_total),
        ("discountTotal", &new.discount_total, &order.discount_total),
        ("total", &new.total, &order.total),
    ] {
        must(is_amount(given.as_ref(), shown), member, GIVEN)?;
    }
    details::check_created(new, order)
}

/// Returns true if the answer shows the amount that the request gives, if it gives one.
pub(super) fn is_amount(given: Option<&DecimalAmount>, shown: &str) -> bool {
    given.is_none_or(|given| ExactAmount::of(given).equals(ExactAmount::parse(shown)))
}

/// Adds up the units of each SKU.
fn units<'a>(lines: impl Iterator<Item = (&'a str, i64)>) -> BTreeMap<&'a str, i128> {
    let mut units = BTreeMap::new();
    for (sku, quantity) in lines {
        *units.entry(sku).or_default() += i128::from(quantity);
    }
    units
}

/// Compares the lines of a new order by SKU, because an order system may merge or split them.
fn check_lines(given: &[NewLineItem], shown: &[LineItem]) -> Result<(), Mismatch> {
    let asked = given
        .iter()
        .map(|line| (line.sku.as_str(), line.quantity.get()));
    let answered = shown.iter().map(|line| (line.sku.as_str(), line.quantity));
    must(units(asked) == units(answered), "lineItems", QUANTITIES)?;
    let price = |line: &NewLineItem| line.unit_price.as_ref().map(ExactAmount::of);
    let discount = |line: &NewLineItem| line.unit_discount.as_ref().map(ExactAmount::of);
    let skus: BTreeSet<&str> = given.iter().map(|line| line.sku.as_str()).collect();
    for sku in skus {
        let of_sku = || given.iter().filter(|line| line.sku == sku);
        let shown_prices = of_lines(shown, sku, |line| &line.unit_price);
        must(
            has_amounts(
                of_sku().map(|line| (line.quantity.get(), price(line))),
                &shown_prices,
            ),
            "lineItems.unitPrice",
            GIVEN,
        )?;
        let shown_discounts = of_lines(shown, sku, |line| &line.unit_discount);
        must(
            has_amounts(
                of_sku().map(|line| (line.quantity.get(), discount(line))),
                &shown_discounts,
            ),
            "lineItems.unitDiscount",
            GIVEN,
        )?;
    }
    Ok(())
}

/// Units with the amount of each.
type PricedUnits = Vec<(i64, ExactAmount)>;

fn of_lines(lines: &[LineItem], sku: &str, amount: fn(&LineItem) -> &String) -> PricedUnits {
    let lines = lines.iter().filter(|line| line.sku == sku);
    lines
        .map(|line| (line.quantity, ExactAmount::parse(amount(line))))
        .collect()
}

/// Returns true if the amounts that the request gives for one SKU are in the answer: their sum if
/// each line gives one, otherwise as many units with each amount.
fn has_amounts(
    given: impl Iterator<Item = (i64, Option<ExactAmount>)>,
    shown: &PricedUnits,
) -> bool {
    let given: Vec<_> = given.collect();
    let sum = |units: &PricedUnits| -> ExactAmount {
        units
            .iter()
            .map(|(count, amount)| amount.times(*count))
            .sum()
    };
    let all: Option<PricedUnits> = given
        .iter()
        .map(|(count, amount)| Some((*count, (*amount)?)))
        .collect();
    if let Some(all) = all {
        return sum(&all).equals(sum(shown));
    }
    let count_at = |units: &mut dyn Iterator<Item = (i64, ExactAmount)>, at: ExactAmount| -> i128 {
        units
            .filter(|(_, amount)| *amount == at)
            .map(|(count, _)| i128::from(count))
            .sum()
    };
    let mut amounts = given.iter().filter_map(|(_, amount)| *amount);
    amounts.all(|at| {
        let mut asked = given
            .iter()
            .filter_map(|(count, amount)| Some((*count, (*amount)?)));
        count_at(&mut asked, at) <= count_at(&mut shown.iter().copied(), at)
    })
}

fn check_customer(
    given: Option<&OrderCustomer>,
    shown: Option<&OrderCustomer>,
) -> Result<(), Mismatch> {
    let Some(given) = given else { return Ok(()) };
    let shown_id = shown.and_then(|shown| shown.id.as_ref());
    let id = given.id.as_ref();
    must(
        id.is_none_or(|id| shown_id == Some(id)),
        "customer.id",
        GIVEN,
    )?;
    let shown_email = shown.and_then(|shown| shown.email.as_ref());
    let is_shown = |email: &String| {
        shown_email.is_some_and(|shown| shown.to_lowercase() == email.to_lowercase())
    };
    must(
        given.email.as_ref().is_none_or(is_shown),
        "customer.email",
        GIVEN,
    )
}

/// Compares the members of an address that the request gives. The order system may know more.
fn check_address(
    name: &str,
    given: Option<&PostalAddress>,
    shown: Option<&PostalAddress>,
) -> Result<(), Mismatch> {
    let Some(given) = given else { return Ok(()) };
    let Some(shown) = shown else {
        return Err(Mismatch::new(name, GIVEN));
    };
    for (member, is_same) in [
        ("address1", is_same_text(&given.address1, &shown.address1)),
        ("address2", is_text(&given.address2, &shown.address2)),
        ("city", is_same_text(&given.city, &shown.city)),
        (
            "stateOrProvince",
            is_text(&given.state_or_province, &shown.state_or_province),
        ),
        (
            "zipCodeOrPostalCode",
            is_text(
                &given.zip_code_or_postal_code,
                &shown.zip_code_or_postal_code,
            ),
        ),
        ("country", is_same_text(&given.country, &shown.country)),
        ("firstName", is_text(&given.first_name, &shown.first_name)),
        ("lastName", is_text(&given.last_name, &shown.last_name)),
        ("company", is_text(&given.company, &shown.company)),
        ("phone", is_text(&given.phone, &shown.phone)),
    ] {
        if !is_same {
            return Err(Mismatch::new(format!("{name}.{member}"), GIVEN));
        }
    }
    Ok(())
}

/// Returns true if two texts for people differ in nothing but letter case and white space.
pub(super) fn is_same_text(one: &str, other: &str) -> bool {
    one == other || fold(one) == fold(other)
}

/// Returns true if the answer shows the text that the request gives, if it gives one.
pub(super) fn is_text(given: &Option<String>, shown: &Option<String>) -> bool {
    given.as_ref().is_none_or(|given| {
        let shown = shown.as_deref().unwrap_or_default();
        is_same_text(given, shown)
    })
}

fn fold(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

fn check_updated(updates: &OrderUpdates, order: &Order) -> Result<(), Mismatch> {
    let status = updates.status.map(OrderStatus::from);
    must(
        status.is_none_or(|given| order.status == given),
        "status",
        GIVEN,
    )?;
    must(is_text(&updates.name, &order.name), "name", GIVEN)?;
    must(is_text(&updates.notes, &order.notes), "notes", GIVEN)?;
    check_address(
        "shippingAddress",
        updates.shipping_address.as_ref(),
        order.shipping_address.as_ref(),
    )?;
    check_address(
        "billingAddress",
        updates.billing_address.as_ref(),
        order.billing_address.as_ref(),
    )?;
    let tags = updates.tags.as_ref();
    must(
        tags.is_none_or(|given| tag_set(given) == tag_set(&order.tags)),
        "tags",
        GIVEN,
    )?;
    let fields = updates.custom_fields.as_ref();
    must(
        fields.is_none_or(|given| field_set(given) == field_set(&order.custom_fields)),
        "customFields",
        GIVEN,
    )?;
    details::check_updated(updates, order)
}

/// Returns the tags without order, repetition and letter case.
fn tag_set(tags: &[String]) -> BTreeSet<String> {
    tags.iter().map(|tag| fold(tag)).collect()
}

fn field_set(fields: &[CustomField]) -> BTreeSet<(&str, &str)> {
    fields
        .iter()
        .map(|field| (field.name.as_str(), field.value.as_str()))
        .collect()
}

fn check_cancelled(cancel: &CancelOrder, order: &Order) -> Result<(), Mismatch> {
    must(order.id == cancel.order_id, "id", ORDER)?;
    let Some(asked) = &cancel.line_items else {
        let open =
            |line: &LineItem| line.quantity - line.fulfilled_quantity - line.cancelled_quantity > 0;
        must(
            !order.line_items.iter().any(open),
            "lineItems",
            "has open units after a cancellation of all",
        )?;
        let sent = order
            .line_items
            .iter()
            .any(|line| line.fulfilled_quantity > 0);
        let expected = OrderStatus::Pending.after_cancelling(true, sent);
        return must(
            order.status == expected,
            "status",
            "is not the one after a cancellation of all open units",
        );
    };
    let cancelled = units(
        order
            .line_items
            .iter()
            .map(|line| (line.sku.as_str(), line.cancelled_quantity)),
    );
    let enough = |(sku, count): (&str, i128)| cancelled.get(sku).is_some_and(|has| *has >= count);
    let of_line = |line: &LineQuantity| {
        let Some(number) = line.line.map(LineNumber::get) else {
            return true;
        };
        let mut shown = order.line_items.iter();
        let shown = shown.find(|one| one.line == Some(number) && one.sku == line.sku);
        shown.is_some_and(|shown| shown.cancelled_quantity >= line.quantity.get())
    };
    must(
        asked_units(asked).into_iter().all(enough) && asked.iter().all(of_line),
        "lineItems.cancelledQuantity",
        "is less than the request cancels",
    )
}

fn returned_units(lines: &[ReturnLine]) -> BTreeMap<&str, i128> {
    units(
        lines
            .iter()
            .map(|line| (line.sku.as_str(), line.quantity.get())),
    )
}

fn asked_units(lines: &[LineQuantity]) -> BTreeMap<&str, i128> {
    units(
        lines
            .iter()
            .map(|line| (line.sku.as_str(), line.quantity.get())),
    )
}

/// Compares the answer to `fulfill-order`.
pub(in crate::http) fn check_fulfillment(
    request: &FulfillOrder,
    fulfillment: &Fulfillment,
) -> Result<(), Mismatch> {
    must(fulfillment.order_id == request.order_id, "orderId", ORDER)?;
    let lines = &fulfillment.line_items;
    let sent = units(lines.iter().map(|line| (line.sku.as_str(), line.quantity)));
    match &request.line_items {
        Some(asked) => must(sent == asked_units(asked), "lineItems", QUANTITIES)?,
        None => must(
            sent.values().any(|count| *count > 0),
            "lineItems",
            "have no units",
        )?,
    }
    let numbers = |numbers: &[String]| -> BTreeSet<String> { numbers.iter().cloned().collect() };
    let tracking = request.tracking_numbers.as_ref();
    must(
        tracking.is_none_or(|given| numbers(given) == numbers(&fulfillment.tracking_numbers)),
        "trackingNumbers",
        GIVEN,
    )?;
    let location = request.location_id.as_ref();
    let left_there = |location: &String| {
        lines
            .iter()
            .all(|line| line.location_id.as_ref() == Some(location))
    };
    must(
        location.is_none_or(left_there),
        "lineItems.locationId",
        GIVEN,
    )?;
    let (carrier, service) = (&fulfillment.carrier, &fulfillment.service);
    must(is_text(&request.carrier, carrier), "carrier", GIVEN)?;
    must(is_text(&request.service, service), "service", GIVEN)
}

/// Compares the answer to `create-return`.
pub(in crate::http) fn check_return(
    request: &CreateReturn,
    returned: &Return,
) -> Result<(), Mismatch> {
    must(returned.order_id == request.order_id, "orderId", ORDER)?;
    must(returned.outcome == request.outcome, "outcome", GIVEN)?;
    let back = returned_units(&returned.line_items);
    must(
        back == returned_units(&request.line_items),
        "lineItems",
        QUANTITIES,
    )?;
    details::check_returned(request, returned)
}
